"""Results of classes of jobs: by user, partition, width and so on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ...measures.registry import get as measure
from .layout import HOUR, as_number, new_table

__all__ = ["show_classes", "show_compared_classes", "show_log_classes"]

_PRINTED = 20
_MEASURES = ("wait_mean", "wait_median", "wait_p95", "bounded_slowdown_mean")

Rows = Sequence[Mapping[str, Any]]


def show_classes(console: Console, tables: Mapping[str, Rows]) -> None:
    """Print one table of a run for each way to class its jobs, the largest classes first.

    `tables` has rows as in the ``classes`` of a summary, by what jobs are classed by.
    """
    for by, every in tables.items():
        energy = any("energy" in row for row in every)
        heads = (measure(name).column("h") for name in _MEASURES)
        power = [measure("energy_kwh").column("kWh")] if energy else []
        table = new_table(f"{_heading(by)}\n", "\njobs", "processor\ntime", *heads, *power)
        rows = _in_order(by, every)
        for row in rows[:_PRINTED]:
            table.add_row(
                Text(str(row["class"])),
                f"{row['jobs']:,}",
                _percent(row["share"]),
                *(_hours(row[f"{which}_wait"]) for which in ("mean", "median", "p95")),
                as_number(row["mean_bounded_slowdown"]),
                *([as_number(row["energy"] / 3.6e6)] if energy else []),
            )
        console.print()
        console.print(table)
        _show_rest(console, rows)


def show_compared_classes(console: Console, tables: Mapping[str, Rows]) -> None:
    """Print the mean waits of each class under each run of a comparison, the best marked.

    `tables` has rows as of `show_classes`, each with its ``run``.
    """
    for by, every in tables.items():
        runs = list(dict.fromkeys(str(row["run"]) for row in every))
        waits = {(str(row["run"]), row["class"]): float(row["mean_wait"]) for row in every}
        rows = _in_order(by, [row for row in every if row["run"] == runs[0]])
        table = new_table(f"{_heading(by)}\n", "\njobs", *(f"{run}\nmean wait h" for run in runs))
        for row in rows[:_PRINTED]:
            mine = [waits.get((run, row["class"]), math.nan) for run in runs]
            known = [wait for wait in mine if wait == wait]
            best = min(known) if known and min(known) < max(known) else None
            table.add_row(
                Text(str(row["class"])),
                f"{row['jobs']:,}",
                *(
                    Text(_hours(wait) + ("*" if wait == best else " "),
                         style="bold green" if wait == best else "")
                    for wait in mine
                ),
            )  # fmt: skip
        console.print()
        console.print(table)
        _show_rest(console, rows)


def show_log_classes(console: Console, tables: Mapping[str, Rows]) -> None:
    """Print what the jobs of each class of a log are like, the largest classes first."""
    for by, every in tables.items():
        table = new_table(
            f"{_heading(by)}\n", "\njobs", "processor-\nhours", "of all\nhours", "mean\nwidth",
            "mean\nruntime h", "median\nruntime h", "mean\nwait h",
        )  # fmt: skip
        rows = _in_order(by, every)
        for row in rows[:_PRINTED]:
            table.add_row(
                Text(str(row["class"])),
                f"{row['jobs']:,}",
                as_number(row["processor_hours"]),
                _percent(row["share"]),
                as_number(row["mean_width"]),
                *(_hours(row[key]) for key in ("mean_runtime", "median_runtime", "mean_wait")),
            )
        console.print()
        console.print(table)
        _show_rest(console, rows)


def _heading(by: str) -> str:
    return "processors" if by == "width" else by


def _in_order(by: str, rows: Rows) -> Rows:
    """Classes with most processor time first; widths from narrow to wide."""
    return rows if by == "width" else sorted(rows, key=lambda row: -_known(row["share"]))


def _known(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if math.isfinite(share) else "-"


def _hours(seconds: float) -> str:
    return as_number(seconds / HOUR)


def _show_rest(console: Console, rows: Rows) -> None:
    rest = len(rows) - _PRINTED
    if rest > 0:
        console.print(Text(f"and {rest:,} more; --json has all", style="dim"))
