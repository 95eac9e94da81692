"""Racks, and what holds them: sets of nodes that stand together, and nest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import OptionError
from .server import whole_count


@dataclass(frozen=True)
class Rack:
    """Nodes that stand together: a rack, a row of racks, a room, or what hangs on a switch.

    Parameters
    ----------
    name : of the rack.
    nodes : places of its nodes in the cluster, from 0; they are kept in rising order.
    """

    name: str
    nodes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise OptionError("a rack has no name; give it one")
        where = f"rack '{self.name}'"
        places = sorted({whole_count(node, f"{where}: node") for node in self.nodes})
        object.__setattr__(self, "nodes", tuple(places))
        if not self.nodes:
            raise OptionError(f"{where} has no node; name some, or remove it")


def check_racks(
    nodes: int, racks: Sequence[Rack], others: Iterable[tuple[str, str, tuple[int, ...]]]
) -> None:
    """See that racks are of a cluster of so many nodes, nest, and have names of their own.

    Parameters
    ----------
    nodes : of the cluster.
    racks : to look at.
    others : what else has nodes: kind, name and places. One of the same name has the same nodes.
    """
    names = [rack.name for rack in racks]
    known: dict[str, tuple[str, tuple[int, ...]]] = {
        name: (kind, places) for kind, name, places in others
    }
    for rack in racks:
        if names.count(rack.name) > 1:
            raise OptionError(f"two racks are called '{rack.name}'; give each a name of its own")
        if rack.nodes[-1] >= nodes:
            raise OptionError(
                f"rack '{rack.name}': there is no node {rack.nodes[-1]}; the cluster has "
                f"{nodes:,}, counted from 0"
            )
        kind, places = known.get(rack.name, ("", rack.nodes))
        if places != rack.nodes:
            raise OptionError(
                f"rack '{rack.name}': a {kind} of that name has other nodes; choose another"
            )
    if pair := do_not_nest({rack.name: rack.nodes for rack in racks}):
        raise OptionError(
            f"racks '{pair[0]}' and '{pair[1]}' share nodes, but neither has all of the other's; "
            "racks must nest"
        )


def do_not_nest(sets: Mapping[str, Iterable[int]]) -> tuple[str, str] | None:
    """Return the names of two sets that share nodes although neither holds the other, if any."""
    largest = sorted(sets, key=lambda name: -len(set(sets[name])))
    inner: dict[int, str] = {}
    for name in largest:
        # All nodes of a set have the same one around them, or none.
        places = set(sets[name])
        around = {inner.get(place) for place in places}
        if len(around) > 1:
            cut = (other for other in largest if other in around)
            return next(other for other in cut if not places <= set(sets[other])), name
        inner |= dict.fromkeys(places, name)
    return None


def racks_around(nodes: int, racks: Sequence[Rack], level: int = 1) -> list[Rack | None]:
    """Return for each node the rack that holds it.

    Parameters
    ----------
    nodes : of the cluster.
    racks : which nest.
    level : 1 for the innermost, 2 for what holds that, and so on; None where there is none.
    """
    around: list[list[Rack]] = [[] for _ in range(nodes)]
    for rack in sorted(racks, key=lambda rack: len(rack.nodes)):
        for place in rack.nodes:
            around[place].append(rack)
    return [held[level - 1] if len(held) >= level else None for held in around]
