"""Domains as the engine is handed them, and what does not go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...engine.domains import DomainFacts
from ...errors import OptionError
from ...policy import DomainControl, Policy, nodes_of_domains
from .machine import NamedMachine

if TYPE_CHECKING:
    from ..options import Options

_KEY = "control.domains"


def check_domains(control: DomainControl, policy: Policy, options: Options) -> None:
    """Refuse what is not defined for domains, in one line."""
    for what, is_there, instead in (
        (f"policy '{policy}' stops jobs", policy.preemptive, "give another policy"),
        ("jobs have checkpoints", options.checkpoint is not None, "leave them out"),
        ("rate control 'cap'", control.keeps_cap, "give domains other controls"),
    ):
        if is_there:
            raise OptionError(
                f"{what}: that is not defined where domains have rates of their own; {instead}, or "
                "give all servers one rate",
                key=_KEY,
            )


def domain_facts(
    control: DomainControl, named: NamedMachine, accepted: NDArray[np.bool_]
) -> DomainFacts:
    """Return what the engine must know of domains, for a run of the accepted jobs."""
    node = nodes_of_domains(control, named.cluster)
    asked = named.requests
    # Of each set of eligible nodes the domains that have some of them, as bits.
    sets = np.zeros(len(asked.eligible), np.int64)
    for d in range(len(control.parts)):
        sets |= asked.eligible[:, node == d].any(axis=1).astype(np.int64) << d
    first, number = asked.choice[accepted], asked.choices[accepted]
    may = np.zeros(len(first), np.int64)
    for k in range(int(number.max(initial=0))):
        has = k < number
        may[has] |= sets[first[has] + k]
    return DomainFacts(
        node=node,
        may=may,
        rates=np.array([each.initial for each in control.controls], np.float64),
        theta=control.places,
    )
