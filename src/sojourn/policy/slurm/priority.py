"""Multifactor priority: its numbers in a ``slurm.conf``, the tree of accounts and users [slurm].

How priorities change while jobs wait is counted by the engine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...engine.passes.slurm_priority import (
    WEEK,
    Associations,
    Rule,
    fade,
    no_associations,
    priority_at,
    share_out,
    spend,
    unchanging,
)
from .nodes import NodeTable
from .requests import Requests
from .site import SlurmConf

__all__ = [
    "Associations",
    "Rule",
    "associations",
    "fade",
    "fixed_priority",
    "no_associations",
    "priority_at",
    "rule_of",
    "share_out",
    "spend",
    "unchanging",
]

_FIRST_BASIC = 4294901760.0
_LN2 = 0.693  # Slurm's own, to three digits


def rule_of(conf: SlurmConf) -> Rule:
    """Return the numbers of a configuration."""
    if not conf.is_multifactor or not conf.has_accounting:
        return unchanging()
    half = conf.seconds("PriorityDecayHalfLife", WEEK)
    return Rule(
        age=conf.number("PriorityWeightAge", 0.0),
        fair_share=conf.number("PriorityWeightFairshare", 0.0),
        max_age=conf.seconds("PriorityMaxAge", WEEK),
        decay=1.0 - _LN2 / half if half > 0 else 1.0,
        dampening=max(conf.number("FairShareDampeningFactor", 1.0), 1.0),
        period=max(conf.seconds("PriorityCalcPeriod", 300.0), 60.0),
        fair_tree=float(conf.is_fair_tree),
        only_up=float("INCR_ONLY" in conf.priority_flags),
    )


def fixed_priority(conf: SlurmConf, nodes: NodeTable, requests: Requests) -> NDArray[np.float64]:
    """Return what of each job's priority does not change: size and partition, weighted."""
    count = requests.submit.size
    if not conf.is_multifactor:
        return _FIRST_BASIC - np.arange(count, dtype=np.float64)
    total, processors = len(nodes.names), float(nodes.cpus.sum())
    cpus = requests.cpus * requests.nodes
    least = requests.least_nodes
    if "SMALL_RELATIVE_TO_TIME" in conf.priority_flags:
        average = np.maximum(least * processors / total, cpus)
        size = average / np.maximum(requests.limit, 1) / processors
    else:
        size = (least / total + cpus / processors) / 2.0
    if conf.get("PriorityFavorSmall").upper() in ("YES", "UP", "TRUE", "1"):
        size = 1.0 - size
    factors = np.array([float(each.factor) for each in conf.partitions])
    if not conf.priority_flags & {"NO_NORMAL_PART", "NO_NORMAL_ALL"}:
        factors = factors / max(factors.max(initial=1.0), 1.0)
    weight = conf.number("PriorityWeightJobSize", 0.0)
    fixed: NDArray[np.float64] = weight * np.clip(size, 0.0, 1.0)
    known = np.maximum(requests.partition, 0)
    fixed += conf.number("PriorityWeightPartition", 0.0) * factors[known]
    return fixed


def associations(requests: Requests) -> tuple[Associations, NDArray[np.int64]]:
    """Return the tree of accounts and users of a log, and the place of each job's user in it.

    All have the share 1, Slurm's default, and the user root stands beside the accounts, as always.
    """
    accounts = sorted(set(requests.account.tolist()))
    pairs = sorted(set(zip(requests.account.tolist(), requests.user.tolist(), strict=True)))
    # The root, its user, accounts, then users account by account.
    at = {account: 2 + k for k, account in enumerate(accounts)}
    leaf = {pair: 2 + len(accounts) + k for k, pair in enumerate(pairs)}
    count = 2 + len(accounts) + len(pairs)
    parent = np.zeros(count, np.int64)
    parent[0] = -1
    user = np.zeros(count, np.bool_)
    user[1] = True
    for (account, _), place in leaf.items():
        parent[place] = at[account]
        user[place] = True
    siblings = np.bincount(parent[1:], minlength=count)
    share = np.ones(count)
    share[1:] = 1.0 / siblings[parent[1:]]
    part = share.copy()
    for a in range(1, count):
        part[a] *= part[parent[a]]
    tree = Associations(
        parent=parent,
        share=share,
        part=part,
        user=user,
        first=np.concatenate([[0], np.cumsum(siblings)]).astype(np.int64),
        child=(np.argsort(parent[1:], kind="stable") + 1).astype(np.int64),
        usage=np.zeros(count),
        level=np.where(user, -1.0, 0.0),
        factor=np.ones(count),
        place=np.zeros(count, np.int64),
        stack=np.zeros((count, 3), np.int64),
    )
    jobs = zip(requests.account.tolist(), requests.user.tolist(), strict=True)
    return tree, np.array([leaf[pair] for pair in jobs], np.int64)
