"""Instants of a log on the clock of its site, and the nights on which clocks change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from ._report import Finding
from ._slurm_fields import UNKNOWN, zone_of

__all__ = ["NO_ZONE", "Clock", "Moment"]

NO_ZONE = "local time of the log, zone not given"
"""What a clock is called when local times are read without knowing where."""

_ROUNDING = 1.0  # s


class Moment(NamedTuple):
    """An instant as a log has it.

    Parameters
    ----------
    time : Unix time (s), nan if not known; the first of two where the clock was set back.
    other : the other one of an hour that occurs twice, or that was left out; else nan.
    is_local : whether the log told no zone.
    """

    time: float
    other: float = math.nan
    is_local: bool = False


@lru_cache(maxsize=1 << 16)
def _moment(text: str, zone: tzinfo) -> Moment:
    word = text.strip()
    if word.lower() in UNKNOWN:
        return Moment(math.nan)
    if word.replace(".", "", 1).isdecimal():
        return Moment(float(word))
    told = datetime.fromisoformat(word)
    if told.tzinfo is not None:
        return Moment(told.timestamp())
    first = told.replace(tzinfo=zone).timestamp()
    second = first if zone is UTC else told.replace(tzinfo=zone, fold=1).timestamp()
    return Moment(first, math.nan if first == second else second, True)


class Clock:
    """Reads instants, and remembers what it had to assume.

    Parameters
    ----------
    timezone : of instants that tell none, such as ``Europe/Berlin``; None: not known, and they are
        taken as they stand.
    """

    def __init__(self, timezone: str | None) -> None:
        self.name = timezone
        self.zone = UTC if timezone is None else zone_of(timezone)
        self.has_local = False
        self.doubtful: list[int] = []

    def moment(self, text: str) -> Moment:
        """Return an instant; ValueError if it is none."""
        found = _moment(text, self.zone)
        self.has_local |= found.is_local
        return found

    def settled(
        self, moments: Sequence[Moment], spent: float, line: int
    ) -> tuple[float, float, float, float]:
        """Return submit, eligible, start and end of a run (Unix time, s).

        In an hour that occurs twice the first is meant, unless the order of the four, or the time
        from start to end, says otherwise.

        Parameters
        ----------
        moments : the four, in this order.
        spent : s from start to end, as the log tells it; nan if it does not.
        line : of the file.
        """
        if all(math.isnan(moment.other) for moment in moments):
            submit, eligible, start, end = (moment.time for moment in moments)
            return submit, eligible, start, end
        self.doubtful.append(line)
        choices = [
            (moment.time,) if math.isnan(moment.other) else (moment.time, moment.other)
            for moment in moments
        ]

        def faults(times: tuple[float, ...]) -> tuple[int, bool]:
            known = [time for time in times if time == time]
            backward = sum(b < a for a, b in itertools.pairwise(known))
            return backward, abs(times[3] - times[2] - spent) > _ROUNDING

        submit, eligible, start, end = min(itertools.product(*choices), key=faults)
        return submit, eligible, start, end

    def findings(self) -> list[Finding]:
        """Return what was assumed about instants."""
        if not self.doubtful:
            return []
        what = (
            "in an hour that occurs twice or never, as clocks changed: the first is taken, unless "
            "Elapsed or the order of submit, start and end decide"
        )
        return [Finding.of("changed-clock", "repair", what, self.doubtful, "line")]

    def header(self) -> list[str]:
        """Return the lines of a header that say on which clock the log was."""
        if self.has_local and self.name is None:
            return [f"Clock: {NO_ZONE}"]
        return [f"TimeZoneString: {self.name or 'UTC'}"]
