"""What the log knows and a run does not: waits that were recorded, wishes that are not acted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...measures.recorded import gap_in_words
from ...measures.registry import get as measure
from .layout import HOUR, Terminal, as_number, new_table

_LONGEST_LINE = 240


def show_recorded(console: Terminal, sections: Mapping[str, Mapping[str, Any]]) -> None:
    """Print recorded beside simulated waits of the same jobs, and what a large gap means.

    `sections` has the section ``recorded`` of each run by its name; none: nothing is printed.
    """
    if not sections:
        return
    first = next(iter(sections.values()))
    hours = any(
        part["wait"]["mean"] > HOUR
        for section in sections.values()
        for part in (section, section["simulated"])
    )
    unit, scale = ("h", HOUR) if hours else ("s", 1.0)
    names = ("wait_mean", "wait_median", "wait_p95", "bounded_slowdown_mean")
    table = new_table("", *(measure(name).column(unit) for name in names))

    def add(label: str, part: Mapping[str, Any]) -> None:
        waits = (as_number(part["wait"][key] / scale) for key in ("mean", "median", "p95"))
        table.add_row(label, *waits, as_number(part["bounded_slowdown"]["mean"]))

    add("recorded: they waited", first)
    for name, section in sections.items():
        add(f"{name or 'simulated'}: they would wait", section["simulated"])
    console.print(f"\nthe {first['jobs']:,} jobs whose wait the log records")
    console.print(table)
    # Of several runs the one that comes nearest says what all of them lack.
    gaps = {
        name: log["wait"]["mean"] - log["simulated"]["wait"]["mean"]
        for name, log in sections.items()
    }
    nearest = min(gaps, key=lambda name: abs(gaps[name]))
    words = gap_in_words(sections[nearest], nearest)
    if words:
        console.warn(words)


def show_not_acted_on(console: Terminal, ignored: Sequence[str]) -> None:
    """Print what a run takes no notice of: in a line, or where that is long in one for each."""
    words = f"not acted on: {', '.join(ignored)}"
    if len(words) > _LONGEST_LINE:
        words = "\n- ".join(["not acted on:", *ignored])
    if ignored:
        console.warn(words)
