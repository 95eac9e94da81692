"""Jobs from data frames: of pandas, or of any library that gives its columns to Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ..errors import OptionError
from ._arrow import cells_of, cells_of_series
from ._cells import Unreadable
from ._columns import choose
from ._sheet import Sheet
from .jobs import Jobs

__all__ = ["jobs_of"]

_NO_FRAME = "a {} is no data frame; give one of pandas, or Jobs of its columns"


def jobs_of(frame: Any, mapping: Mapping[str, str] | None, timezone: str | None) -> Jobs:
    """Return the jobs of a data frame; see `Jobs.from_pandas`."""
    names, column = _columns(frame)
    choice = choose(names, mapping, "the frame")
    sheet = Sheet(choice, timezone)
    try:
        for ours, theirs in choice.columns.items():
            sheet.add_from(ours, partial(column, names.index(theirs)))
        return sheet.jobs()
    except Unreadable as error:
        row = "" if error.row is None else f", row {error.row}"
        raise OptionError(f"the frame, field '{error.field}'{row}: {error.problem}") from None


def _columns(frame: Any) -> tuple[list[str], Any]:
    """Return the names of a frame's columns, and a function of a place that reads one."""
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        if frame.columns.nlevels > 1:
            raise OptionError("the frame has column names of several levels; give it plain ones")
        names = [str(name) for name in frame.columns]
        return names, lambda place, field: cells_of_series(frame.iloc[:, place], field)
    if hasattr(frame, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            table = pa.table(frame)
        except (pa.ArrowException, TypeError, ValueError):
            raise OptionError(_NO_FRAME.format(type(frame).__name__)) from None
        return list(table.column_names), lambda place, field: cells_of(table.column(place), field)
    raise OptionError(_NO_FRAME.format(type(frame).__name__))
