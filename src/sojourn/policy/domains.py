"""Domains: sets of nodes of which each has a rate control of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cluster import Cluster
from ..errors import OptionError, nearest
from .control import Control, _keep, constant, parse_control

MOST_DOMAINS = 16
_KEY = "control.domains"
_NEXT = re.compile(r",(?=[^,=:]+=)")
_FORM = "write NODES=CONTROL, such as gpu=count:0.8,1:2:5"


@dataclass(frozen=True)
class DomainControl(Control):
    """Rates of several domains; nodes in none of them have rate 1.

    Parameters
    ----------
    parts : the name of each set of nodes, and its control.
    """

    parts: tuple[tuple[str, Control], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return by_domain, (dict(self.parts),)

    @property
    def controls(self) -> tuple[Control, ...]:
        """Of the domains, in their order."""
        return tuple(control for _, control in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the domains."""
        return tuple(name for name, _ in self.parts)

    @property
    def is_constant(self) -> bool:
        """Whether no rate ever changes."""
        return all(control.is_constant for control in self.controls)

    @property
    def keeps_cap(self) -> bool:
        """Whether some control follows the cap of the run."""
        return any(control.keeps_cap for control in self.controls)

    @property
    def timed(self) -> bool:
        """Whether some control wants to be asked between arrivals and departures too."""
        return any(control.timed for control in self.controls)

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Theta of all controls, one behind the other."""
        return np.concatenate([control.parameters for control in self.controls])

    @property
    def places(self) -> NDArray[np.int64]:
        """Where the parameters of each control begin, and the end."""
        sizes = [len(control.parameters) for control in self.controls]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def pointers(self) -> tuple[Any, Any]:
        """The laws and their wake-ups, compiled; kernels take as many as there may be domains."""
        others = (constant(),) * (MOST_DOMAINS - len(self.parts))
        from ..engine.types import control_pointers

        laws, wakes = zip(*(each.pointers for each in self.controls + others), strict=True)
        return control_pointers(laws), control_pointers(wakes)


def by_domain(given: Mapping[str, Any]) -> DomainControl:
    """Return the control of several domains.

    Parameters
    ----------
    given : by partition, rack, named set of nodes, or name of nodes (patterns with ``*``): a
        control, a rate or a text as `parse_control` reads it.

    Examples
    --------
    >>> str(by_domain({"gpu": "count:0.8,1:2:5", "cpu": 0.9}))
    'gpu: count hysteresis 0.8, 1 at 2 / 5; cpu: constant 0.9'
    """
    if not given:
        raise OptionError(f"domains: none is given; {_FORM}", key=_KEY)
    if len(given) > MOST_DOMAINS:
        raise OptionError(
            f"domains: {len(given)} of them; there may be {MOST_DOMAINS}, give fewer", key=_KEY
        )
    parts = []
    for name, value in given.items():
        if not isinstance(name, str) or not name.strip():
            raise OptionError(f"domains: one is called {name!r}; {_FORM}", key=_KEY)
        if isinstance(value, Mapping | DomainControl) or value is None:
            raise OptionError(
                f"domain '{name}': give a rate, a text or a sojourn.control", key=_KEY
            )
        try:
            parts.append((name.strip(), parse_control(value)))
        except OptionError as error:
            raise OptionError(f"domain '{name}': {error}", key=_KEY) from None
    controls = [control for _, control in parts]
    return DomainControl(
        law=_keep,
        initial=1.0,
        rates=tuple(sorted({rate for each in controls for rate in each.rates} | {1.0})),
        draws=any(control.draws for control in controls),
        house=all(control.house for control in controls),
        text="; ".join(f"{name}: {control}" for name, control in parts),
        parts=tuple(parts),
    )


def parts_of(control: Control) -> tuple[Control, ...]:
    """Return the controls of domains, or the one of all servers."""
    return control.controls if isinstance(control, DomainControl) else (control,)


def highest_rates(control: Control, cluster: Cluster) -> NDArray[np.float64]:
    """Return the highest rate that a control may choose for each node of a cluster."""
    most = [max(each.rates or (each.initial,)) for each in parts_of(control)]
    if isinstance(control, DomainControl):
        return np.array([*most, 1.0])[nodes_of_domains(control, cluster)]
    return np.full(len(cluster.nodes), most[0])


def domain_texts(text: str) -> dict[str, str]:
    """Return controls by domain, from ``NODES=CONTROL`` with commas between several.

    Examples
    --------
    >>> domain_texts("gpu=count:0.8,1:2:5,cpu=0.9")
    {'gpu': 'count:0.8,1:2:5', 'cpu': '0.9'}
    """
    found: dict[str, str] = {}
    for part in _NEXT.split(text):
        name, equals, control = part.partition("=")
        name = name.strip()
        if not (equals and name and control.strip()):
            raise OptionError(f"domain '{part.strip()[:40]}': {_FORM}", key=_KEY)
        if name in found:
            raise OptionError(f"domains: two of '{name}'; leave one out", key=_KEY)
        found[name] = control.strip()
    return found


def nodes_of_domains(control: DomainControl, cluster: Cluster) -> NDArray[np.int64]:
    """Return the domain of each node; behind the last, of those that are in none.

    Raises
    ------
    OptionError
        For nodes that are not there, or are in two domains.
    """
    if not cluster.is_named:
        raise OptionError(
            f"domain '{control.names[0]}': processors are only counted; name nodes with "
            "--cluster, or give all servers one control",
            key=_KEY,
        )
    none = len(control.parts)
    domain = np.full(len(cluster.nodes), none, np.int64)
    for d, name in enumerate(control.names):
        for node in _places(name, cluster):
            if domain[node] != none:
                raise OptionError(
                    f"domains: node '{cluster.nodes[node].name}' is in "
                    f"'{control.names[domain[node]]}' and '{name}'; a node has one rate",
                    key=_KEY,
                )
            domain[node] = d
    return domain


def _places(name: str, cluster: Cluster) -> tuple[int, ...]:
    """The nodes of a partition, of a rack, of a named set, or of a name."""
    from fnmatch import fnmatchcase

    sets = {own.name: own.nodes for own in cluster.caps if own.nodes is not None}
    sets |= {rack.name: rack.nodes for rack in cluster.racks}
    sets |= {part.name: part.nodes for part in cluster.partitions}
    if name in sets:
        return tuple(sets[name])
    names = [node.name for node in cluster.nodes]
    found = tuple(at for at, own in enumerate(names) if own == name)
    found = found or tuple(at for at, own in enumerate(names) if fnmatchcase(own, name))
    if not found:
        hint = nearest(name, list(sets)) if sets else "the cluster has no partitions; name nodes"
        raise OptionError(
            f"domain '{name[:40]}': no partition, rack, set or node is called so; {hint}",
            key=_KEY,
        )
    return found
