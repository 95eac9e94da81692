"""What a log holds."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from .cleaning import show_report
from .layout import as_number, facts_table, new_console, new_table

__all__ = ["show_facts"]

_BAR = 40


def show_facts(told: dict[str, Any]) -> None:
    """Print what a log holds."""
    console = new_console()
    console.print(facts_table(_header(told)))
    console.print()
    show_report(told["cleaning"])
    console.print(facts_table(_stream(told)))
    console.print()
    keys = ("mean", "min", "p5", "p25", "median", "p75", "p95", "max")
    table = new_table("", "mean", "min", "5 %", "25 %", "median", "75 %", "95 %", "max")
    for name, label in (
        ("procs", "processors"),
        ("runtime", "runtime (s)"),
        ("estimate", "estimate (s)"),
        ("interarrival", "interarrival (s)"),
        ("recorded_wait", "recorded wait (s)"),
    ):
        values = told["distributions"][name]
        if values:
            table.add_row(label, *(as_number(values[key]) for key in keys))
    accuracy = told["estimates"]["accuracy"]
    if accuracy:
        table.add_row("runtime / estimate", *(as_number(accuracy[key]) for key in keys))
    console.print(table)
    console.print()
    _show_day(console, told["submits_by_hour"])


def _header(told: dict[str, Any]) -> list[tuple[str, str]]:
    wanted = ("Computer", "Installation", "MaxProcs", "MaxNodes", "StartTime", "EndTime", "Version")
    header = told["header"]
    rows = [("log", str(told["cleaning"]["source"]))]
    return rows + [(name, header[name]) for name in wanted if name in header]


def _stream(told: dict[str, Any]) -> list[tuple[str, str]]:
    jobs = max(told["jobs"], 1)
    estimates = told["estimates"]
    rows = [
        ("jobs", f"{told['jobs']:,}"),
        ("span", f"{as_number(told['span'])} s ({as_number(told['span'] / 86400)} days)"),
        ("load", f"{as_number(told['load'])} of {told['procs']:,} processors"),
        (
            "widths",
            f"{100 * told['serial_share']:.1f} % serial, "
            f"{100 * told['power_of_two_share']:.1f} % a power of two",
        ),
        (
            "estimates",
            f"{100 * estimates['known'] / jobs:.1f} % known, {estimates['distinct']:,} values, "
            f"{estimates['over_limit']:,} jobs beyond theirs",
        ),
    ]
    if told["wider_than_machine"]:
        rows.append(("too wide", f"{told['wider_than_machine']:,} jobs wider than the machine"))
    for name in ("users", "groups", "queues", "partitions"):
        who = told[name]
        if who["count"] > 1:
            top = who["busiest"][0]
            rows.append(
                (
                    name,
                    f"{who['count']:,}; the busiest ({top['id']}) has {100 * top['share']:.1f} %",
                )
            )
    if set(told["status"]) != {"unknown"}:
        rows.append(("status", ", ".join(f"{n:,} {s}" for s, n in told["status"].items())))
    return rows


def _show_day(console: Console, day: dict[str, Any]) -> None:
    counts = day["counts"]
    console.print(Text(f"submits by hour of the day, {day['clock']}", style="bold"))
    most = max(max(counts), 1)
    for hour, count in enumerate(counts):
        bar = "#" * round(_BAR * count / most)
        console.print(Text(f"{hour:02d} {bar:<{_BAR}} {count:,}"))
