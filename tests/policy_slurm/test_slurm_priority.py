"""Multifactor priority against a plain recursion, and by hand."""

from __future__ import annotations

import math
import random

import numba
import numpy as np
import pytest
from oracle.slurm_priority import Shares

from sojourn.policy.slurm.conf import plain_conf, read_slurm_conf
from sojourn.policy.slurm.nodes import node_table
from sojourn.policy.slurm.priority import (
    associations,
    fade,
    fixed_priority,
    priority_at,
    rule_of,
    share_out,
    spend,
)
from sojourn.policy.slurm.requests import read_requests

SPEND, FADE, RANK, ASK = range(4)

CONF = """
PriorityType=priority/multifactor
AccountingStorageType=accounting_storage/slurmdbd
PriorityWeightAge=1000
PriorityWeightFairshare=100000
PriorityWeightJobSize=500
PriorityWeightPartition=50
PriorityMaxAge=1-0
PriorityDecayHalfLife=0-4
{more}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-10] CPUs=12
PartitionName=fast Nodes=ALL PriorityJobFactor=10 Default=YES
PartitionName=slow Nodes=ALL PriorityJobFactor=5
"""


@numba.njit
def _act(tree, rule, acts, told):
    for k in range(acts.shape[0]):
        what, a = int(acts[k, 0]), int(acts[k, 1])
        if what == SPEND:
            spend(tree, a, acts[k, 2], acts[k, 3], acts[k, 4], rule.decay)
        elif what == FADE:
            fade(tree, rule.decay, acts[k, 2])
        elif what == RANK:
            share_out(tree, rule)
        else:
            told[k] = priority_at(rule, tree, acts[k, 2], acts[k, 3], a, acts[k, 4])


def _acted(tree, rule, acts):
    told = np.full(len(acts), np.nan)
    _act(tree, rule, np.array([[*act, *[0.0] * (5 - len(act))] for act in acts], float), told)
    return told


@pytest.fixture
def site(tmp_path):
    def made(more="", jobs=""):
        (tmp_path / "slurm.conf").write_text(CONF.format(more=more))
        (tmp_path / "s.csv").write_text(
            "id,submit,nodes,run,limit_min,cpus,features,partition,user,account\n" + jobs
        )
        conf = read_slurm_conf(tmp_path / "slurm.conf")
        nodes = node_table(conf)
        return conf, nodes, read_requests(tmp_path / "s.csv", conf, nodes)

    return made


JOBS = "".join(
    f"{k},{k},1,10,1,4,,fast,{user},{account}\n"
    for k, (user, account) in enumerate(
        [("u1", "a"), ("u2", "a"), ("u3", "a"), ("u4", "b"), ("u5", "b"), ("u1", "b"), ("u6", "c")]
    )
)


@pytest.mark.parametrize("flags", ["PriorityFlags=FAIR_TREE", "FairShareDampeningFactor=3"])
@pytest.mark.parametrize("seed", range(6))
def test_fair_share_is_that_of_a_plain_recursion(site, flags, seed):
    conf, _, requests = site(flags, JOBS)
    rule = rule_of(conf)
    tree, place = associations(requests)
    who = [(requests.accounts[a], requests.users[u])
           for a, u in zip(requests.account, requests.user, strict=True)]  # fmt: skip
    accounts: dict[str, list[str]] = {}
    for account, user in who:
        accounts.setdefault(account, []).append(user)
    oracle = Shares(accounts, rule.decay, rule.dampening)
    chance = random.Random(seed)
    acts, wanted = [(RANK, 0)], []
    ranks = oracle.tree()
    for _ in range(40):
        j = chance.randrange(len(who))
        kind = chance.random()
        if kind < 0.4:
            cpus, seconds = chance.randrange(1, 9), chance.choice([0, 1, 300, 4000])
            acts.append((SPEND, place[j], cpus, 50.0, 50.0 + seconds))
            oracle.spend(*who[j], cpus, seconds)
        elif kind < 0.6:
            acts += [(FADE, 0, 300.0), (RANK, 0)]
            oracle.begin_period(300.0)
            ranks = oracle.tree()
        else:
            acts.append((ASK, place[j], 7.0, 0.0, 0.0))
            factor = ranks[who[j]] if rule.fair_tree else oracle.classic(*who[j])
            wanted.append(math.floor(7.0 + rule.fair_share * factor))
    told = _acted(tree, rule, acts)
    found = told[~np.isnan(told)]
    # A rounding error may carry a priority over a whole number.
    assert np.abs(found - wanted).max() <= 1
    assert (found == wanted).mean() > 0.9
    assert len(set(wanted)) > 2


def test_the_rule_that_counts_shares_is_told_by_flags_or_dampening(site):
    told = {
        "": True,
        "PriorityFlags=NO_FAIR_TREE": False,
        "PriorityFlags=FAIR_TREE\nFairShareDampeningFactor=5": True,
        "FairShareDampeningFactor=5": False,
        "PriorityFlags=depth_oblivious": False,
    }
    assert {more: site(more, JOBS)[0].is_fair_tree for more in told} == told


def test_age_grows_until_its_most_and_priorities_are_whole_and_never_zero(site):
    conf, _, requests = site("", JOBS)
    rule = rule_of(conf)._replace(fair_share=0.0)
    tree, _ = associations(requests)
    ages = [0.0, 43200.0, 86400.0, 1e9]
    told = _acted(tree, rule, [(ASK, 4, 0.25, 0.0, age) for age in ages])
    assert told.tolist() == [1.0, 500.0, 1000.0, 1000.0]
    assert _acted(tree, rule, [(ASK, 4, 1e12, 0.0, 0.0)]).tolist() == [2.0**32 - 1]


def test_size_and_partition_are_weighted_once_for_all(site):
    jobs = "1,0,1,10,1,12,,fast,u,a\n2,0,5,10,1,12,,slow,u,a\n"
    conf, nodes, requests = site("", jobs)
    by_hand = [500 * (1 / 10 + 12 / 120) / 2 + 50, 500 * (5 / 10 + 60 / 120) / 2 + 25]
    assert fixed_priority(conf, nodes, requests) == pytest.approx(by_hand)
    conf, nodes, requests = site("PriorityFavorSmall=YES", jobs)
    assert fixed_priority(conf, nodes, requests) == pytest.approx([500 * 0.9 + 50, 500 * 0.5 + 25])
    conf, nodes, requests = site("PriorityFlags=SMALL_RELATIVE_TO_TIME", jobs)
    assert fixed_priority(conf, nodes, requests) == pytest.approx([500 * 0.1 + 50, 500 * 0.5 + 25])


def test_without_a_database_neither_age_nor_share_counts_and_nothing_changes(site):
    conf, _, _ = site("AccountingStorageType=accounting_storage/none", JOBS)
    rule = rule_of(conf)
    assert (rule.age, rule.fair_share, rule.period) == (0.0, 0.0, 0.0)
    assert any("no database" in word for word in conf.not_modelled)


def test_basic_priority_is_the_order_of_submission(tmp_path):
    (tmp_path / "s.csv").write_text("id,submit,nodes,run,limit_min\n7,5,1,1,1\n8,2,1,1,1\n")
    conf = plain_conf(2)
    nodes = node_table(conf)
    requests = read_requests(tmp_path / "s.csv", conf, nodes)
    fixed = fixed_priority(conf, nodes, requests)
    assert requests.label.tolist() == ["8", "7"]
    assert fixed[0] == fixed[1] + 1
    assert rule_of(conf).period == 0.0
