"""Kernels that are loaded before there is a run: one for each discipline and kind of machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .backfills import BACKFILLS, load_backfill
from .calendar import FALL, make_calendar
from .caps import no_caps
from .domains import no_domains
from .drive import CapRules, Orders, PolicyFunctions, Rules, Run
from .nodes import example
from .queues import no_queues
from .state import table
from .types import empty_jobs


class KernelKind(NamedTuple):
    """What decides which kernel serves a run: rules, and whether it has each of these."""

    rules: Rules
    named: bool = False
    eventful: bool = False
    queued: bool = False
    capped: bool = False
    domained: bool = False


MACHINES = {
    "counted": KernelKind(Rules(1)),
    "named": KernelKind(Rules(1), named=True),
    "caps": KernelKind(Rules(1), named=True, capped=True),
    "domains": KernelKind(Rules(1), named=True, domained=True),
}
"""Kinds of machines: kernels for one of them share most of what takes long to compile."""


def all_kernels(machine: str) -> list[KernelKind]:
    """One of each kernel for a kind of machine; of those for domains only what many runs need."""
    rules = {
        kind: Rules(1, rule)
        for rule in map(load_backfill, BACKFILLS)
        for kind in (rule.indexed, rule.discipline)
        if kind is not None
    }
    kinds = [
        KernelKind(each, eventful=each.backfill.indexed is not kind, queued=queued)
        for kind, each in rules.items()
        for queued in (False, True)
        if not queued or "queues" in kind._fields
    ]
    kinds.append(KernelKind(Rules(1, stop_at_decisions=True), eventful=True))
    kept = MACHINES[machine]
    return [
        kept._replace(rules=each.rules, eventful=each.eventful, queued=each.queued)
        for each in kinds
        if not (kept.domained and (each.queued or each.rules.backfill.preempts))
    ]


def load_kernel(kind: KernelKind) -> None:
    """Load the compiled code of such runs, or compile it."""
    Run(
        empty_jobs(),
        kind.rules,
        Orders(np.zeros(0), np.zeros(0)),
        PolicyFunctions(*(None, np.zeros(1)) * 2, None, None, np.zeros(1)),
        1.0,
        np.zeros(0),
        example() if kind.named else None,
        make_calendar(None, None, 0) if kind.eventful else None,
        no_queues() if kind.queued else None,
        CapRules(no_caps(), table(0, FALL), np.zeros(0)) if kind.capped else None,
        no_domains() if kind.domained else None,
    )
