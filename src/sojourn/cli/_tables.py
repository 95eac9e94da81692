"""Results as text for people: units, thousands, the best marked."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..compare import Measure

__all__ = ["show_comparison", "show_facts", "show_report", "show_summary"]

_HOUR = 3600.0
_PAPER = 112  # columns a table may take
_BAR = 40
_CHANGES = ("wait_mean", "bounded_slowdown_mean")


def _console() -> Console:
    console = Console(file=sys.stdout, highlight=False)
    # A table cut to a narrow terminal says less than one whose lines wrap.
    console.width = max(console.width, _PAPER)
    return console


def _number(value: float | None, digits: int = 4) -> str:
    """Return a number with thousands and about so many digits."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(digits - whole, 0)}f}"


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=True)
    return table


def _facts_table(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def show_report(report: dict[str, Any]) -> None:
    """Print what reading and cleaning did; nothing if they changed nothing."""
    if not report["findings"]:
        return
    console = _console()
    console.print(Text(f"{report['read']:,} jobs read, {report['kept']:,} kept"))
    for finding in report["findings"]:
        count, unit = finding["count"], finding["unit"]
        plural = "" if count == 1 else "s"
        more = ", ..." if count > len(finding["first"]) else ""
        first = f" (first: {unit} {', '.join(map(str, finding['first']))}{more})"
        line = f"  {finding['action']} {finding['rule']}: {count:,} {unit}{plural}, "
        console.print(Text(line + finding["what"] + first), style="yellow")
    console.print()


def show_summary(told: dict[str, Any], out: Path | None) -> None:
    """Print the summary of a run, and where its files are."""
    console = _console()
    if "cleaning" in told:
        show_report(told["cleaning"])
    head = f"{told['policy']} on {told['procs']:,} processors"
    console.print(Text(head, style="bold"))
    console.print(Text(f"rate {told['rate']}, estimates {told['estimates']}\n"))
    console.print(_measures(told))
    console.print()
    console.print(_facts_table(_system(told)))
    if out is not None:
        files = ", ".join(told["provenance"]["files"])
        console.print(Text(f"\nresults in {out}: {files}"))


def _measures(told: dict[str, Any]) -> Table:
    table = _table("", "mean", "median", "90 %", "95 %", "99 %", "max")
    keys = ("mean", "median", "p90", "p95", "p99", "max")
    for label, key, scale in (
        ("wait (s)", "wait", 1.0),
        ("wait (h)", "wait", _HOUR),
        ("sojourn (h)", "sojourn", _HOUR),
        ("service (h)", "service", _HOUR),
        ("slowdown", "slowdown", 1.0),
        ("bounded slowdown", "bounded_slowdown", 1.0),
    ):
        values = told[key]
        table.add_row(label, *(_number(_over(values.get(name), scale)) for name in keys))
    return table


def _over(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def _system(told: dict[str, Any]) -> list[tuple[str, str]]:
    ran = f"{told['completed']:,} completed, {told['killed']:,} killed at their limit"
    rows = [("jobs", f"{told['jobs']:,}: {ran}")]
    if told["unaccepted"]:
        listed = ", ".join(map(str, told["unaccepted_jobs"][:10]))
        more = ", ..." if told["unaccepted"] > 10 else ""
        rows.append(
            ("unaccepted", f"{told['unaccepted']:,} wider than the machine (job {listed}{more})")
        )
    if "utilisation" not in told:
        return rows
    energy = told["energy"]
    rows += [
        ("utilisation", f"{100 * told['utilisation']:.2f} %"),
        ("makespan", f"{_number(told['makespan'])} s ({_number(told['makespan'] / _HOUR)} h)"),
        ("throughput", f"{_number(told['throughput'] * _HOUR)} jobs/h"),
        ("mean queue", f"{_number(told['mean_queue'])} jobs"),
        (
            "load",
            f"potential {_number(told['potential_load'])}, effective "
            f"{_number(told['effective_load'])}, wasted {_number(told['job_wasting'])} processors",
        ),
        (
            "energy",
            f"{_number(energy['total_kwh'])} kWh "
            f"(busy {_number(energy['busy_joules'] / 3.6e6)}, "
            f"idle {_number(energy['idle_joules'] / 3.6e6)}), "
            f"mean {_number(energy['mean_watts'] / 1e3)} kW",
        ),
    ]
    if told["rate_switches"]:
        shares = ", ".join(f"{100 * s:.1f} % at {r}" for r, s in told["rate_shares"].items())
        rows.append(("rate", f"{told['rate_switches']:,} switches; {shares}"))
    return rows


def show_comparison(rows: Sequence[dict[str, Any]]) -> None:
    """Print one line per policy; ``*`` marks the best, changes are against the first."""
    from ..compare import MEASURES, best, change

    hours = any(row["wait_mean"] > _HOUR for row in rows)
    unit, scale = ("h", _HOUR) if hours else ("s", 1.0)
    headings = {
        "wait_mean": f"mean\nwait {unit}",
        "wait_median": f"median\nwait {unit}",
        "wait_p95": f"95 %\nwait {unit}",
        "bounded_slowdown_mean": "bounded\nslowdown",
        "utilisation": "utili-\nsation",
        "makespan": "makespan\nh",
        "energy_kwh": "energy\nkWh",
        "killed": "killed\njobs",
    }

    def text(row: dict[str, Any], measure: Measure) -> str:
        value = row[measure.name]
        if measure.name == "utilisation":
            return f"{100 * value:.2f} %" if math.isfinite(value) else "-"
        if measure.name == "makespan":
            return _number(value / _HOUR)
        return _number(value / scale if measure.name.startswith("wait") else value)

    titles = []
    for measure in MEASURES:
        titles += [headings[measure.name], *(["change"] if measure.name in _CHANGES else [])]
    table = _table("policy", *titles, "time\ns")
    tops = {measure.name: best(rows, measure) for measure in MEASURES}
    for place, row in enumerate(rows):
        cells = []
        for measure in MEASURES:
            top = place in tops[measure.name]
            mark, style = ("*", "bold green") if top else (" ", "")
            cells.append(Text(text(row, measure) + mark, style=style))
            if measure.name in _CHANGES:
                relative = change(row, rows[0], measure) if place else math.nan
                cells.append(Text(f"{100 * relative:+.1f} %" if math.isfinite(relative) else ""))
        table.add_row(Text(row["policy"]), *cells, f"{row['seconds']:.2f}")
    console = _console()
    console.print(table)
    console.print(Text(f"* best; change against {rows[0]['policy']}", style="dim"))


def show_facts(told: dict[str, Any]) -> None:
    """Print what a log holds."""
    console = _console()
    console.print(_facts_table(_header(told)))
    console.print()
    show_report(told["cleaning"])
    console.print(_facts_table(_stream(told)))
    console.print()
    keys = ("mean", "min", "p5", "p25", "median", "p75", "p95", "max")
    table = _table("", "mean", "min", "5 %", "25 %", "median", "75 %", "95 %", "max")
    for name, label in (
        ("procs", "processors"),
        ("runtime", "runtime (s)"),
        ("estimate", "estimate (s)"),
        ("interarrival", "interarrival (s)"),
        ("recorded_wait", "recorded wait (s)"),
    ):
        values = told["distributions"][name]
        if values:
            table.add_row(label, *(_number(values[key]) for key in keys))
    accuracy = told["estimates"]["accuracy"]
    if accuracy:
        table.add_row("runtime / estimate", *(_number(accuracy[key]) for key in keys))
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
        ("span", f"{_number(told['span'])} s ({_number(told['span'] / 86400)} days)"),
        ("load", f"{_number(told['load'])} of {told['procs']:,} processors"),
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
