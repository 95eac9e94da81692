"""What a log holds, and what reading and cleaning it did."""

from __future__ import annotations

from typing import Any

from ...errors import plural
from ...run.outcome.recorded_nodes import excess_in_words
from .classes import show_log_classes
from .layout import HOUR, Terminal, as_number, new_table

_BAR = 40


def show_facts(facts: dict[str, Any]) -> None:
    """Print what a log holds."""
    console = Terminal()
    console.facts(_header(facts))
    console.print()
    console.facts(_stream(facts))
    for line in _warnings(facts):
        console.warn(f"! {line}")
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
        values = facts["distributions"][name]
        if values:
            table.add_row(label, *(as_number(values[key]) for key in keys))
    accuracy = facts["estimates"]["accuracy"]
    if accuracy:
        table.add_row("runtime / estimate", *(as_number(accuracy[key]) for key in keys))
    console.print(table)
    show_log_classes(console, facts.get("classes", {}))
    console.print()
    _show_day(console, facts["submits_by_hour"])
    if facts["cleaning"]["findings"]:
        console.print()
        console.print("before a run the log is cleaned", style="bold")
        show_report(facts["cleaning"])


def _header(facts: dict[str, Any]) -> list[tuple[str, str]]:
    wanted = ("Computer", "Installation", "MaxProcs", "MaxNodes", "StartTime", "EndTime", "Version")
    header = facts["header"]
    rows = [("log", str(facts["cleaning"]["source"]))]
    return rows + [(name, header[name]) for name in wanted if name in header]


def _stream(facts: dict[str, Any]) -> list[tuple[str, str]]:
    jobs = max(facts["jobs"], 1)
    estimates = facts["estimates"]
    rows = [
        ("jobs", f"{facts['jobs']:,}"),
        ("span", f"{as_number(facts['span'])} s ({as_number(facts['span'] / 86400)} days)"),
        ("load", f"{as_number(facts['load'])} of {plural(facts['procs'], 'processor')}"),
        (
            "widths",
            f"{100 * facts['serial_share']:.1f} % serial, "
            f"{100 * facts['power_of_two_share']:.1f} % a power of two",
        ),
        (
            "estimates",
            f"{100 * estimates['known'] / jobs:.1f} % known, {estimates['distinct']:,} "
            f"{'value' if estimates['distinct'] == 1 else 'values'}, "
            f"{plural(estimates['over_limit'], 'job')} beyond theirs",
        ),
    ]
    if facts["wider_than_machine"]:
        rows.append(
            ("too wide", f"{plural(facts['wider_than_machine'], 'job')} wider than the machine")
        )
    rows += _machine(facts)
    for name in ("users", "groups", "accounts", "queues", "partitions", "qos"):
        who = facts[name]
        if who["count"] > 1:
            top = who["busiest"][0]
            busiest = f"the busiest ({top['name']}) has {100 * top['share']:.1f} % of the jobs"
            rows.append((name, f"{who['count']:,}; {busiest}"))
    if set(facts["status"]) != {"unknown"}:
        rows.append(("status", ", ".join(f"{n:,} {s}" for s, n in facts["status"].items())))
    return rows


def _machine(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the log has recorded of its own machine: waits, and processors in use."""
    rows = []
    waits, used = facts["distributions"]["recorded_wait"], facts["occupancy"]
    if waits:
        rows.append(
            (
                "waits",
                f"mean {as_number(waits['mean'] / HOUR)} h, "
                f"median {as_number(waits['median'] / HOUR)} h, "
                f"95 % {as_number(waits['p95'] / HOUR)} h, as recorded of "
                f"{100 * facts['waits_known'] / max(facts['jobs'], 1):.1f} % of the jobs",
            )
        )
    if used is not None:
        rows.append(
            (
                "in use",
                f"{as_number(used['mean'])} processors on average "
                f"({100 * used['mean_utilisation']:.1f} %), at most {used['peak']:,} "
                f"({100 * used['peak_utilisation']:.1f} %), {_moment(used)}",
            )
        )
    if facts.get("excess") == []:
        rows.append(("nodes", excess_in_words([])))
    return rows


def _moment(used: dict[str, Any]) -> str:
    if used["peak_date"] is None:
        return f"at second {as_number(used['peak_time'])}"
    return f"on {used['peak_date']} ({used['clock']})"


def _warnings(facts: dict[str, Any]) -> list[str]:
    """Return what to know before the numbers are believed."""
    source = facts["size_source"]
    if facts.get("excess"):
        return [excess_in_words(facts["excess"])]
    if source not in ("MaxProcs", "given"):
        whose = {
            "widest job": "those of the widest job",
            "recorded use": "the most that its jobs used at once",
        }.get(source, f"its {source}")
        return [
            f"the header does not say MaxProcs: {facts['procs']:,} processors are {whose}; "
            "give --procs"
        ]
    used = facts["occupancy"]
    if used is not None and used["overlap"]:
        return [
            f"the recorded jobs overlap to {plural(used['peak'], 'processor')}, more than the "
            f"{facts['procs']:,} of the machine, {_moment(used)}"
        ]
    return []


def _show_day(console: Terminal, day: dict[str, Any]) -> None:
    counts = day["counts"]
    console.print(f"submits by hour of the day, {day['clock']}", style="bold")
    most = max(max(counts), 1)
    for hour, count in enumerate(counts):
        bar = "#" * round(_BAR * count / most)
        console.print(f"{hour:02d} {bar:<{_BAR}} {count:,}")


def show_report(report: dict[str, Any]) -> None:
    """Print what reading and cleaning did; nothing if they changed nothing."""
    if not report["findings"]:
        return
    console = Terminal()
    console.print(f"{plural(report['read'], 'job')} read, {report['kept']:,} kept")
    for finding in report["findings"]:
        count, unit = finding["count"], finding["unit"]
        more = ", ..." if count > len(finding["first"]) else ""
        listed = ", ".join(map(str, finding["first"]))
        first = f" (first: {unit} {listed}{more})" if listed else ""
        line = f"  {finding['action']} {finding['rule']}: {plural(count, unit)}, "
        console.warn(line + finding["what"] + first)
    console.print()
