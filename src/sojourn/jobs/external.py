"""External events for a run: what users, jobs and machines will do to it.

A table of comma-separated values with a line of column names: ``time`` and ``kind``, and of the
others those that the kind takes.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..errors import InputError, LogError, OptionError, did_you_mean
from ..files.access import read_log_text

_WHOLE = ("job", "procs")


class ExternalEvent(NamedTuple):
    """One event; what its kind does not take is None, or empty.

    Parameters
    ----------
    kind : ``cancel`` or ``kill`` a job, which ends it where it is, waiting or running; ``early``:
        it ends by itself after so much of its own runtime; ``down`` and ``up``: processors or nodes
        fail, or leave, and return; ``stop`` and ``resume``: the manager; ``reserve``: processors or
        nodes are kept free.
    time : s, on the clock of the jobs; where a reservation begins.
    job : number in the log. A ``down`` of a job is the failure of some node of it.
    procs : how many processors, where they are only counted.
    nodes : names, or patterns such as ``rack3-*``, where they have names.
    until : s; a ``down`` is followed by an ``up`` then, a ``stop`` by a ``resume``.
    announced : s; when a reservation becomes known; by default from the beginning.
    runtime : s, of an ``early`` end.
    line : of the file, or place in the list, counted from 1.
    """

    kind: str
    time: float
    job: int | None = None
    procs: int | None = None
    nodes: tuple[str, ...] = ()
    until: float | None = None
    announced: float | None = None
    runtime: float | None = None
    line: int = 0


@dataclass(frozen=True)
class ExternalEvents:
    """External events in the order in which they were given.

    Parameters
    ----------
    rows : the events.
    source : the file they are from; empty if they are from a program.

    Examples
    --------
    >>> events = ExternalEvents.of([{"time": 60, "kind": "down", "procs": 4, "until": 120}])
    >>> events.rows[0].until
    120.0
    """

    rows: tuple[ExternalEvent, ...]
    source: str = ""

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> ExternalEvents:
        """Make events of dictionaries with the columns of such a file as keys."""
        given = [(i, dict(row)) for i, row in enumerate(rows, 1)]
        for _, row in given:
            nodes = row.get("nodes")
            if nodes is not None and not isinstance(nodes, str):
                row["nodes"] = " ".join(nodes)
        return cls(tuple(_event(i, row, partial(_error, "", i)) for i, row in given))

    def __len__(self) -> int:
        return len(self.rows)

    def error(self, event: ExternalEvent, field: str, problem: str) -> InputError:
        """Return the error that names an event's place and field."""
        return _error(self.source, event.line, field, problem)


def _error(source: str, line: int, field: str, problem: str) -> InputError:
    """Return the error of a row of a file, or of a list from a program."""
    if source:
        return LogError(source, problem, line=line, field=field)
    return OptionError(f"events, row {line}, field '{field}': {problem}")


def is_external(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table of external events, and not a log: it has their columns."""
    from .log import format_of

    if format_of(path) not in ("csv", "swf"):
        return False
    text = read_log_text(path, kind="table", wanted="a table with a line of column names")
    first = next(
        (line for line in text.split("\n") if line.strip() and not line.startswith("#")), ""
    )
    return "kind" in [name.strip() for name in first.split(",")]


def read_external(path: str | os.PathLike[str]) -> ExternalEvents:
    """Read external events from a table of comma-separated values.

    Parameters
    ----------
    path : the table, plain or packed with gzip or xz; its first line names the columns. Empty
        lines and lines that begin with ``#`` are passed over.
    """
    text = read_log_text(path, kind="table", wanted="a table with a line of column names")
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    names: list[str] = []
    made = []
    try:
        for cells in reader:
            line = reader.line_num
            if not any(cells) or cells[0].startswith("#"):
                continue
            if not names:
                names = [name.strip() for name in cells]
                _check_names(path, names, line)
                continue
            if len(cells) != len(names):
                raise LogError(
                    path,
                    f"{len(cells)} columns where the first line names {len(names)}; correct the "
                    "line",
                    line=line,
                )
            row = dict(zip(names, cells, strict=True))
            made.append(_event(line, row, partial(_error, str(path), line)))
    except csv.Error as error:
        raise LogError(
            path, f"is not a table ({error}); correct the line", line=reader.line_num
        ) from None
    return ExternalEvents(tuple(made), str(path))


def _check_names(path: str | os.PathLike[str], names: Sequence[str], line: int) -> None:
    known = ExternalEvent._fields[:-1]
    for name in names:
        if name not in known:
            near = did_you_mean(name, known) or f"; the columns are {', '.join(known)}"
            raise LogError(path, f"no column is called '{name}'{near}", line=line)
        if names.count(name) > 1:
            raise LogError(path, f"column '{name}' is there twice; leave one", line=line)
    for name in ("time", "kind"):
        if name not in names:
            raise LogError(path, f"no column '{name}'; name the columns first", line=line)


def _event(
    line: int, row: Mapping[str, Any], error: Callable[[str, str], InputError]
) -> ExternalEvent:
    """One row, checked: every value, and that its kind takes and has what it needs."""
    given = {
        name: value.strip() if isinstance(value, str) else value
        for name, value in row.items()
        if value is not None and not (isinstance(value, str) and not value.strip())
    }
    known = ExternalEvent._fields[:-1]
    for name in given:
        if name not in known:
            near = did_you_mean(str(name), known) or f"; the fields are {', '.join(known)}"
            raise error(str(name), f"is unknown{near}")
    # What a kind takes stands with what it does.
    from ..engine.happenings import KINDS

    kind = str(given.pop("kind", "")).lower()
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS) or f"; the kinds are {', '.join(KINDS)}"
        raise error("kind", f"'{kind}' is no event{near}")
    one_of, takes, needs = KINDS[kind].about, KINDS[kind].takes, KINDS[kind].needs
    if len(one_of) == 1:
        needs = (*one_of, *needs)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in ("time", *one_of, *takes):
            raise error(name, f"'{kind}' takes no {name}; leave it empty")
        values[name] = _value(name, value, error)
    for name in needs:
        if name not in values:
            raise error(name, f"'{kind}' needs it; fill it in")
    # How long a job runs does not depend on when.
    time = values.pop("time", math.nan)
    if math.isnan(time) and kind != "early":
        raise error("time", f"'{kind}' needs it; fill it in")
    about = [name for name in ("job", "procs", "nodes") if name in values]
    if one_of and len(about) != 1:
        wanted = [name for name in ("procs", "nodes", "job") if name in one_of]
        raise error(about[-1] if about else "procs", f"'{kind}' needs one of {', '.join(wanted)}")
    if values.get("until", math.inf) <= time:
        raise error("until", f"{values['until']:g} s is not after {time:g} s; correct one of them")
    if "job" in values and "until" in values:
        raise error("until", "the nodes of a job are not known beforehand; leave it empty")
    return ExternalEvent(kind=kind, time=time, **values, line=line)


def _value(name: str, value: Any, error: Callable[[str, str], InputError]) -> Any:
    if name == "nodes":
        return tuple(str(value).replace(";", " ").split())
    kind = "a whole number" if name in _WHOLE else "a number"
    try:
        number = float(value)
        if not math.isfinite(number) or (name in _WHOLE and not number.is_integer()):
            raise ValueError
    except (TypeError, ValueError):
        raise error(name, f"'{str(value)[:40]}' is not {kind}; correct it") from None
    if name == "procs" and number < 1:
        raise error(name, "give at least 1 processor")
    if name == "runtime" and number < 0:
        raise error(name, "a runtime is not negative; correct it")
    if name in _WHOLE:
        return int(number)
    return number
