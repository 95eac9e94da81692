"""Instants of a log on the clock of its site, and the nights on which clocks change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import UTC

from ..report import Finding
from .slurm_fields import Moment, moment, zone_of

__all__ = ["NO_ZONE", "Clock"]

NO_ZONE = "local time of the log, zone not given"
"""What a clock is called when local times are read without knowing where."""

_ROUNDING = 1.0  # s


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
        read = moment(text, self.zone)
        self.has_local |= read.is_local
        return read

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
