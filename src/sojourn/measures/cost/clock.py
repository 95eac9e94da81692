"""Which moment second 0 of a log is, and how local time goes on from there.

In a time zone with a name clocks change as they do there; at a fixed distance from UTC they do not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from ...errors import OptionError, did_you_mean
from ._values import DAY, number

if TYPE_CHECKING:
    from ...jobs.header import Header

START_HINT = "give the start as 2011-05-01T00:00+09:00"
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
_WITH_ZONE = re.compile(r"(?P<time>.*?)\s*(?:\s|(?P<open>\[))(?P<zone>[A-Za-z][^\s\]]*)(?(open)\])")


@dataclass(frozen=True)
class Clock:
    """Which moment second 0 of a log is, and so the time of day and the day of the week.

    Parameters
    ----------
    start : that moment, in its time zone or with its distance from UTC.
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
            in UTC where it has no offset. A time zone may follow: ``2011-05-01T00:00
            Europe/Berlin``, or the zone in brackets.
        """
        if start is not None:
            return cls(start_of(start), known=True)
        seconds = _header_number(header, "UnixStartTime")
        if header is None or seconds is None or seconds <= 0:
            return cls()
        try:
            moment = datetime.fromtimestamp(seconds, UTC)
            return cls(moment.astimezone(_time_zone(header)), known=True)
        except (OverflowError, OSError, ValueError):
            raise OptionError(
                f"log header: no moment is {seconds:g} s (UnixStartTime) in its zone; {START_HINT}"
            ) from None

    @classmethod
    def epoch(cls) -> Clock:
        """Return the clock on which seconds are those of Unix, since 1970 in UTC."""
        return cls(datetime.fromtimestamp(0, UTC), known=True)

    @cached_property
    def second_of_week(self) -> float:
        """Local seconds from Monday, 0:00, to second 0 of the log."""
        at = self.start
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        return at.weekday() * DAY + (at.replace(tzinfo=None) - midnight).total_seconds()

    def pieces(self, first: float, last: float) -> Iterator[tuple[float, float, float]]:
        """Yield the parts of a stretch of the log between which clocks change.

        Each is its first and last second of the log, and the local seconds from Monday, 0:00, to
        second 0 if the clock of this part had gone all the time.
        """
        while first < last:
            change = self._change(first, last)
            moved = self._ahead(first) - self._ahead(0.0)
            yield first, change, self.second_of_week + moved.total_seconds()
            first = change

    def shown(self, second: float) -> str:
        """Return a second of the log, with its moment where that is known.

        >>> Clock.of(start="2021-07-01T08:00+02:00").shown(3600.0)
        '3600 s (2021-07-01 09:00+02:00)'
        """
        text = f"{second:.15g} s"
        if not self.known:
            return text
        try:
            moment = self.start.astimezone(UTC) + timedelta(seconds=second)
            moment = moment.astimezone(self.start.tzinfo)
        except (OverflowError, ValueError):
            return text
        return f"{text} ({moment.isoformat(' ', 'minutes')})"

    def _ahead(self, second: float) -> timedelta:
        """Return how far clocks are ahead of UTC at a second of the log."""
        moment = self.start
        if isinstance(moment.tzinfo, ZoneInfo):
            try:
                # Sums of dates in a zone are on its clock: in UTC every second counts.
                later = moment.astimezone(UTC) + timedelta(seconds=second)
                moment = later.astimezone(moment.tzinfo)
            except OverflowError:
                raise OptionError(
                    f"no calendar has the moment {second:g} s after {self.start}; give times in "
                    "seconds, or the start with its distance from UTC alone"
                ) from None
        return moment.utcoffset() or timedelta()

    def _change(self, first: float, last: float) -> float:
        """Return the first second after `first` at which clocks change; `last` if none before."""
        if not isinstance(self.start.tzinfo, ZoneInfo):
            return last
        now, before = self._ahead(first), first
        while before < last:
            after = min(before + DAY, last)
            if self._ahead(after) != now:
                return self._between(before, after, now)
            before = after
        return last

    def _between(self, before: float, after: float, now: timedelta) -> float:
        """Return when clocks cease to be `now` ahead: at a whole second of UTC."""
        fraction = self.start.microsecond / 1e6
        low, high = math.floor(before + fraction), math.ceil(after + fraction)
        while high - low > 1:
            middle = (low + high) // 2
            if self._ahead(middle - fraction) == now:
                low = middle
            else:
                high = middle
        return min(max(high - fraction, before), after)


def start_of(start: str | datetime) -> datetime:
    """Return a moment from an ISO 8601 timestamp, with or without the name of a time zone.

    >>> start_of("2021-07-01T08:00 Europe/Berlin").isoformat()
    '2021-07-01T08:00:00+02:00'
    """
    if isinstance(start, datetime):
        return start if start.tzinfo else start.replace(tzinfo=UTC)
    match = _WITH_ZONE.fullmatch(start.strip())
    text = match["time"] if match else start
    moment = timestamp(text)
    if moment is None:
        raise OptionError(f"start '{start}' is no ISO 8601 timestamp; {START_HINT}")
    if match is None:
        return moment
    zone = known_zone(match["zone"], f"start '{start}': ")
    wall = moment.replace(tzinfo=None)
    both = [wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    first, second = both
    if datetime.fromisoformat(text.strip()).tzinfo is not None:
        # Where a time occurs twice, its distance from UTC tells which is meant.
        for local in both:
            if local.utcoffset() == moment.utcoffset():
                return local
        raise OptionError(
            f"start '{start}': clocks of {match['zone']} showed {first.isoformat()}; correct the "
            "distance from UTC, or leave it out"
        )
    if first.utcoffset() == second.utcoffset():
        return first
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        raise OptionError(f"start '{start}': clocks changed and left this time out; give another")
    raise OptionError(
        f"start '{start}': this time occurs twice, as clocks changed; write "
        f"{first.isoformat()} or {second.isoformat()} before the zone"
    )


def known_zone(name: str, where: str = "") -> ZoneInfo:
    """Return a time zone by its name; `where` begins the message if there is none."""
    zone = _zone(name)
    if zone is None:
        near = did_you_mean(name, sorted(available_timezones()))
        hint = near or "; give a name such as Europe/Berlin"
        raise OptionError(f"{where}time zone '{name}' is not known here{hint}")
    return zone


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None


def _header_number(header: Header | None, key: str) -> float | None:
    """Return the number at the beginning of a header's value; remarks may follow it."""
    words = ((header.get(key) if header is not None else None) or "").split()
    value = number(words[0]) if words else None
    if words and value is None:
        raise OptionError(f"log header: {key} '{words[0]}' is not a number; {START_HINT}")
    return value


def _time_zone(header: Header) -> tzinfo:
    """Return the time zone of a log, or its distance from UTC."""
    shift = _header_number(header, "TimeZone")
    name = header.get("TimeZoneString")
    if name:
        zone = _zone(name)
        if zone is not None:
            return zone
        # The number is only the winter time of the zone, but better than nothing.
        if shift is None:
            raise OptionError(f"log header: time zone '{name}' is not known here; {START_HINT}")
    return timezone(timedelta(seconds=shift or 0.0))


def timestamp(text: str) -> datetime | None:
    """Read an ISO 8601 timestamp; UTC where it has no offset."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
