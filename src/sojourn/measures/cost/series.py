"""Series of values over time, constant between their changes: read from a file, ended or repeated.

A series is known from its first value to the end of its last, which lasts as long as the one before
it. One value alone holds at all times.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import ClassVar, NamedTuple

import numpy as np

from ...arrays import Floats
from ...errors import LogError, OptionError
from ...files.access import read_text
from ._values import number, pieces
from .clock import START_HINT, Clock, timestamp

_HOUR = 3600.0
_TIMES = ("time", "time_s", "datetime", "datetime (utc)", "timestamp", "point_time", "from")
_UNIX = 1e9
"""s from which on a time is Unix time: no log lasts for 30 years."""
_LATEST = 2.5e11
"""Unix time (s) that is no date any more: the year 9892."""
_MOST = 20_000_000
"""Values beyond which a series that repeats is too short for a run."""
_REGULAR, _ENOUGH = 0.9, 8
"""Share of equal steps from which on a longer one is a gap, and the least number of steps."""
_SUMS = re.compile(r"job_(\d+)")
_LOCAL = "times without an offset are UTC: give local ones with theirs, such as +01:00"
_LONGEST = 120


class ValueColumn(NamedTuple):
    """A column of values in a file: its place, the currency it names, and what one of it is.

    `said` is its unit in words where its name does not have it.
    """

    place: int
    currency: str = ""
    unit: float = 1.0
    said: str = ""


class SeriesFile(NamedTuple):
    """What a file of a series holds: s of the log, values, the currency, whether it is dated.

    `column` is the name of the values in the file.
    """

    time: Floats
    value: Floats
    currency: str
    is_dated: bool
    column: str


class Wanted(NamedTuple):
    """What is looked for in a file.

    `header` is how it should begin, for messages; `column` finds the values among its names, in
    lower case; `least` is the least value that makes sense.
    """

    header: str
    column: Callable[[Sequence[str]], ValueColumn | None]
    least: float = -math.inf


class TimeSeries:
    """What prices and intensities share: a value from each time (s of the log) on."""

    time: Floats
    source: str
    repeats: bool
    clock: Clock | None
    _value: ClassVar[str]
    """Name of the field that has the values."""

    def __post_init__(self) -> None:
        time, value = pieces(self.source, self.time, getattr(self, self._value))
        object.__setattr__(self, "time", time)
        object.__setattr__(self, self._value, value)

    @property
    def span(self) -> tuple[float, float]:
        """From when to when it is known, in seconds of the log."""
        if self.repeats or len(self.time) == 1:
            return -math.inf, math.inf
        return float(self.time[0]), self._end

    @property
    def _end(self) -> float:
        return float(2 * self.time[-1] - self.time[-2])

    def over(self, first: float, last: float) -> tuple[Floats, Floats]:
        """Return times (s) and the value of a kWh from each on, over a stretch of the log.

        It is an error to ask beyond the span.
        """
        source, time, value = self.source, self.time, getattr(self, self._value)
        if len(time) == 1:
            return np.array([first]), value
        begin, end = float(time[0]), self._end
        if not self.repeats:
            if not begin <= first <= last <= end:
                shown = (self.clock or Clock()).shown
                raise OptionError(
                    f"{source}: known from {shown(begin)} to {shown(end)} of the log, but the run "
                    f"lasts from {shown(first)} to {shown(last)}; check when the log starts, give "
                    "a series that covers it, or let it repeat",
                    path=source,
                )
            return time, value
        period = end - begin
        early, late = (math.floor((at - begin) / period) for at in (first, last))
        if (late - early + 1) * len(time) > _MOST:
            raise OptionError(
                f"{source}: would repeat {late - early + 1:,} times from {first:.15g} s to "
                f"{last:.15g} s; give a longer series",
                path=source,
            )
        turns = np.arange(early, late + 1)
        times = (turns[:, None] * period + time[None, :]).reshape(-1)
        return times, np.tile(value, len(turns))


def read_series(path: str | os.PathLike[str], clock: Clock | None, wanted: Wanted) -> SeriesFile:
    """Read a series of values: CSV with a header, a column of times and one of values.

    Parameters
    ----------
    path : the file, packed by gzip or xz if it likes, with commas or tabs between its columns, or
        with semicolons, and then maybe decimal commas. Times are seconds of the log, Unix time, or
        ISO 8601 timestamps (UTC where they have no offset), one kind throughout, increasing.
        Without a column of times, values are hourly from second 0 on.
    clock : which moment second 0 of the log is; needed for timestamps.
    wanted : which values.
    """
    lines_of_text = read_text(path).splitlines()
    # Semicolons are written where a comma is the decimal point.
    first_line = lines_of_text[0] if lines_of_text else ""
    by_semicolons = ";" in first_line and "," not in first_line
    by_tabs = "\t" in first_line and "," not in first_line
    rows = csv.reader(lines_of_text, delimiter=";" if by_semicolons else "\t" if by_tabs else ",")

    def wrong(problem: object, field: str | None = None, line: int = 0) -> OptionError:
        text = LogError(path, str(problem), line=line or rows.line_num or 1, field=field)
        return OptionError(str(text), path=path)

    times: list[float] = []
    values: list[float] = []
    lines: list[int] = []
    dated = False
    hint = ""
    try:
        titles = [name.strip() for name in next(rows, [])]
        names = [name.lower() for name in titles]
        column = wanted.column(names)
        at = next((names.index(name) for name in _TIMES if name in names), -1)
        if column is None or (at < 0 and names[column.place] != "slack_0"):
            has = f", and is {','.join(titles)[:_LONGEST]}" if titles else ""
            no_times = "; no column is called time" if column is not None and titles else ""
            raise wrong(f"the header must be {wanted.header}{has}{no_times}")
        name = names[column.place]
        if name == "slack_0":
            _check_single_hours(path, wrong)
        for row in filter(None, rows):
            if len(row) != len(names):
                raise wrong(f"{len(row)} fields; give {','.join(names)}")
            text = row[at] if at >= 0 else f"{_HOUR * len(times)}"
            second, moment, value = number(text), timestamp(text), number(row[column.place])
            if by_semicolons and value is None:
                value = number(row[column.place].replace(",", "."))
            # The first row says what all times are.
            unix = not times or dated
            if unix and second is not None and _UNIX <= second < _LATEST:
                moment = datetime.fromtimestamp(second, UTC)
                second = None
            if not times:
                dated = second is None and moment is not None
                if (
                    dated
                    and number(text) is None
                    and datetime.fromisoformat(text.strip()).tzinfo is None
                ):
                    hint = f"; {_LOCAL}"
                if dated and (clock is None or not clock.known):
                    raise wrong(f"the log does not say when it begins; {START_HINT}", names[at])
            if dated and clock is not None:
                second = None if moment is None else (moment - clock.start).total_seconds()
            if second is None or not math.isfinite(second):
                kind = "not a number of seconds as those above"
                if dated or not times:
                    kind = "no time such as 2022-01-31T13:00+01:00"
                    kind += "" if dated else ", and no number of seconds"
                raise wrong(f"'{text[:40]}' is {kind}", names[at])
            if times and second <= times[-1]:
                raise wrong(
                    f"'{text[:40]}' is not after the row above; sort rows by time{hint}", names[at]
                )
            if value is None or not wanted.least <= value < math.inf or value == -math.inf:
                least = f" of at least {wanted.least:g}" if wanted.least > -math.inf else ""
                raise wrong(f"'{row[column.place][:40]}' is not a number{least}", name)
            times.append(second)
            values.append(value * column.unit)
            lines.append(rows.line_num)
    except csv.Error as error:
        raise wrong(error) from None
    time = np.array(times)
    gap = _gap_in(time)
    if gap is not None:
        usual, there = gap[1], time[gap[0] + 1] - time[gap[0]]
        problem = f"a gap: {there:g} s after the row above, where steps take {usual:g} s; fill it"
        problem += hint
        raise wrong(problem, names[at], line=lines[gap[0] + 1])
    name = titles[column.place] + column.said
    return SeriesFile(time, np.array(values), column.currency, dated, name)


def _check_single_hours(path: str | os.PathLike[str], wrong: type | object) -> None:
    """Raise for a table of shifted jobs of several hours: its values are sums."""
    hours = _SUMS.search(os.path.basename(os.fspath(path)))
    if hours is not None and int(hours[1]) != 1:
        problem = f"slack_0 has sums over {hours[1]} hours; give the table of jobs of 1 hour"
        raise wrong(problem, "slack_0")  # type: ignore[operator]


def _gap_in(time: Floats) -> tuple[int, float] | None:
    """Return after which value a regular series has a gap, and its usual step (s)."""
    steps = np.diff(time)
    if len(steps) < _ENOUGH:
        return None
    usual, count = Counter(np.round(steps, 6).tolist()).most_common(1)[0]
    longer = np.flatnonzero(steps > 1.5 * usual)
    if count < _REGULAR * len(steps) or not len(longer):
        return None
    return int(longer[0]), float(usual)
