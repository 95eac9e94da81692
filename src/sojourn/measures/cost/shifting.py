"""What it saves to start a job when the electricity is clean: one job alone, at every instant.

Nothing else runs here: it is the most that shifting can give, before a queue takes its share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats, Ints
from ...errors import OptionError
from .carbon import Carbon
from .clock import known_zone

_HOUR = 3600.0
_ROUNDED = 1e-6  # of a step


@dataclass(frozen=True, eq=False)
class ShiftedEmissions:
    """Emissions of a job of 1 kW, by the instant at which it is submitted.

    Parameters
    ----------
    time : of submission, s: every step of the series from which the whole job fits into it.
    at_once : grams of CO2 if it starts then.
    uninterrupted : the least grams of a start within the slack.
    interrupted : the least grams if it may pause at the steps of the series and start again.
    """

    time: Floats
    at_once: Floats
    uninterrupted: Floats
    interrupted: Floats

    def savings(self) -> tuple[float, float]:
        """Return the shares of emissions that the two ways save in the mean over all instants."""
        return _saved(self.at_once, self.uninterrupted), _saved(self.at_once, self.interrupted)


def _saved(before: Floats, after: Floats) -> float:
    """Return the share of a sum that another one is less by; 0 of nothing."""
    total = float(before.sum())
    return 1.0 - float(after.sum()) / total if total > 0 else 0.0


def shift_emissions(carbon: Carbon | ArrayLike, *, length: float, slack: float) -> ShiftedEmissions:
    """Return the least emissions of a job that may start later, for every instant at once.

    A job submitted at step t of n (0, 1, ..., n - 1) runs for L steps. It starts at a step from t
    to t + S that leaves it time to end within the series; if it may be interrupted, it takes any L
    of the steps from t to t + S + L - 1 that the series has. So the last instants have less choice,
    and after step n - L there is no room for the job.

    Parameters
    ----------
    carbon : intensity in even steps, or g per kWh hour by hour.
    length : of the job, s; a whole number of steps.
    slack : how much later it may start, s; a whole number of steps.

    Examples
    --------
    Two hours of a job of 1 kW, to start up to two hours later:

    >>> shifted = shift_emissions([300, 100, 500, 100, 400], length=7200, slack=7200)
    >>> shifted.at_once.tolist()
    [400.0, 600.0, 600.0, 500.0]
    >>> shifted.uninterrupted.tolist(), shifted.interrupted.tolist()
    ([400.0, 500.0, 500.0, 500.0], [200.0, 200.0, 500.0, 500.0])
    """
    series = carbon if isinstance(carbon, Carbon) else _hourly(carbon)
    step = _step(series)
    width, later = _steps(length, step, "length"), _steps(slack, step, "slack")
    count = len(series.grams)
    if width == 0:
        raise OptionError(f"length {length:g} s: a job takes some time; give a step at least")
    if width > count:
        raise OptionError(
            f"length {length:g} s: {width:,.15g} steps, but {series.source} has {count:,}; give a "
            "shorter job or a longer series",
            path=series.source,
        )
    grams = series.grams * (step / _HOUR)
    later = min(later, count)  # what is beyond the series gives no more choice
    at_once = _sliding(np.add, grams, width, 0.0)[: count - width + 1]
    uninterrupted = _sliding(np.minimum, at_once, later + 1, np.inf)
    first = np.arange(len(at_once))
    last = np.minimum(first + width + later, count)
    return ShiftedEmissions(
        series.time[: len(at_once)],
        at_once,
        uninterrupted,
        _least_sums(grams, first, last, width),
    )


def shifted_by_hour(
    shifted: ShiftedEmissions, carbon: Carbon, zone: str | None = None
) -> list[dict[str, float]]:
    """Return, for each hour of the day at which the job is submitted, emissions and savings.

    Parameters
    ----------
    shifted : of a series.
    carbon : that series; if it has timestamps, its times are seconds since 1970 (`Clock.epoch`),
        else second 0 is midnight.
    zone : name of a time zone, for a series with timestamps; default UTC.

    Returns
    -------
    Rows with the ``hour``, the mean grams ``at_once``, and the shares that are saved.
    """
    if zone is not None and not carbon.is_dated:
        raise OptionError(
            f"zone '{zone}': {carbon.source} has no dates, only seconds; leave the zone out",
            path=carbon.source,
        )
    hour = _hours(shifted.time, zone)
    rows = []
    for which in np.unique(hour).tolist():
        at = hour == which
        rows.append(
            {
                "hour": which,
                "at_once": float(shifted.at_once[at].mean()),
                "uninterrupted": _saved(shifted.at_once[at], shifted.uninterrupted[at]),
                "interrupted": _saved(shifted.at_once[at], shifted.interrupted[at]),
            }
        )
    return rows


def _hours(seconds: Floats, zone: str | None) -> Ints:
    """Return the hour of the day at seconds since a midnight of UTC, on the clocks of a zone."""
    if zone is None:
        return (seconds // _HOUR % 24).astype(np.int64)
    import pandas as pd

    local = pd.to_datetime(seconds, unit="s", utc=True).tz_convert(known_zone(zone))
    return local.hour.to_numpy().astype(np.int64)


def _hourly(grams: ArrayLike) -> Carbon:
    values = np.asarray(grams, dtype=np.float64)
    return Carbon(
        _HOUR * np.arange(values.size, dtype=np.float64), values.reshape(-1), "the series"
    )


def _step(series: Carbon) -> float:
    """Return how long each value of a series holds, s."""
    steps = np.diff(series.time)
    if steps.size == 0:
        raise OptionError(
            f"{series.source}: one value holds at all times, and nothing is saved by waiting; give "
            "a series",
            path=series.source,
        )
    uneven = np.flatnonzero(np.abs(steps - steps[0]) > _ROUNDED * steps[0])
    if uneven.size:
        at = uneven[0]
        raise OptionError(
            f"{series.source}: steps of {steps[0]:g} s, but one of {steps[at]:g} s after row "
            f"{at + 1}; give a series without gaps",
            path=series.source,
        )
    return float(steps[0])


def _steps(seconds: float, step: float, name: str) -> int:
    count = seconds / step
    if not (np.isfinite(count) and count >= 0):
        raise OptionError(f"{name} {seconds:g} s: give a time of at least 0")
    if abs(count - round(count)) > _ROUNDED:
        raise OptionError(
            f"{name} {seconds:g} s: not a whole number of the steps of the series, {step:g} s; "
            "round it"
        )
    return round(count)


def _sliding(sums: np.ufunc, values: Floats, width: int, neutral: float) -> Floats:
    """Return sums or minima over `width` values from each on; what is beyond the last is neutral.

    A window is the end of one block of `width` values and the beginning of the next [vanherk1992],
    so that all of them take two passes, and no sum is a difference of large ones.
    """
    padded = np.full((len(values) // width + 2) * width, neutral)
    padded[: len(values)] = values
    blocks = padded.reshape(-1, width)
    begun = sums.accumulate(blocks, axis=1).reshape(-1)
    ended = sums.accumulate(blocks[:, ::-1], axis=1)[:, ::-1].reshape(-1)
    at = np.arange(len(values))
    whole = begun[at + width - 1]
    return np.where(at % width == 0, whole, sums(ended[at], whole))


def _least_sums(values: Floats, first: Ints, last: Ints, count: int) -> Floats:
    """Return the sum of the `count` least values of each window, from `first` to before `last`.

    All windows go down a wavelet matrix together [claude2015]: bit by bit of the ranks, from the
    highest, each either takes all values of its window whose bit is 0 and looks for the rest among
    the others, or looks among these alone. That is O(n log n).
    """
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    centre = float(values.mean())  # sums of what is around 0 lose less
    ranked = values[order] - centre
    total, wanted = np.zeros(len(first)), np.full(len(first), count)
    for bit in range(max(len(values) - 1, 1).bit_length() - 1, -1, -1):
        low = (rank >> bit) & 1 == 0
        lows = np.concatenate([[0], np.cumsum(low)])
        sums = np.concatenate([[0.0], np.cumsum(np.where(low, ranked[rank], 0.0))])
        within = lows[last] - lows[first]
        taken = wanted >= within
        total += np.where(taken, sums[last] - sums[first], 0.0)
        wanted = wanted - np.where(taken, within, 0)
        first = np.where(taken, lows[-1] + first - lows[first], lows[first])
        last = np.where(taken, lows[-1] + last - lows[last], lows[last])
        rank = np.concatenate([rank[low], rank[~low]])
    # Ranks differ in some bit: at most one value is left of each window.
    rest = ranked[rank[np.minimum(first, len(rank) - 1)]]
    return total + np.where(wanted > 0, rest, 0.0) + count * centre
