"""The summary of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...wattage import assumed_watts, states_energy
from .classes import show_classes
from .cleaning import show_report
from .events import event_rows
from .layout import HOUR, as_number, as_seconds, facts_table, new_console, new_table
from .recorded import show_not_acted_on, show_recorded

__all__ = ["show_peas", "show_summary"]


def show_summary(told: dict[str, Any], out: Path | None) -> None:
    """Print the summary of a run, and where its files are."""
    console = new_console()
    if "cleaning" in told:
        show_report(told["cleaning"])
    _show_cluster_report(console, told)
    console.print(Text(_head(told), style="bold"))
    console.print(Text(f"rate {told['rate']}, estimates {told['estimates']}"))
    show_not_acted_on(console, told.get("not_modelled", ()))
    console.print()
    console.print(_measures(told))
    _show_recorded(console, told)
    console.print()
    console.print(facts_table(_system(told)))
    _show_resources(console, told)
    show_classes(console, told.get("classes", {}))
    _show_end(console, told, out)


def show_peas(told: dict[str, Any], out: Path | None) -> None:
    """Print the measures of [gomez2012] for a run on named nodes, and where its files are."""
    console = new_console()
    if "cleaning" in told:
        show_report(told["cleaning"])
    _show_cluster_report(console, told)
    console.print(Text(_head(told), style="bold"))
    wishes = "" if told["constraints"] == "none" else f"; {told['constraints']}"
    console.print(Text(f"estimates {told['estimates']}, foresight {told['foresight']}{wishes}"))
    show_not_acted_on(console, told.get("not_modelled", ()))
    console.print()
    rows = [
        ("AWT", f"{as_seconds(told['wait'].get('mean'))}, the average time that jobs would wait"),
        ("ART", f"{as_seconds(told['sojourn'].get('mean'))}, their average response time, from "
         "submit to end"),
    ]  # fmt: skip
    console.print(facts_table(rows + _energy(told) + _jobs(told) + _speed(told)))
    _show_recorded(console, told)
    _show_resources(console, told)
    show_classes(console, told.get("classes", {}))
    _show_end(console, told, out)


def _show_recorded(console: Console, told: dict[str, Any]) -> None:
    show_recorded(console, {"": told["recorded"]} if "recorded" in told else {})


def _show_resources(console: Console, told: dict[str, Any]) -> None:
    """Print what was used, stranded, free and down of the resources that jobs ask for."""
    asked = {name: row for name, row in told.get("resources", {}).items() if row["jobs"]}
    if len(asked) < 2:
        return
    table = new_table("resource", "capacity", "used", "stranded", "free", "down")
    for name, row in asked.items():
        size = f"{as_number(row['capacity'] / 2**20)} GB" if name == "memory" else None
        shares = (
            f"{100 * row['share'][state]:.2f} %" for state in ("used", "stranded", "free", "down")
        )
        table.add_row(Text(name), size or f"{row['capacity']:,}", *shares)
    console.print()
    console.print(table)
    note = "stranded: nobody can use it, another resource of its node is used up"
    console.print(Text(note, style="dim"), soft_wrap=True)


def _head(told: dict[str, Any]) -> str:
    if "nodes" not in told:
        return f"{told['policy']} on {told['procs']:,} processors, simulated"
    plural = "" if told["nodes"] == 1 else "s"
    kind = told["processor"] if told["procs"] == 1 else f"{told['processor']}s"
    machine = f"{told['nodes']:,} node{plural} ({told['procs']:,} {kind})"
    return f"{told['policy']}, {told['placement']} on {machine}, simulated"


def _show_cluster_report(console: Console, told: dict[str, Any]) -> None:
    """Print what was not taken from a cluster's file as it was."""
    read = told["provenance"].get("cluster", {})
    if read.get("left_out"):
        words = f"{read['path']}: {'; '.join(read['left_out'])}"
        console.print(Text(words), style="yellow", soft_wrap=True)
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


def _measures(told: dict[str, Any]) -> Table:
    table = new_table("jobs would have", "mean", "median", "90 %", "95 %", "99 %", "max")
    keys = ("mean", "median", "p90", "p95", "p99", "max")
    for label, key, scale in (
        ("wait (s)", "wait", 1.0),
        ("wait (h)", "wait", HOUR),
        ("sojourn, wait and run (h)", "sojourn", HOUR),
        ("service, run (h)", "service", HOUR),
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
        ("throughput", f"{as_number(told['throughput'] * HOUR)} jobs/h"),
        ("mean queue", f"{as_number(told['mean_queue'])} jobs"),
        (
            "load",
            f"{as_number(told['effective_load'])} processors at work on average; "
            f"{as_number(told['job_wasting'])} idle although jobs waited (job wasting)",
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
    return rows + _begin(told) + event_rows(told)


def _begin(told: dict[str, Any]) -> list[tuple[str, str]]:
    """How long jobs that ask to begin later than their submit wait for that."""
    if "begin" not in told:
        return []
    asked, before, since = (told["begin"][key] for key in ("jobs", "before", "wait_since"))
    plural, verb = ("", "asks") if asked == 1 else ("s", "ask")
    return [
        (
            "begin",
            f"{asked:,} job{plural} {verb} to begin later, {as_seconds(before['mean'])} after the "
            f"submit on average; counted from there, all jobs would wait "
            f"{as_seconds(since['mean'])}",
        )
    ]


def _speed(told: dict[str, Any]) -> list[tuple[str, str]]:
    if "utilisation" not in told:
        return []
    rows = [
        ("utilisation", f"{100 * told['utilisation']:.2f} %"),
        ("makespan", as_seconds(told["makespan"])),
    ]
    if "mean_slowness" in told:
        told_by = f"{as_number(told['mean_slowness'])} x the recorded runtime"
        rows.append(("mean slowness", f"{told_by}: nodes differ in speed"))
    return rows


def _energy(told: dict[str, Any]) -> list[tuple[str, str]]:
    """Energy of jobs where nodes have names, the full bill, its peak, its price and its carbon."""
    if not states_energy(told):
        return []
    energy, rows = told["energy"], []
    if "peas_kwh" in energy:
        jobs = f"{as_number(energy['peas_kwh'])} kWh, only processors of jobs, at full load"
        rows.append(("energy of jobs", jobs))
    assumed = f"; {assumed_watts(told)}" if assumed_watts(told) else ""
    rows.append(
        (
            "full bill" if rows else "energy",
            f"{as_number(energy['total_kwh'])} kWh "
            f"(busy {as_number(energy['busy_joules'] / 3.6e6)}, "
            f"idle {as_number(energy['idle_joules'] / 3.6e6)}), "
            f"mean {as_number(energy['mean_watts'] / 1e3)} kW{assumed}",
        )
    )
    if energy.get("power_peak") is not None:
        rows.append(("peak power", f"{as_number(energy['power_peak'] / 1e3)} kW{assumed}"))
    if "cost" in energy:
        price = f"{as_number(energy['cost'])} {energy['currency']}".rstrip()
        rows.append(("cost", f"{price}{assumed}"))
    if "carbon_kg" in energy:
        rows.append(("carbon", f"{as_number(energy['carbon_kg'])} kg of CO2{assumed}"))
    return rows
