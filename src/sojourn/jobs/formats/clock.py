"""Instants of a log on the clock of its site, and the nights on which clocks change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from ...errors import OptionError
from ..report import Finding, noted
from .slurm_fields import UNKNOWN

NO_ZONE = "local time of the log, zone not given"
"""What a clock is called when local times are read without knowing where."""

_ROUNDING = 1.0  # s


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its name, such as ``Europe/Moscow`` or ``UTC``."""
    from zoneinfo import ZoneInfo

    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise OptionError(
            f"timezone '{name}' is unknown; give a name such as Europe/Berlin, or UTC",
            key="workload.timezone",
        ) from None


class Instant(NamedTuple):
    """An instant as a log has it.

    Parameters
    ----------
    time : Unix time (s), nan if not known; the first of two where the clock was set back.
    other : the other one of an hour that occurs twice, or that was left out; else nan.
    is_local : whether the log names no zone.
    """

    time: float
    other: float = math.nan
    is_local: bool = False


@lru_cache(maxsize=1 << 16)
def moment(text: str, zone: tzinfo) -> Instant:
    """Return an instant, in `zone` if it names none; ValueError if it is none."""
    word = text.strip()
    if word.lower() in UNKNOWN:
        return Instant(math.nan)
    if word.replace(".", "", 1).isdecimal():
        return Instant(float(word))
    date = datetime.fromisoformat(word)
    if date.tzinfo is not None:
        return Instant(date.timestamp())
    first = date.replace(tzinfo=zone).timestamp()
    second = first if zone is UTC else date.replace(tzinfo=zone, fold=1).timestamp()
    return Instant(first, math.nan if first == second else second, True)


def instant(text: str, zone: tzinfo = UTC) -> float:
    """Return a moment as Unix time (s); nan for one that is not known.

    >>> instant("2021-02-11T22:36:19"), instant("2021-02-11T23:36:19+01:00"), instant("Unknown")
    (1613082979.0, 1613082979.0, nan)
    """
    return moment(text, zone).time


class LogClock:
    """Reads instants, and remembers what it had to assume.

    Those that name no zone are in `timezone`, or taken as they stand where that is None.
    """

    def __init__(self, timezone: str | None) -> None:
        self.name = timezone
        self.zone = UTC if timezone is None else zone_of(timezone)
        self.has_local = False
        self.doubtful: list[int] = []

    def moment(self, text: str) -> Instant:
        """Return an instant; ValueError if it is none."""
        read = moment(text, self.zone)
        self.has_local |= read.is_local
        return read

    def settled(
        self, instants: Sequence[Instant], spent: float, line: int
    ) -> tuple[float, float, float, float]:
        """Return submit, eligible, start and end of a run (Unix time, s).

        In an hour that occurs twice the first is meant, unless the order of the four, or the time
        from start to end, says otherwise.
        `spent` is the time from start to end (s) as the log has it; nan if it has none.
        """
        choices = [
            (instant.time,) if math.isnan(instant.other) else (instant.time, instant.other)
            for instant in instants
        ]
        if any(len(choice) > 1 for choice in choices):
            self.doubtful.append(line)

        def faults(times: tuple[float, ...]) -> tuple[int, bool]:
            known = [time for time in times if time == time]
            backward = sum(b < a for a, b in itertools.pairwise(known))
            return backward, abs(times[3] - times[2] - spent) > _ROUNDING

        submit, eligible, start, end = min(itertools.product(*choices), key=faults)
        return submit, eligible, start, end

    def findings(self) -> list[Finding]:
        """Return what was assumed about instants."""
        what = (
            "in an hour that occurs twice or never, as clocks changed: the first is taken, unless "
            "Elapsed or the order of submit, start and end decide"
        )
        return noted("changed-clock", "repair", what, self.doubtful, "line")

    def header(self) -> list[str]:
        """Return the lines of a header that say on which clock the log was."""
        if self.has_local and self.name is None:
            return [f"Clock: {NO_ZONE}"]
        return [f"TimeZoneString: {self.name or 'UTC'}"]
