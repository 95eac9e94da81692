"""Jobs from data frames: of pandas, or of any library that gives its columns to Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ...errors import OptionError
from ..names import AS_NUMBERS
from ..table import Jobs
from ._arrow import cells_of, cells_of_series
from ._cells import Unreadable
from ._columns import choose
from ._sheet import Sheet

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame_of", "jobs_of"]

_NO_FRAME = "a {} is no data frame; give one of pandas, or Jobs of its columns"


def jobs_of(frame: Any, mapping: Mapping[str, str] | None, timezone: str | None) -> Jobs:
    """Return the jobs of a data frame; see `Jobs.from_pandas`."""
    names, column = _columns(frame)
    choice = choose(names, mapping, "the frame")
    sheet = Sheet(choice, timezone)
    try:
        for ours, theirs in choice.columns.items():
            sheet.add_from(ours, partial(column, names.index(theirs)))
        return sheet.jobs(header=_header(frame))
    except Unreadable as error:
        row = "" if error.row is None else f", row {error.row}"
        raise OptionError(f"the frame, field '{error.field}'{row}: {error.problem}") from None


def frame_of(jobs: Jobs, columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Return the stored columns of jobs as a data frame; see `Jobs.to_pandas`."""
    import pandas as pd

    made: dict[str, Any] = dict(columns)
    for name in jobs.named:
        if name not in AS_NUMBERS:
            codes, names = jobs.coded(name)
            made[name] = pd.Categorical.from_codes(codes, categories=pd.Index(names, dtype=str))
    frame = pd.DataFrame(made)
    if jobs.header:
        frame.attrs["header"] = list(jobs.header)
    return frame


def _header(frame: Any) -> list[str]:
    """Return the header that `frame_of` left with a frame, if it did."""
    lines = getattr(frame, "attrs", {}).get("header", [])
    is_header = isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    return lines if is_header else []


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
