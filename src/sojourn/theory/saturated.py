"""The saturated system: servers that never lack waiting jobs.

How many jobs it completes per second is the largest arrival rate that a real system can take.
With one service rate for all this is mu / C [rumyantsev2014, eq. 3]; where the rate depends on
the class, or the speed changes at random, the chain of the phases is solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks import generator, pair, positive, probability
from ..errors import OptionError
from ._chain import deviation, explore, rates_between, stationary
from ._phases import Classes, Phase, classes_of
from .stability import constant

_FEW, _MANY = 3_000, 50_000
"""Phases up to which variances, and throughputs alone, are solved for."""
_BATCHES, _LENGTH = 1_000, 2_000
"""Of the walk through more phases than that: the dispersion is right to about 4 %."""
_ROUNDS, _STEPS, _FEWEST = 50, 40_000_000, 100
"""How often a batch should renew all jobs; completions that are not exceeded for that; batches."""


@dataclass(frozen=True)
class Saturated:
    """What a saturated FCFS system does in the long run.

    Parameters
    ----------
    throughput : jobs completed per second.
    in_service : mean number of jobs running.
    busy : mean number of servers in use.
    alike : jobs of one width that would fill the servers as unevenly (Hayward): servers over
        E[N^2] / E[N], at most `in_service`. A few wide jobs block many narrow ones.
    dispersion : variance of the number of completions over its mean, over long times. 1 for a
        Poisson stream; 1 + 2 Delta, with Delta the relative completions of [grosof2023].
    states : number of states of the chain; 0 where they were too many and the dispersion was
        sampled.
    error : standard error of the dispersion; 0 where the chain was solved.
    """

    throughput: float
    in_service: float
    busy: float
    alike: float
    dispersion: float
    states: int = 0
    error: float = 0.0

    @property
    def relative_completions(self) -> float:
        """Delta of [grosof2023]: completions to come after one, beyond the average."""
        return (self.dispersion - 1) / 2


def saturated_system(
    p: ArrayLike, service_rates: ArrayLike = 1.0, servers: int | None = None, *, seed: int = 0
) -> Saturated:
    """Solve the saturated system with an exponential service rate for each width.

    Parameters
    ----------
    p : p[k-1] is the probability that a job needs k servers.
    service_rates : service rate of each width (1/s), or one for all.
    servers : of the machine; as many as `p` has entries if not given.
    seed : of the walk that is taken where there are more than some thousand phases.

    Examples
    --------
    >>> from sojourn.theory import saturated_system
    >>> round(saturated_system([0.5, 0.5], [1.0, 0.5]).throughput, 6)
    0.727273
    """
    classes = classes_of(p, service_rates, servers)
    chain = _Chain.of(classes, most=_FEW)
    return _walked(classes, seed) if chain is None else _solved(chain)


def _solved(chain: _Chain) -> Saturated:
    classes = chain.classes
    pi = stationary(chain.rates)
    served = np.asarray(chain.rates.sum(axis=1)).ravel()
    throughput = float(pi @ served)
    # The states as completions leave them.
    after = (pi @ chain.rates) / throughput
    running = float(pi @ [sum(y.running) for y in chain.phases])
    delta = float(after @ deviation(chain.rates, pi, served))
    return Saturated(
        throughput,
        running,
        float(pi @ [classes.busy(y) for y in chain.phases]),
        min(running, classes.alike),
        1 + 2 * delta,
        len(chain.phases),
    )


def _walked(classes: Classes, seed: int) -> Saturated:
    """Sample the saturated system; its throughput is still exact where all rates are equal."""
    from ._saturated_walk import begin_walk, walk

    # What a batch remembers of the one before falls with its length over that of some two rounds.
    at_once = classes.servers / classes.mean_width
    length = max(_LENGTH, int(_ROUNDS * at_once))
    batches = min(max(_STEPS // length, _FEWEST), _BATCHES)
    length = min(length, _STEPS // batches)
    given = np.array(classes.widths), np.cumsum(classes.shares), np.array(classes.rates)
    at, random = begin_walk(len(classes.widths)), generator(seed)
    # One batch at a time, between which an interrupt is heard; the first one warms up.
    walked = [walk(*given, classes.servers, at, length, random) for _ in range(batches + 1)]
    took, squares, areas = np.array(walked[1:]).T
    # Given the phases the times between completions are exponential: only the rest is sampled.
    spread = took.var(ddof=1)
    pace = took.mean() / length
    dispersion = (spread + squares.mean()) / length / pace**2
    error = spread / length / pace**2 * np.hypot(np.sqrt(2 / (batches - 1)), 2 * at_once / length)
    throughput = _throughput(classes) if classes.equal_rates else 1 / pace
    running = float(throughput * classes.mean_service)
    return Saturated(
        float(throughput),
        running,
        float(areas.sum() / took.sum()),
        min(running, classes.alike),
        float(dispersion),
        error=float(error),
    )


class _Chain:
    """Phases of the saturated system and the rates between them at speed 1."""

    def __init__(self, classes: Classes, phases: Sequence[Phase]) -> None:
        self.classes = classes
        self.phases = phases
        self.rates = rates_between(phases, lambda phase: _completions(classes, phase))

    @classmethod
    def of(cls, classes: Classes, most: int) -> _Chain | None:
        """List the phases; None if there are more than `most`."""
        if classes.combinations > most:
            return None
        phases = explore(classes.saturated(), lambda phase: _completions(classes, phase), most=most)
        return None if phases is None else cls(classes, phases)

    @classmethod
    def whole(cls, classes: Classes) -> _Chain:
        """List the phases, or say what to do instead."""
        chain = cls.of(classes, _MANY)
        if chain is None:
            raise OptionError(
                f"p: the saturated system has more than {_MANY:,} phases; give fewer widths or one "
                "service rate for all, or simulate it: sojourn.capacity.saturated_throughput"
            )
        return chain


def _completions(classes: Classes, phase: Phase) -> dict[Phase, float]:
    flow: dict[Phase, float] = {}
    for kind, rate in classes.departures(phase):
        for after, p in classes.depart(phase, kind, classes.servers + 1).items():
            flow[after] = flow.get(after, 0.0) + rate * p
    return flow


def max_throughput(
    p: ArrayLike,
    service_rates: ArrayLike = 1.0,
    servers: int | None = None,
    *,
    speeds: tuple[float, float] | float = 1.0,
    switch: tuple[float, float] = (0.0, 0.0),
) -> float:
    """Largest arrival rate (1/s) under which an FCFS system is stable.

    Parameters
    ----------
    p : p[k-1] is the probability that a job needs k servers.
    service_rates : service rate of each width (1/s) at speed 1, or one for all.
    servers : of the machine; as many as `p` has entries if not given.
    speeds : low and high speed of all servers, or the only one. The system begins at the low one.
    switch : probability that a departure lowers the speed, and that an arrival raises it
        [rumyantsev2018, eq. 5].

    Notes
    -----
    Exact for exponential service times. Arrivals change the speed, so with two speeds the
    throughput of the saturated system depends on the arrival rate: the answer is where they are
    equal.

    Examples
    --------
    >>> from sojourn.theory import max_throughput
    >>> round(max_throughput([0.0, 1.0], speeds=(1, 2), switch=(0.3, 0.7)), 4)
    1.6594
    """
    classes = classes_of(p, service_rates, servers)
    down, up = pair(switch, "switch")
    chances = probability(down, "switch[0]"), probability(up, "switch[1]")
    return throughput_of(classes, _check_speeds(speeds), chances)


def throughput_of(
    classes: Classes, speeds: tuple[float, float], switch: tuple[float, float]
) -> float:
    """`max_throughput` of classes, low and high speed, and chances to go down and up."""
    (low, high), (down, up) = speeds, switch
    if low == high or up == 0 or down == 0:
        # What is never left again rules the long run; without switches the first speed stays.
        return (high if up > 0 else low) * _throughput(classes)
    from scipy.optimize import brentq

    chain = _Chain.whole(classes)
    at_one = float(stationary(chain.rates) @ np.asarray(chain.rates.sum(axis=1)).ravel())

    def surplus(arrival_rate: float) -> float:
        return _scaled_throughput(chain, arrival_rate, (low, high), down, up) - arrival_rate

    ends = low * at_one * (1 - 1e-12), high * at_one * (1 + 1e-12)
    return float(brentq(surplus, *ends, xtol=1e-300, rtol=1e-14))


def _check_speeds(speeds: tuple[float, float] | float) -> tuple[float, float]:
    both = pair(speeds, "speeds") if hasattr(speeds, "__len__") else (speeds, speeds)
    low, high = (positive(speed, f"speeds[{i}]") for i, speed in enumerate(both))
    if low > high:
        raise OptionError(f"speeds = {low:g}, {high:g}: the low one comes first")
    return low, high


def _throughput(classes: Classes) -> float:
    if classes.equal_rates:
        shares = np.zeros(classes.widths[-1])
        shares[np.array(classes.widths) - 1] = classes.shares
        return classes.rates[0] / constant(shares, classes.servers)
    chain = _Chain.whole(classes)
    out = np.asarray(chain.rates.sum(axis=1)).ravel()
    return float(stationary(chain.rates) @ out)


def _scaled_throughput(
    chain: _Chain, arrival_rate: float, speeds: tuple[float, float], down: float, up: float
) -> float:
    """Throughput when arrivals of a given rate raise the speed and completions lower it."""
    from scipy import sparse

    low, high = speeds
    raised = sparse.identity(len(chain.phases)) * (arrival_rate * up)
    rates = sparse.bmat(
        [
            [low * chain.rates, raised],
            [high * down * chain.rates, high * (1 - down) * chain.rates],
        ],
        format="csr",
    )
    pi = stationary(rates)
    served = np.asarray(chain.rates.sum(axis=1)).ravel()
    return float(pi @ np.concatenate([low * served, high * served]))
