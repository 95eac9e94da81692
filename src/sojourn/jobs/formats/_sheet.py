"""Somebody's table on its way to jobs: the chosen columns, read by what they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...errors import InputError, LogError
from ..header import numbered, without_keys
from ..report import CleaningReport, Finding, noted
from ..schema import LABEL, MISSING, NAMED, SCHEMA, distinct, seconds, unix
from ..table import Jobs
from . import _values as values
from ._columns import (
    IN_FRACTIONS,
    INSTANTS,
    LATEST,
    Choice,
    Note,
    assemble,
    listed,
    names_other_unit,
)
from ._values import (
    A_SIZE,
    LONGEST_NAME,
    SIZES,
    FurtherColumn,
    Unreadable,
    as_word,
    finite,
    is_number,
    is_size,
    parsed,
    reads,
    refuse,
    refuse_steps,
    sizes_of,
    texts,
)
from .clock import LogClock

Raw = Sequence[str] | NDArray[Any]

KNOWN = (*SCHEMA, LABEL, "interarrival", "start", "end")
"""Columns of a table that have a meaning here; others are further ones."""

_WORDS = (*NAMED, "status", *SIZES)
# Others keep lists of names, or names, in columns called like these.
_MAY_BE_TEXT = (
    *("job", "nodes", "gpus", "executable", "preceding"),
    *("cores_per_node", "whole_node", "begin"),
)
# What decides about a schedule is never left aside.
_ESSENTIAL = (
    *("submit", "interarrival", "start", "end", "wait", "runtime", "work", "estimate"),
    *("procs", "requested", "allocated"),
)
# A job without it has no place in the stream.
_ALWAYS = ("submit", "interarrival")


class Sheet:
    """The columns of a table, taken up part by part; `timezone` is that of dates that name none."""

    def __init__(self, choice: Choice, timezone: str | None = None) -> None:
        self.choice = choice
        self._clock = LogClock(timezone)
        self._parts: dict[str, list[NDArray[Any]]] = {
            ours: [] for ours in choice.columns if ours in KNOWN
        }
        self._further = {
            ours: FurtherColumn(ours, is_mapped=ours in choice.mapped)
            for ours in choice.columns
            if ours not in KNOWN
        }
        self._dated: dict[str, bool] = {}
        self._words: dict[str, dict[str, int]] = {}
        self._seen: dict[str, dict[str, int]] = {}
        self._aside: dict[str, str] = {}
        self._jobs_are_named = False

    def __len__(self) -> int:
        return max((sum(map(len, parts)) for parts in self._parts.values()), default=0)

    def add(self, ours: str, cells: Raw, places: Ints | None = None) -> None:
        """Take up the next values of one column: texts, or an array of NumPy.

        With `places`, `cells` are the different values and `places` which of them is in which row.
        Raises Unreadable at the first value that the column cannot hold.
        """
        self.add_from(ours, lambda field: (cells, None), places)

    def add_from(
        self,
        ours: str,
        get: Callable[[str], tuple[Raw, tzinfo | None]],
        places: Ints | None = None,
    ) -> None:
        """Take up the next values of one column as `add` does, from a function of its name.

        The function returns dates of NumPy with the time zone on whose clock they are, if they
        have one.
        """
        if ours in self._aside:
            return
        if ours == "job" and self._jobs_are_named:
            ours = LABEL
        cells: Raw = ()
        try:
            cells, zone = get(ours)
            if ours in self._further:
                self._further[ours].add(cells, places)
                return
            if self._jobs_are_named and ours == LABEL:
                refuse_steps(list(cells))
            read = self._read(ours, cells, zone)
            if ours in _ALWAYS and (gaps := np.flatnonzero(np.isnan(read))).size:
                refuse(int(gaps[0]), ours, "nothing", values.DATE)
            self._parts[ours].append(_spread(read, places))
        except Unreadable as error:
            is_type = error.row is None and ours not in _ESSENTIAL
            is_ours = ours not in self._further and ours not in _MAY_BE_TEXT
            if (is_ours and not is_type) or ours in self.choice.mapped:
                raise
            if ours == "job" and not isinstance(cells, np.ndarray):
                refuse_steps(cells)
                self._name_jobs(cells, places)
            else:
                self._aside[ours] = error.problem

    def _name_jobs(self, cells: Sequence[str], places: Ints | None) -> None:
        """Take the numbers of jobs so far, and these texts, as the names of jobs."""
        numbers = self._parts.pop("job")
        if LABEL in self._parts or max(map(len, cells)) > LONGEST_NAME:
            self._aside["job"] = "names"
            return
        self._jobs_are_named = True
        self._parts[LABEL] = [*(part.astype(np.str_).astype(object) for part in numbers)]
        self._parts[LABEL].append(_spread(texts(cells), places))

    def _read(self, ours: str, cells: Raw, zone: tzinfo | None) -> NDArray[Any]:
        if isinstance(cells, np.ndarray) and ours != LABEL:
            if cells.dtype.kind in "Mm":
                return self._times(ours, cells, zone)
            if cells.dtype.kind in "iufb":
                return self._numbers(ours, cells)
        if isinstance(cells, np.ndarray):
            cells = ["" if cell is None else str(cell) for cell in cells.tolist()]
        if ours == LABEL:
            return texts(cells)
        if ours in _WORDS:
            return self._coded(ours, cells)
        if ours in INSTANTS:
            return self._instants(ours, cells)
        if ours == "whole_node":
            return parsed(ours, cells, values.flag, values.FLAG)
        if not is_real(ours):
            return parsed(ours, cells, values.whole, values.WHOLE)
        return parsed(ours, cells, values.span, values.SPAN)

    def _numbers(self, ours: str, cells: NDArray[Any]) -> NDArray[Any]:
        if ours in INSTANTS and not np.isnan(cells).all():
            self._is_dated(ours, False)
        if ours in _WORDS:
            finite(ours, cells)
            unique, places = (
                distinct(cells.astype(np.int64, copy=False))
                if cells.dtype.kind in "ib"
                else np.unique(cells, return_inverse=True)
            )
            return self._coded(ours, [as_word(cell) for cell in unique.tolist()])[places]
        if is_real(ours):
            return finite(ours, cells)
        if cells.dtype.kind == "f":
            cells = np.where(np.isnan(cells), MISSING, finite(ours, cells))
            bad = np.flatnonzero((cells != np.trunc(cells)) | (np.abs(cells) >= 2.0**63))
        else:
            bad = np.flatnonzero(cells > np.iinfo(np.int64).max)
        if bad.size:
            refuse(int(bad[0]), ours, str(cells[bad[0]]), values.WHOLE)
        return cells.astype(np.int64, copy=False)

    def _times(self, ours: str, cells: NDArray[Any], zone: tzinfo | None) -> Floats:
        dates = cells.dtype.kind == "M"
        if not (ours in INSTANTS or (not dates and is_real(ours))):
            what = "dates" if dates else "lengths of time"
            raise Unreadable(None, ours, f"holds {what}; map another column to it")
        if ours in INSTANTS and not np.isnat(cells).all():
            self._is_dated(ours, dates)
        try:
            self._clock.has_local |= dates and zone is None
            return unix(cells, zone or self._clock.zone) if dates else seconds(cells)
        except (ValueError, OverflowError) as error:
            problem = f"holds times that no calendar has ({error}); correct them"
            raise Unreadable(None, ours, problem) from None

    def _coded(self, ours: str, words: Sequence[str]) -> Ints:
        codes = self._words.setdefault(ours, {})
        seen = self._seen.setdefault(ours, {})
        for row, word in enumerate(words):
            if word in seen:
                continue
            # A name must fit into the line of a header.
            plain = " ".join(word.split())
            if ours in SIZES and not is_size(plain):
                refuse(row, ours, repr(word[:40]), A_SIZE)
            seen[word] = codes.setdefault(plain, len(codes))
        return np.array([seen[word] for word in words], np.int64)

    def _instants(self, ours: str, cells: Sequence[str]) -> Floats:
        try:
            read = np.array([values.number(cell) for cell in cells], np.float64)
            dated = False
        except ValueError:
            read = self._dates(ours, cells)
            dated = True
        if not np.isnan(read).all():
            self._is_dated(ours, dated)
        return read

    def _dates(self, ours: str, cells: Sequence[str]) -> Floats:
        date = values.date(self._clock)
        try:
            return np.array([date(cell) for cell in cells], np.float64)
        except (ValueError, OverflowError):
            neither = [not is_number(cell) and not reads(date, cell) for cell in cells]
        row = neither.index(True) if True in neither else [*map(is_number, cells)].index(True)
        refuse(row, ours, repr(cells[row][:40]), values.DATE)

    def _is_dated(self, ours: str, dated: bool) -> None:
        if self._dated.setdefault(ours, dated) is not dated:
            raise Unreadable(0, ours, "dates and numbers in one column; write all as dates")

    def jobs(self, *, source: str = "", header: Sequence[str] = ()) -> Jobs:
        """Return the jobs of all that was taken up."""
        columns: dict[str, Any] = {
            ours: parts[0] if len(parts) == 1 else np.concatenate(parts)
            for ours, parts in self._parts.items()
            if ours not in self._aside
        }
        lines = self._from_first_submit(columns)
        findings = self._said()
        if "begin" in columns and self.choice.columns["begin"] != "begin":
            # What others call eligible is the submit itself where nothing held a job back.
            later = columns["begin"] > columns["submit"]
            columns["begin"] = np.where(later, columns["begin"], np.nan)
        columns, notes = assemble(columns)
        for name in NAMED:
            if name in columns:
                numbers, said = _names(name, list(self._words[name]))
                lines.extend(said)
                columns[name] = numbers[columns[name]]
        if "status" in columns:
            states = np.array([values.status(word) for word in self._words["status"]])
            columns["status"] = states[columns["status"]]
        notes += self._measured(columns)
        for name, further in self._further.items():
            if name not in self._aside:
                columns[name], said = further.column()
                lines.extend(said)
        if LABEL in columns:
            columns[LABEL] = columns[LABEL].astype(np.str_)
        for name, column in columns.items():
            if name in SCHEMA and SCHEMA[name].kind == "f" and np.isnan(column).any():
                columns[name] = np.where(np.isnan(column), float(MISSING), column)
        jobs = Jobs(columns, header=[*without_keys(header, lines), *lines], source=source)
        for rule, action, what, hit in notes:
            findings += noted(rule, action, what, jobs.job[hit])
        return jobs.replace(report=CleaningReport(source, len(jobs), len(jobs), tuple(findings)))

    def _from_first_submit(self, columns: dict[str, Any]) -> list[str]:
        """Let dates count from the first submit; return the line of a header with it."""
        kinds = {
            name: self._dated[name] for name in INSTANTS if name in {*self._dated} & {*columns}
        }
        in_submit = kinds.get("submit")
        if "begin" not in self.choice.mapped and kinds.get("begin", in_submit) is not in_submit:
            self._aside["begin"] = "another way to write instants than that of submit"
            del columns["begin"], kinds["begin"]
        for name, dated in kinds.items():
            if dated is not kinds.get("submit", dated):
                what = "dates" if dated else "numbers"
                problem = f"holds {what}, and 'submit' does not; write both in the same way"
                raise Unreadable(None, name, problem)
        if not kinds.get("submit"):  # Also where there is no job.
            self._refuse_fractions(columns)
            for name in ("start", "end"):
                if name in columns:  # -1 is unknown here, as everywhere.
                    columns[name] = np.where(columns[name] < 0, np.nan, columns[name])
            return []
        origin = np.floor(columns["submit"].min())
        for name in kinds:
            columns[name] = columns[name] - origin
        clock = self._clock.header() if self._clock.has_local else []
        return [f"UnixStartTime: {int(origin)}", *clock]

    def _refuse_fractions(self, columns: dict[str, Any]) -> None:
        """Raise Unreadable for instants that no clock shows in seconds."""
        for name in INSTANTS:
            if name in columns and self.choice.columns[name] != name:
                known = columns[name][columns[name] >= 0]
                if known.size and np.median(known) > LATEST:
                    raise Unreadable(None, name, f"{known[0]:.0f} {IN_FRACTIONS}")

    def _measured(self, columns: dict[str, Any]) -> list[Note]:
        """Let amounts of memory be KB per processor, or per node; return what is not known."""
        notes: list[Note] = []
        nodes = columns.get("nodes", np.full(len(columns["submit"]), MISSING))
        for name in [name for name in SIZES if name in columns]:
            theirs = self.choice.columns[name]
            # Only a column called as ours is surely in our unit.
            in_ours = theirs == name or name in self.choice.mapped
            sizes = sizes_of(
                name, list(self._words[name]), columns[name], theirs=theirs, in_ours=in_ours
            )
            procs = columns["procs"]
            if name == "memory_per_node":
                columns[name] = sizes.size
            else:
                columns[name] = sizes.per_processor(nodes, procs)
            if name == "memory" and "memory_per_node" not in columns:
                known = sizes.per_node(nodes, procs)
                if np.isfinite(known).any():
                    columns["memory_per_node"] = known
            notes.append(("no-unit", "keep", f"{name} without a unit: unknown", sizes.bare))
        return notes

    def _guessed(self) -> dict[str, str]:
        """What was taken from columns of other names; texts of jobs are their names."""
        guessed = self.choice.guessed
        if self._jobs_are_named:
            guessed.pop("job", None)
            guessed = {LABEL: self.choice.columns["job"], **guessed}
        return guessed

    def _said(self) -> list[Finding]:
        """What was taken from which column, where nobody named all of them, and what was not."""
        choice = self.choice
        others = [
            _one_line(theirs[:40])
            for ours, theirs in choice.columns.items()
            if is_real(ours) and ours != LABEL and names_other_unit(theirs)
        ]
        taken = [
            f"{ours} from {_one_line(theirs[:40])}"
            for ours, theirs in self._guessed().items()
            if ours not in self._aside
        ]
        unused = [choice.columns[name] for name in self._aside]
        if not choice.is_mapped:
            unused += choice.unused
        parts = [", ".join(taken)] if taken else []
        further = [name for name in self._further if name not in {*choice.mapped, *self._aside}]
        if further:
            parts.append(f"as they are: {listed(further, _one_line)}")
        if unused:
            parts.append(f"not used: {listed(unused, _one_line)}")
        count = len(choice.columns) - len(self._aside)
        said = [Finding("columns", "keep", "; ".join(parts), count, unit="column")] if parts else []
        if others:
            what = f"{', '.join(others)}: plain numbers in it are taken as seconds"
            said.append(Finding("units", "keep", what, len(others), unit="column"))
        return said


def finished(sheet: Sheet, path: str | os.PathLike[str], **said: Any) -> Jobs:
    """Return the jobs of a sheet that came from a file; `said` as in `Sheet.jobs`."""
    try:
        return sheet.jobs(**said)
    except Unreadable as error:
        raise LogError(path, error.problem, field=error.field) from None
    except InputError as error:
        raise LogError(path, str(error)) from None


def is_real(ours: str) -> bool:
    """Whether a column holds real numbers; those that `SCHEMA` does not have are times."""
    return ours not in SCHEMA or (SCHEMA[ours].kind == "f" and ours not in SIZES)


def _spread(values: NDArray[Any], places: Ints | None) -> NDArray[Any]:
    return values if places is None else values[places]


def _one_line(name: str) -> str:
    plain = " ".join(name.split())
    return plain if plain and plain.isprintable() else repr(name)


def _names(column: str, words: Sequence[str]) -> tuple[Ints, list[str]]:
    try:
        return np.array([values.whole(word) for word in words], np.int64), []
    except (ValueError, OverflowError):
        return numbered(column, ["" if values.is_unknown(word) else word for word in words])
