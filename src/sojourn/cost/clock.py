"""Which moment second 0 of a log is.

Local time runs at one distance from UTC for the whole log, the one that holds at its second 0:
changes to and from daylight saving time within a log are not followed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property
from zoneinfo import ZoneInfo

from ..errors import OptionError
from ..workload.header import Header
from ._values import DAY, number

__all__ = ["START_HINT", "Clock", "timestamp"]

START_HINT = "give the start as 2011-05-01T00:00+09:00"
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Clock:
    """Which moment second 0 of a log is, and so the time of day and the day of the week.

    Parameters
    ----------
    start : that moment, with its distance from UTC.
    known : whether it is the real one. It is not where nobody said it: then the log begins at
        midnight, Monday, UTC, of no particular week.
    """

    start: datetime = _MONDAY
    known: bool = False

    @classmethod
    def of(cls, header: Header | None = None, start: str | datetime | None = None) -> Clock:
        """Return the clock of a log.

        Parameters
        ----------
        header : of the log (`Jobs.header`), where ``UnixStartTime`` is second 0, and
            ``TimeZoneString`` (else ``TimeZone``, in seconds; else UTC) its local time.
        start : second 0 as an ISO 8601 timestamp or a datetime, instead of what the header says;
            in UTC where it has no offset.
        """
        if start is not None:
            moment = timestamp(str(start))
            if moment is None:
                raise OptionError(f"start '{start}' is no ISO 8601 timestamp; {START_HINT}")
            return cls(moment, known=True)
        seconds = _header_number(header, "UnixStartTime")
        if header is None or seconds is None or seconds <= 0:
            return cls()
        try:
            moment = datetime.fromtimestamp(seconds, UTC)
            return cls(moment.astimezone(_time_zone(header, moment)), known=True)
        except (OverflowError, OSError, ValueError):
            raise OptionError(
                f"log header: no moment is {seconds:g} s (UnixStartTime) in its zone; {START_HINT}"
            ) from None

    @cached_property
    def second_of_week(self) -> float:
        """Local seconds from Monday, 0:00, to second 0 of the log."""
        at = self.start
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        return at.weekday() * DAY + (at.replace(tzinfo=None) - midnight).total_seconds()


def _header_number(header: Header | None, key: str) -> float | None:
    """Return the number at the beginning of a header's value; remarks may follow it."""
    words = ((header.get(key) if header is not None else None) or "").split()
    value = number(words[0]) if words else None
    if words and value is None:
        raise OptionError(f"log header: {key} '{words[0]}' is not a number; {START_HINT}")
    return value


def _time_zone(header: Header, moment: datetime) -> timezone:
    """Return the distance from UTC that holds at a moment in the zone of a log."""
    shift = _header_number(header, "TimeZone")
    name = header.get("TimeZoneString")
    if name:
        try:
            return timezone(moment.astimezone(ZoneInfo(name)).utcoffset() or timedelta())
        except (KeyError, OSError, ValueError):
            # The number is only the winter time of the zone, but better than nothing.
            if shift is None:
                raise OptionError(
                    f"log header: time zone '{name}' is not known here; {START_HINT}"
                ) from None
    return timezone(timedelta(seconds=shift or 0.0))


def timestamp(text: str) -> datetime | None:
    """Read an ISO 8601 timestamp; UTC where it has no offset."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
