"""Rate controls [rumyantsev2018, eq. (5), secs. III-A and III-C], with any number of rates."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Control, Event, Exact, exact


def constant(rate: float) -> Control:
    """No control at all (errata 7)."""
    fixed = exact(rate)
    return Control(fixed, lambda event: fixed)


def randomized(low: float, high: float, p_low: float, p_high: float) -> Control:
    """Eq. (5), one coin per event (errata 8)."""
    r_low, r_high = exact(low), exact(high)

    def rate(event: Event) -> Exact:
        if event.kind == "S":
            return event.rate
        assert event.coin is not None, "the randomized control has run out of coins"
        if event.kind == "A" and event.coin < p_high:
            return r_high
        if event.kind == "D" and event.coin < p_low:
            return r_low
        return event.rate

    return Control(r_low, rate)


def count(rates: Sequence[float], low: Sequence[int], high: Sequence[int]) -> Control:
    """Hysteresis in the number of customers before the event, sec. III-A (errata 7)."""
    levels = _levels(rates, low, high)

    def rate(event: Event) -> Exact:
        new = event.rate
        for i in range(len(levels) - 1):
            if event.kind == "D" and event.present_before == low[i] + 1:
                new = min(new, levels[i])
            if event.kind == "A" and event.present_before == high[i]:
                new = max(new, levels[i + 1])
        return new

    return Control(levels[0], rate)


def workload(
    rates: Sequence[float], low: Sequence[float], high: Sequence[float], timer: bool = True
) -> Control:
    """Hysteresis in the remaining work, sec. III-C (errata 2).

    Without the timer the workload is looked at only at arrivals and departures.
    """
    levels = _levels(rates, low, high)
    k_low = [exact(k) for k in low]
    k_high = [exact(k) for k in high]

    def rate(event: Event) -> Exact:
        at = levels.index(event.rate)
        for i in range(len(levels) - 1):
            if event.workload > k_high[i]:
                at = max(at, i + 1)
            if event.workload <= k_low[i]:
                at = min(at, i)
        return levels[at]

    def level(current: Exact) -> Exact | None:
        at = levels.index(current)
        return k_low[at - 1] if timer and at > 0 else None

    return Control(levels[0], rate, level)


def threshold(low: float, high: float, k: float, timer: bool = True) -> Control:
    """Workload control with coinciding thresholds, as in Fig. 3."""
    return workload([low, high], [k], [k], timer)


def _levels(rates: Sequence[float], low: Sequence[float], high: Sequence[float]) -> list[Exact]:
    levels = [exact(rate) for rate in rates]
    assert levels == sorted(set(levels)), "rates must increase"
    assert levels[0] > 0, "rates must be positive"
    assert len(low) == len(high) == len(levels) - 1, "one pair of thresholds between two rates"
    return levels
