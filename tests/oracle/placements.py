"""Resource selection: from the usable tasks of each node to an allocation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from .model import Exact
from .nodes import Allocation, Request


class Site(NamedTuple):
    """What a placement is told of a node, or of a pool of nodes."""

    index: int
    procs: int
    free: int
    usable: int
    slowness: Exact
    watts: Exact  # of one processor at 100 % load


class Asked(NamedTuple):
    """For whom: the job, its label among the accepted, and the time."""

    job: Request
    label: int
    now: Exact


Place = Callable[[Sequence[Site], int, Asked], Allocation | None]
Key = Callable[[Site], Exact]


class Placement(NamedTuple):
    """`place` finds room for so many tasks; `key` is the fixed order of nodes, if any."""

    name: str
    place: Place
    key: Key | None = None


def _visit(sites: Sequence[Site], want: int) -> Allocation | None:
    """All that is usable from each, in turn, until it is enough."""
    taken = []
    for site in sites:
        take = min(site.usable, want)
        if take:
            taken.append((site.index, take))
            want -= take
    return None if want else tuple(sorted(taken))


def in_order(name: str, key: Key) -> Placement:
    """Nodes with the smallest key first; also a user's score of what never changes."""

    def place(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
        return _visit(sorted(sites, key=lambda site: (key(site), site.index)), want)

    return Placement(name, place, key)


def scored(name: str, score: Callable[[Site, Asked], Exact | float]) -> Placement:
    """A user's score that looks at the job or at the time."""

    def place(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
        return _visit(sorted(sites, key=lambda site: (score(site, asked), site.index)), want)

    return Placement(name, place)


first_fit = in_order("first-fit", lambda site: 0)
fastest = in_order("fastest", lambda site: site.slowness)
lowest_power = in_order("lowest-power", lambda site: site.watts)
# Watts by operations per second: slowness is as their inverse.
lowest_energy = in_order("lowest-energy", lambda site: site.watts * site.slowness)


def _slowest(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
    job = asked.job

    def key(site: Site) -> tuple[bool, Exact, int]:
        late = job.limit is not None and job.plan * site.slowness > job.limit
        return late, site.slowness if late else -site.slowness, site.index

    return _visit(sorted(sites, key=key), want)


# Its order depends on the job, but is one of speeds: equally fast nodes stay together.
slowest = Placement("slowest", _slowest, lambda site: site.slowness)


def _best_fit(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
    if sum(site.usable for site in sites) < want:
        return None
    enough = [site for site in sites if site.usable >= want]
    if enough:
        chosen = min(enough, key=lambda site: (site.usable, site.index))
        return ((chosen.index, want),)
    largest = min(sites, key=lambda site: (-site.usable, site.index))
    others = [site for site in sites if site is not largest]
    rest = _best_fit(others, want - largest.usable, asked)
    assert rest is not None
    return tuple(sorted(((largest.index, largest.usable), *rest)))


best_fit = Placement("best-fit", _best_fit)


def _worst_fit(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
    return _visit(sorted(sites, key=lambda site: (-site.usable, site.index)), want)


worst_fit = Placement("worst-fit", _worst_fit)


def _pack(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
    def key(site: Site) -> tuple[bool, int, int]:
        return site.free == site.procs, site.usable, site.index

    return _visit(sorted(sites, key=key), want)


pack = Placement("pack", _pack)


def _spread(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
    left = {site.index: site.usable for site in sites}
    taken = dict.fromkeys(left, 0)
    for _ in range(want):
        index = min(left, key=lambda k: (-left[k], k))
        if not left[index]:
            return None
        left[index] -= 1
        taken[index] += 1
    return tuple((k, n) for k, n in sorted(taken.items()) if n)


spread = Placement("spread", _spread)


def _contiguous(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
    stretch: list[Site] = []
    for site in [*sites, None]:
        if site is not None and site.usable:
            stretch.append(site)
            continue
        if sum(s.usable for s in stretch) >= want:
            return _visit(stretch, want)
        stretch = []
    return None


contiguous = Placement("contiguous", _contiguous)


def pick(seed: int, label: int, number: int, count: int) -> int:
    """The finaliser of SplitMix64, in integers modulo 2**64."""
    z = seed * 0x9E3779B97F4A7C15 + label * 0xBF58476D1CE4E5B9 + number * 0x94D049BB133111EB
    z = (z + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    z ^= z >> 31
    return (z >> 11) % count


def random(seed: int = 0) -> Placement:
    """Any node that is usable, with the draws of this job."""

    def place(sites: Sequence[Site], want: int, asked: Asked) -> Allocation | None:
        candidates = [site for site in sites if site.usable]
        chosen: list[Site] = []
        while candidates and sum(site.usable for site in chosen) < want:
            at = pick(seed, asked.label, len(chosen), len(candidates))
            chosen.append(candidates.pop(at))
        return _visit(chosen, want)

    return Placement("random", place)


PLACEMENTS = {
    placement.name: placement
    for placement in (
        first_fit,
        best_fit,
        worst_fit,
        fastest,
        slowest,
        lowest_power,
        lowest_energy,
        contiguous,
        spread,
        pack,
        random(),
    )
}


def watts_of(
    allocation: Allocation, sites: Sequence[Site], procs_per_task: int = 1
) -> Exact | Fraction:
    """Watts of the processors in use, at 100 % load."""
    watts = {site.index: site.watts for site in sites}
    return sum(taken * procs_per_task * watts[k] for k, taken in allocation)
