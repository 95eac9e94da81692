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

from ._event_rows import event_rows

if TYPE_CHECKING:
    from ..compare import Measure

__all__ = [
    "as_number",
    "as_seconds",
    "facts_table",
    "new_console",
    "new_table",
    "show_comparison",
    "show_facts",
    "show_peas",
    "show_report",
    "show_summary",
]

_HOUR = 3600.0
_PAPER = 112  # columns a table may take
_WIDEST = 300
_BAR = 40
_CHANGES = ("wait_mean", "bounded_slowdown_mean")
_ASIDE = ("wait_median", "killed")  # left out where there are more columns than these


def new_console() -> Console:
    console = Console(file=sys.stdout, highlight=False)
    # A table cut to a narrow terminal says less than one whose lines wrap.
    console.width = max(console.width, _PAPER)
    return console


def as_number(value: float | None, digits: int = 4) -> str:
    """Return a number with thousands and about so many digits."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(digits - whole, 0)}f}"


def new_table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=True)
    return table


def facts_table(rows: Sequence[tuple[str, str]]) -> Table:
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
    console = new_console()
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
    console = new_console()
    if "cleaning" in told:
        show_report(told["cleaning"])
    _show_cluster_report(console, told)
    console.print(Text(_head(told), style="bold"))
    console.print(Text(f"rate {told['rate']}, estimates {told['estimates']}\n"))
    console.print(_measures(told))
    console.print()
    console.print(facts_table(_system(told)))
    _show_end(console, told, out)


def show_peas(told: dict[str, Any], out: Path | None) -> None:
    """Print the measures of [gomez2012] for a run on named nodes, and where its files are."""
    console = new_console()
    if "cleaning" in told:
        show_report(told["cleaning"])
    _show_cluster_report(console, told)
    console.print(Text(_head(told), style="bold"))
    wishes = "" if told["constraints"] == "none" else f"; {told['constraints']}"
    console.print(Text(f"estimates {told['estimates']}, foresight {told['foresight']}{wishes}\n"))
    rows = [
        ("AWT (3)", f"{as_seconds(told['wait'].get('mean'))}, average waiting time"),
        ("ART (4)", f"{as_seconds(told['sojourn'].get('mean'))}, average response time"),
    ]
    console.print(facts_table(rows + _energy(told) + _jobs(told) + _speed(told)))
    _show_end(console, told, out)


def _head(told: dict[str, Any]) -> str:
    if "nodes" not in told:
        return f"{told['policy']} on {told['procs']:,} processors"
    plural = "" if told["nodes"] == 1 else "s"
    kind = told["processor"] if told["procs"] == 1 else f"{told['processor']}s"
    machine = f"{told['nodes']:,} node{plural} ({told['procs']:,} {kind})"
    return f"{told['policy']}, {told['placement']} on {machine}"


def _show_cluster_report(console: Console, told: dict[str, Any]) -> None:
    """Print what was not taken from a cluster's file as it was."""
    read = told["provenance"].get("cluster", {})
    if read.get("repaired") or read.get("refused"):
        console.print(
            Text(
                f"{read['path']}: {read['rows']:,} rows read, {read['repaired']:,} repaired, "
                f"{read['refused']:,} refused; sojourn cluster inspect tells which\n"
            ),
            style="yellow",
            soft_wrap=True,
        )


def _show_end(console: Console, told: dict[str, Any], out: Path | None) -> None:
    """Print what the numbers leave out, and where the files are."""
    if not told.get("energy", {}).get("idle_known", True):
        warning = "idle watts are not known of every node and count as 0: the bill is too low"
        console.print(Text(f"\n{warning}"), style="yellow", soft_wrap=True)
    if out is not None:
        files = ", ".join(told["provenance"]["files"])
        console.print(Text(f"\nresults in {out}: {files}"), soft_wrap=True)


def as_seconds(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "-"
    return f"{as_number(value)} s ({as_number(value / _HOUR)} h)"


def _measures(told: dict[str, Any]) -> Table:
    table = new_table("", "mean", "median", "90 %", "95 %", "99 %", "max")
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
        table.add_row(label, *(as_number(_over(values.get(name), scale)) for name in keys))
    return table


def _over(value: float | None, scale: float) -> float | None:
    return None if value is None else value / scale


def _system(told: dict[str, Any]) -> list[tuple[str, str]]:
    rows = _jobs(told)
    if "utilisation" not in told:
        return rows
    rows += _speed(told)
    rows += [
        ("throughput", f"{as_number(told['throughput'] * _HOUR)} jobs/h"),
        ("mean queue", f"{as_number(told['mean_queue'])} jobs"),
        (
            "load",
            f"potential {as_number(told['potential_load'])}, "
            f"effective {as_number(told['effective_load'])}, "
            f"wasted {as_number(told['job_wasting'])} processors",
        ),
        *_energy(told),
    ]
    if told["rate_switches"]:
        shares = ", ".join(f"{100 * s:.1f} % at {r}" for r, s in told["rate_shares"].items())
        rows.append(("rate", f"{told['rate_switches']:,} switches; {shares}"))
    return rows


def _jobs(told: dict[str, Any]) -> list[tuple[str, str]]:
    by_events = told.get("events", {}).get("killed", 0)
    ran = f"{told['completed']:,} completed, {told['killed'] - by_events:,} killed at their limit"
    rows = [("jobs", f"{told['jobs']:,}: {ran}")]
    if "nodes" in told:
        taken = told["jobs"] - told["unaccepted"]
        rows = [("accepted", f"{taken:,} of {told['jobs']:,} jobs: {ran}")]
    if told["unaccepted"]:
        listed = ", ".join(map(str, told["unaccepted_jobs"][:10]))
        more = ", ..." if told["unaccepted"] > 10 else ""
        why = "wider than the machine"
        if "nodes" in told:
            reasons = told["unaccepted_reasons"].items()
            why = "never fit, for want of: " + ", ".join(f"{word} {n:,}" for word, n in reasons)
        rows.append(("unaccepted", f"{told['unaccepted']:,} {why} (job {listed}{more})"))
    return rows + event_rows(told)


def _speed(told: dict[str, Any]) -> list[tuple[str, str]]:
    if "utilisation" not in told:
        return []
    rows = [
        ("utilisation", f"{100 * told['utilisation']:.2f} %"),
        ("makespan", as_seconds(told["makespan"])),
    ]
    if "mean_slowness" in told:
        rows.append(("mean slowness", f"{as_number(told['mean_slowness'])} x the recorded runtime"))
    return rows


def _energy(told: dict[str, Any]) -> list[tuple[str, str]]:
    """The energy (5) where nodes have names, the full bill, its price and its carbon."""
    energy = told.get("energy")
    if energy is None:
        return []
    rows = []
    if "peas_kwh" in energy:
        rows.append(
            ("energy (5)", f"{as_number(energy['peas_kwh'])} kWh, processors of jobs at full load")
        )
    rows.append(
        (
            "full bill" if rows else "energy",
            f"{as_number(energy['total_kwh'])} kWh "
            f"(busy {as_number(energy['busy_joules'] / 3.6e6)}, "
            f"idle {as_number(energy['idle_joules'] / 3.6e6)}), "
            f"mean {as_number(energy['mean_watts'] / 1e3)} kW",
        )
    )
    if "cost" in energy:
        rows.append(("cost", f"{as_number(energy['cost'])} {energy['currency']}".rstrip()))
    if "carbon_kg" in energy:
        rows.append(("carbon", f"{as_number(energy['carbon_kg'])} kg of CO2"))
    return rows


def show_comparison(
    rows: Sequence[dict[str, Any]], measures: Sequence[Measure] | None = None
) -> None:
    """Print one line per run; ``*`` marks the best, changes are against the first.

    Parameters
    ----------
    rows : measures of each run, with its policy and on named nodes its placement.
    measures : which columns the rows have; default: those of every comparison.
    """
    from ..compare import MEASURES, best, change

    measures = MEASURES if measures is None else measures
    hours = any(row["wait_mean"] > _HOUR for row in rows)
    unit, scale = ("h", _HOUR) if hours else ("s", 1.0)
    headings = {
        "wait_mean": f"mean\nwait {unit}",
        "wait_median": f"median\nwait {unit}",
        "wait_p95": f"95 %\nwait {unit}",
        "sojourn_mean": f"mean\nresp. {unit}",
        "bounded_slowdown_mean": "bounded\nslowdown",
        "utilisation": "utili-\nsation",
        "makespan": "makespan\nh",
        "energy_kwh": "energy\nkWh",
        "peas_kwh": "eq. (5)\nkWh",
        "cost": "cost",
        "carbon_kg": "CO2\nkg",
        "killed": "killed\njobs",
        "cancelled": "cancel-\nled",
        "restarts": "re-\nstarts",
    }
    # What comes first is what a reader looks for; more columns than that find no place.
    shown = sorted(measures, key=lambda measure: list(headings).index(measure.name))
    if len(measures) > len(MEASURES):
        # Beside other things that befall jobs, that some are killed is no aside.
        aside = _ASIDE[:1] if shown[-1].name == "restarts" else _ASIDE
        shown = [measure for measure in shown if measure.name not in aside]

    def text(row: dict[str, Any], measure: Measure) -> str:
        value = row[measure.name]
        if measure.name == "utilisation":
            return f"{100 * value:.2f} %" if math.isfinite(value) else "-"
        if measure.name == "makespan":
            return as_number(value / _HOUR)
        return as_number(value / scale if measure.name.startswith(("wait", "sojourn")) else value)

    titles = []
    for measure in shown:
        titles += [headings[measure.name], *(["change"] if measure.name in _CHANGES else [])]
    table = new_table("policy", *titles, "time\ns")
    tops = {measure.name: best(rows, measure) for measure in shown}
    for place, row in enumerate(rows):
        cells = []
        for measure in shown:
            top = place in tops[measure.name]
            mark, style = ("*", "bold green") if top else (" ", "")
            cells.append(Text(text(row, measure) + mark, style=style))
            if measure.name in _CHANGES:
                relative = change(row, rows[0], measure) if place else math.nan
                cells.append(Text(f"{100 * relative:+.1f} %" if math.isfinite(relative) else ""))
        table.add_row(Text(_label(row)), *cells, f"{row['seconds']:.2f}")
    console = new_console()
    # Columns cut short would say nothing; lines that wrap still do.
    wide = console.options.update(width=_WIDEST, max_width=_WIDEST)
    console.width = max(console.width, table.__rich_measure__(console, wide).maximum)
    console.print(table)
    console.print(Text(f"* best; change against {_label(rows[0])}", style="dim"))


def _label(row: dict[str, Any]) -> str:
    return f"{row['policy']}, {row['placement']}" if "placement" in row else str(row["policy"])


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
