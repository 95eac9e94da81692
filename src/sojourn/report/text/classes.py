"""Results of classes of jobs: by user, partition, width and so on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rich.text import Text

from ...measures.registry import get as measure
from .layout import HOUR, Terminal, as_number, new_table

_PRINTED = 20
_MEASURES = ("wait_mean", "wait_median", "wait_p95", "bounded_slowdown_mean")
_SPENT = {"cost": "\ncost", "carbon": "CO2\nkg"}
"""Columns of what the energy of a class costs, where that is known."""

LEDGER = {
    "busy_energy": "busy",
    "lost_energy": "of it lost",
    "idle_energy": "idle",
    "entering_energy": "to sleep",
    "sleep_energy": "asleep",
    "leaving_energy": "booting",
    "failed_energy": "failed",
    "energy": "all",
}
"""Causes of energy in the order of tables, and their words."""

Row = Mapping[str, Any]
Rows = Sequence[Row]


def show_classes(console: Terminal, tables: Mapping[str, Rows]) -> None:
    """Print one table of a run for each way to class its jobs, the largest classes first.

    `tables` has rows as in the ``classes`` of a summary, by what jobs are classed by.
    """
    for by, rows in tables.items():
        heads = [measure(name).column("h") for name in _MEASURES]
        if any("energy" in row for row in rows):
            heads.append(measure("energy_kwh").column("kWh"))
        heads += [head for name, head in _SPENT.items() if any(name in row for row in rows)]
        _show(console, by, rows, ["processor\ntime", *heads], _of_run)


def show_ledgers(console: Terminal, tables: Mapping[str, Rows]) -> None:
    """Print where the energy went, by cause, where it went to more than jobs and idle processors.

    `tables` has rows as in the ``ledger`` of a summary.
    """
    for by, rows in tables.items():
        causes = [name for name in LEDGER if any(row.get(name) for row in rows)]
        by_nodes = any(row["idle_energy"] and row["busy_energy"] for row in rows)
        if not by_nodes and set(causes) <= {"busy_energy", "idle_energy", "energy"}:
            continue
        spent = [name for name in _SPENT if any(name in row for row in rows)]
        heads = [*(f"{LEDGER[name]}\nkWh" for name in causes), *(_SPENT[name] for name in spent)]
        table = new_table(f"{'processors' if by == 'width' else by}\n", *heads)
        largest = sorted(rows, key=lambda row: -row["energy"])
        for row in largest[:_PRINTED]:
            values = [row[name] / 3.6e6 for name in causes]
            values += [row[name] / (1000 if name == "carbon" else 1) for name in spent]
            table.add_row(str(row["class"]), *map(as_number, values))
        console.below(table)
        if len(rows) > _PRINTED:
            console.note(f"and {len(rows) - _PRINTED:,} more; --json has all")


def _of_run(row: Row) -> Iterator[str]:
    yield _percent(row["share"])
    yield from (_hours(row[f"{which}_wait"]) for which in ("mean", "median", "p95"))
    yield as_number(row["mean_bounded_slowdown"])
    if "energy" in row:
        yield as_number(row["energy"] / 3.6e6)
    if "cost" in row:
        yield as_number(row["cost"])
    if "carbon" in row:
        yield as_number(row["carbon"] / 1000)


def show_compared_classes(console: Terminal, tables: Mapping[str, Rows]) -> None:
    """Print the mean waits of each class under each run of a comparison, the best marked.

    `tables` has rows as of `show_classes`, each with its ``run``.
    """
    for by, every in tables.items():
        waits: dict[str, dict[Any, float]] = {}
        for row in every:
            waits.setdefault(str(row["run"]), {})[row["class"]] = float(row["mean_wait"])
        first = [row for row in every if row["run"] == every[0]["run"]]
        heads = [f"{run}\nmean wait h" for run in waits]
        _show(console, by, first, heads, partial(_of_runs, list(waits.values())))


def _of_runs(waits: Sequence[Mapping[Any, float]], row: Row) -> Iterator[Text]:
    mine = [of_run.get(row["class"], math.nan) for of_run in waits]
    known = [wait for wait in mine if wait == wait]
    best = min(known) if known and min(known) < max(known) else None
    for wait in mine:
        mark, style = ("*", "bold green") if wait == best else (" ", "")
        yield Text(_hours(wait) + mark, style=style)


def show_log_classes(console: Terminal, tables: Mapping[str, Rows]) -> None:
    """Print what the jobs of each class of a log are like, the largest classes first."""
    heads = ("processor-\nhours", "of all\nhours", "mean\nwidth")
    times = {"mean_runtime": "mean\nruntime h", "median_runtime": "median\nruntime h"}
    times["mean_wait"] = "mean\nwait h"

    def cells(row: Row) -> Iterator[str]:
        yield as_number(row["processor_hours"])
        yield _percent(row["share"])
        yield as_number(row["mean_width"])
        yield from (_hours(row[key]) for key in times)

    for by, rows in tables.items():
        _show(console, by, rows, [*heads, *times.values()], cells)


def _show(
    console: Terminal,
    by: str,
    rows: Rows,
    heads: Sequence[str],
    cells: Callable[[Row], Iterable[str | Text]],
) -> None:
    """Print classes with most processor time first; widths from narrow to wide."""
    if by != "width":
        rows = sorted(rows, key=lambda row: -row["share"] if math.isfinite(row["share"]) else 0.0)
    table = new_table(f"{'processors' if by == 'width' else by}\n", "\njobs", *heads)
    for row in rows[:_PRINTED]:
        table.add_row(str(row["class"]), f"{row['jobs']:,}", *cells(row))
    console.below(table)
    if len(rows) > _PRINTED:
        rest = f"and {len(rows) - _PRINTED:,} more; --json has all"
        console.note(rest)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if math.isfinite(share) else "-"


def _hours(seconds: float) -> str:
    return as_number(seconds / HOUR)
