"""The summary of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from ...cluster.power import assumed_watts, states_energy
from ...errors import plural
from ...measures.catalogue import DISTRIBUTIONS, STATISTICS
from ...measures.entry import Measure
from ...measures.fragmentation import STATES
from ...measures.recorded import gap_in_words
from ...measures.registry import get, in_table
from .classes import show_classes, show_ledgers
from .facts import show_report
from .layout import HOUR, Terminal, as_number, as_seconds, new_table

_SPEED = ("utilisation", "makespan", "mean_slowness")
_NOTES = {
    "mean_slowness": "times the recorded runtime",
    "effective_load": "at work on average",
    "job_wasting": "idle although jobs waited",
}
"""What stands after a number."""
_SECONDS = (("s", 1.0), ("h", HOUR))
_LONGEST_LINE = 240


def show_summary(summary: dict[str, Any], out: Path | None) -> None:
    """Print the summary of a run, and where its files are."""
    console = _show_start(summary, f"rate {summary['rate']}, estimates {summary['estimates']}")
    console.print(_distributions(summary))
    _show_recorded(console, summary)
    console.print()
    console.facts(_facts(summary))
    _show_end(console, summary, out)


def show_peas(summary: dict[str, Any], out: Path | None) -> None:
    """Print the measures of [gomez2012] for a run on named nodes, and where its files are."""
    wishes = "" if summary["constraints"] == "none" else f"; {summary['constraints']}"
    settings = f"estimates {summary['estimates']}, foresight {summary['foresight']}{wishes}"
    console = _show_start(summary, settings)
    waited, response = (as_seconds(summary[name].get("mean")) for name in ("wait", "sojourn"))
    rows = [
        ("AWT", f"{waited}, the average time that jobs would wait"),
        ("ART", f"{response}, their average response time, from submit to end"),
    ]
    rows += _measured(summary, lambda measure: measure.rests_on_watts)
    rows += [*_jobs(summary), *_measured(summary, _is_beside_energy)]
    rows += [*_sleep(summary), *_caps(summary)]
    console.facts(rows)
    _show_recorded(console, summary)
    _show_end(console, summary, out)


def _show_start(summary: dict[str, Any], settings: str) -> Terminal:
    """Print what cleaning did, what was run, and what is left out of it; return the terminal."""
    console = Terminal()
    if summary.get("cleaning", {}).get("findings"):
        show_report(summary["cleaning"])
    _show_cluster_report(console, summary)
    console.print(_head(summary), style="bold")
    console.print(settings)
    show_not_acted_on(console, summary.get("not_modelled", ()))
    console.print()
    return console


def _show_recorded(console: Terminal, summary: dict[str, Any]) -> None:
    show_recorded(console, {"": summary["recorded"]} if "recorded" in summary else {})


def _show_resources(console: Terminal, summary: dict[str, Any]) -> None:
    """Print what was used, stranded, free and down of the resources that jobs ask for."""
    requested = {name: row for name, row in summary.get("resources", {}).items() if row["jobs"]}
    if len(requested) < 2:
        return
    table = new_table("resource", "capacity", *STATES)
    for name, row in requested.items():
        size = f"{as_number(row['capacity'] / 2**20)} GB" if name == "memory" else None
        shares = (f"{100 * row['share'][state]:.2f} %" for state in STATES)
        table.add_row(name, size or f"{row['capacity']:,}", *shares)
    console.below(table)
    note = "stranded: nobody can use it, another resource of its node is used up"
    console.note(note)


def _head(summary: dict[str, Any]) -> str:
    if "nodes" not in summary:
        return f"{summary['policy']} on {plural(summary['procs'], 'processor')}, simulated"
    kind = summary["processor"] if summary["procs"] == 1 else f"{summary['processor']}s"
    machine = f"{plural(summary['nodes'], 'node')} ({summary['procs']:,} {kind})"
    return f"{summary['policy']}, {summary['placement']} on {machine}, simulated"


def _show_cluster_report(console: Terminal, summary: dict[str, Any]) -> None:
    """Print what was not taken from a cluster's file as it was."""
    read = summary["provenance"].get("cluster", {})
    if read.get("left_out"):
        words = f"{read['path']}: {'; '.join(read['left_out'])}"
        console.warn(words)
    if read.get("repaired") or read.get("refused"):
        console.warn(
            f"{read['path']}: {plural(read['rows'], 'row')} read, {read['repaired']:,} repaired, "
            f"{read['refused']:,} refused; sojourn cluster inspect says which\n"
        )


def _show_end(console: Terminal, summary: dict[str, Any], out: Path | None) -> None:
    """Print resources and classes, what the numbers leave out, and where the files are."""
    _show_resources(console, summary)
    show_classes(console, summary.get("classes", {}))
    show_ledgers(console, summary.get("ledger", {}))
    if not summary.get("energy", {}).get("idle_known", True):
        warning = "idle watts are not known of every node and count as 0: the bill is too low"
        console.warn(f"\n{warning}")
    if out is not None:
        files = ", ".join(summary["provenance"]["files"])
        console.print(f"\nresults in {out}: {files}", soft_wrap=True)


def _distributions(summary: dict[str, Any]) -> Table:
    table = new_table("jobs would have", *(short for _, short in STATISTICS.values()))
    for name, measure in DISTRIBUTIONS.items():
        # A wait may be short; whatever has a run in it is not.
        units = _SECONDS[0 if name == "wait" else 1 :] if measure.unit == "s" else (("", 1.0),)
        for unit, size in units:
            label = f"{measure.label} ({unit})" if unit else measure.label
            values = (summary[name].get(key, math.nan) for key in STATISTICS)
            table.add_row(label, *(as_number(value / size) for value in values))
    return table


def _facts(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [*_jobs(summary), *_measured(summary, lambda measure: True)]
    if summary.get("rate_switches"):
        shares = ", ".join(f"{100 * s:.1f} % at {r}" for r, s in summary["rate_shares"].items())
        rows.append(("rate", f"{plural(summary['rate_switches'], 'switch', 'switches')}; {shares}"))
    return [*rows, *_domains(summary), *_sleep(summary), *_caps(summary)]


def _domains(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rates of each domain, and where watts are known its energy."""
    for name, domain in summary.get("domains", {}).items():
        switches = (
            f"{plural(domain['rate_switches'], 'switch', 'switches')}; "
            if domain["rate_switches"]
            else ""
        )
        shares = ", ".join(f"{100 * s:.1f} % at {r}" for r, s in domain["rate_shares"].items())
        text = f"{switches}{shares}"
        if summary["energy"].get("power_model") is None:
            joules = sum(value for key, value in domain.items() if key.endswith("_joules"))
            text += f"; {as_number(joules / 3.6e6)} kWh"
        yield f"rate of {name}", text


def _sleep(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How often nodes were woken, and how long jobs waited for that."""
    if "sleep" not in summary:
        return
    sleep = summary["sleep"]
    waited = sleep["jobs_that_waited"]
    text = f"{plural(sleep['boots'], 'boot')} of nodes, {sleep['policy']}"
    if waited:
        mean = as_number(sleep["mean_boot_wait"])
        text += f"; {plural(waited, 'job')} waited {mean} s on average for one"
    yield "sleep", text


_WHOSE_WATTS = {
    "stated_watts_jobs": "kept on the watts that the log states of {}",
    "assumed_watts_jobs": "{} without any taken to add by processor what the others do",
}


def _caps(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The peak of each set of nodes beside its cap, and what was exceeded."""
    for name, cap in summary.get("caps", {}).items():
        most, least = (as_number(cap[key] / 1e3) for key in ("watts", "least_watts"))
        words = f"{most} kW" if most == least else f"{least} to {most} kW"
        text = f"peak {as_number(cap['peak_watts'] / 1e3)} kW under {words}"
        if cap["exceeded_seconds"] > 0:
            by = as_number(cap["excess_watts"] / 1e3)
            text += f"; exceeded for {as_seconds(cap['exceeded_seconds'])}, by {by} kW at most"
        yield "cap" if name == "cluster" else f"cap of {name}", text
        for key, words in _WHOSE_WATTS.items():
            if key in cap:
                yield "", words.format(plural(cap[key], "job"))


def _jobs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    by_events = summary.get("events", {}).get("killed", 0)
    killed = f"{summary['killed'] - by_events:,} killed at their limit"
    ran = f"{summary['completed']:,} completed, {killed}"
    if by_events:
        ran += f", {by_events:,} by events"
    rows = [("jobs", f"{summary['jobs']:,}: {ran}")]
    if "nodes" in summary:
        taken = summary["jobs"] - summary["unaccepted"]
        rows = [("accepted", f"{taken:,} of {plural(summary['jobs'], 'job')}: {ran}")]
    if summary["unaccepted"]:
        listed = ", ".join(map(str, summary["unaccepted_jobs"][:10]))
        more = ", ..." if summary["unaccepted"] > 10 else ""
        why = "wider than the machine"
        if "nodes" in summary or "caps" in summary:
            reasons = summary["unaccepted_reasons"].items()
            why = "never fit, for want of: " + ", ".join(f"{word} {n:,}" for word, n in reasons)
        rows.append(("unaccepted", f"{summary['unaccepted']:,} {why} (job {listed}{more})"))
    return rows + _begin(summary) + _deferred(summary) + _event_rows(summary)


def _event_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What external events did; nothing if there were none."""
    if "events" not in summary:
        return []
    events = summary["events"]
    parts = [
        f"{events[name]:,} {word}"
        for name, word in (
            ("cancelled", "cancelled"),
            ("killed", "killed"),
            ("restarts", "restarted"),
            ("waiting", "left waiting for ever"),
        )
        if events[name]
    ]
    rows = [("events", f"{events['given']:,}: " + (", ".join(parts) or "no job was struck"))]
    hours = [
        f"{events[name] / HOUR:,.1f} processor-hours {word}"
        for name, word in (("down_processor_seconds", "down"), ("lost_processor_seconds", "lost"))
        if events[name]
    ]
    if hours:
        rows.append(("", ", ".join(hours)))
    for reason, count in events["unused"].items():
        rows.append(("", f"{count:,} without meaning here: {reason}"))
    return rows


def _begin(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """How long jobs that ask to begin later than their submit wait for that."""
    if "begin" not in summary:
        return []
    count, before, since = (summary["begin"][key] for key in ("jobs", "before", "wait_since"))
    verb = "asks" if count == 1 else "ask"
    return [
        (
            "begin",
            f"{plural(count, 'job')} {verb} to begin later, {as_seconds(before['mean'])} after the "
            f"submit on average; counted from there, all jobs would wait "
            f"{as_seconds(since['mean'])}",
        )
    ]


def _deferred(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What jobs that may be held for cheap or clean electricity had of it, and all others."""
    if "deferred" not in summary:
        return []
    mine, others = summary["deferred"], summary["others"]
    if not mine["jobs"]:
        return [("held", f"no job may be held ({mine['how']})")]
    late = f"; {mine['late']:,} later than they allow" if mine["late"] else ""
    rows = [
        (
            "held",
            f"{mine['held']:,} of {plural(mine['jobs'], 'job')} that may be ({mine['how']}), "
            f"{as_seconds(mine['hold_mean'])} on average; they would wait "
            f"{as_seconds(mine['wait_mean'])}{late}",
        )
    ]
    if others["jobs"]:
        rows.append(
            ("", f"{plural(others['jobs'], 'other')} would wait {as_seconds(others['wait_mean'])}")
        )
    return rows


def _measured(
    summary: dict[str, Any], wanted: Callable[[Measure], bool]
) -> Iterator[tuple[str, str]]:
    """Rows of the wanted measures that a run has; energies only where they are stated."""
    if "utilisation" not in summary:
        return
    for measure in in_table("simulate"):
        value = measure.of(summary)
        if math.isnan(value) or not wanted(measure):
            continue
        if not measure.rests_on_watts:
            note = _NOTES.get(measure.name, "")
            if measure.name == "mean_slowness" and value != 1.0:
                note += ": nodes differ in speed"
            if measure.name == "failures_met" and "nodes" not in summary:
                note = "of counted processors: idle ones go down first; --cluster names nodes"
            yield measure.label, f"{_text(measure, value)} {note}".rstrip()
        elif states_energy(summary):
            yield from _energy(summary, measure, value)
        elif measure.name == "energy_kwh" and "nodes" in summary:
            why = "not every node has watts; give watts and idle_watts in the cluster's file"
            yield "energy", f"not known: {why}"


def _is_beside_energy(measure: Measure) -> bool:
    """Whether a run on named nodes shows it beside its bill."""
    own = measure.function is not None or measure.needs == "failures"
    return (own and not measure.rests_on_watts) or measure.name in _SPEED


def _text(measure: Measure, value: float) -> str:
    """Write a number with its unit."""
    if measure.unit == "s":
        return as_seconds(value)
    if measure.unit == "share":
        return f"{measure.shown(value):.2f} %"
    unit = next((unit for unit in measure.units if unit.name == "kW"), measure.units[0])
    return f"{as_number(value / unit.size)} {unit.name}".rstrip()


def _energy(summary: dict[str, Any], measure: Measure, value: float) -> Iterator[tuple[str, str]]:
    """An energy, a power or a cost, with the watts that were assumed; of the bill its parts."""
    energy = summary["energy"]
    label, text = measure.label, _text(measure, value)
    if measure.name == "energy_kwh":
        if "peas_kwh" in energy:
            label = "full bill"
            jobs = f"{as_number(energy['peas_kwh'])} kWh, only processors of jobs, at full load"
            yield "energy of jobs", jobs
        parts = ", ".join(
            f"{name} {as_number(energy[f'{name}_joules'] / 3.6e6)}"
            for name in ("busy", "idle", "sleep", "entering", "leaving", "failed")
            if energy.get(f"{name}_joules", 0.0) or name in ("busy", "idle")
        )
        text += f" ({parts}), mean {as_number(energy['mean_watts'] / 1e3)} kW"
    elif measure.name == "cost":
        text = f"{text} {energy['currency']}".rstrip()
    assumed = assumed_watts(summary)
    yield label, f"{text}; {assumed}" if assumed else text


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
    table = new_table("", *(get(name).column(unit) for name in names))

    def add(label: str, part: Mapping[str, Any]) -> None:
        waits = (as_number(part["wait"][key] / scale) for key in ("mean", "median", "p95"))
        table.add_row(label, *waits, as_number(part["bounded_slowdown"]["mean"]))

    add("recorded: they waited", first)
    for name, section in sections.items():
        add(f"{name or 'simulated'}: they would wait", section["simulated"])
    console.print(f"\nthe {plural(first['jobs'], 'job')} whose wait the log records")
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
