"""The measures of every run, in the order in which tables have them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .entry import Measure

STATISTICS = {
    "mean": ("mean {}", "mean"),
    "median": ("median {}", "median"),
    "p90": ("90th percentile of {}", "90 %"),
    "p95": ("95th percentile of {}", "95 %"),
    "p99": ("99th percentile of {}", "99 %"),
    "max": ("maximum {}", "max"),
}
"""What a summary has of every distribution: its label, and the heading of a column."""

DISTRIBUTIONS = {
    "wait": Measure(
        "wait", "wait", "s", "lower", kind="job", heading="wait {unit}",
        meaning="start less submit", source="delay [rumyantsev2018, sec. II-B]",
    ),
    "sojourn": Measure(
        "sojourn", "response time", "s", "lower", kind="job", heading="resp. {unit}",
        meaning="end less submit: the sojourn time", source="[gomez2012, eq. 4]",
    ),
    "service": Measure(
        "service", "time in service", "s", "lower", kind="job", heading="service {unit}",
        meaning="how long a job ran, preemptions left out",
    ),
    "slowdown": Measure(
        "slowdown", "slowdown", "", "lower", low=1.0, kind="job", heading="slowdown",
        meaning="response time over time in service", source="erratum 3",
    ),
    "bounded_slowdown": Measure(
        "bounded_slowdown", "bounded slowdown", "", "lower", low=1.0, kind="job",
        heading="bounded slowdown",
        meaning="response time over time in service, or over 10 s if that is more; at least 1",
    ),
}  # fmt: skip
"""Measures of every job, of which a run has a distribution; by their column in the job table."""

_SHOWN = {
    "wait_mean": ("compare", "sweep", "report"),
    "wait_median": ("compare",),
    "wait_p95": ("compare", "sweep", "report"),
    "sojourn_mean": ("compare",),
    "bounded_slowdown_mean": ("compare", "sweep", "report"),
}
_HEADINGS = {"bounded_slowdown_mean": "bounded\nslowdown"}


def _of_jobs() -> Iterator[Measure]:
    for stem, what in DISTRIBUTIONS.items():
        for statistic, (label, short) in STATISTICS.items():
            name = f"{stem}_{statistic}"
            yield Measure(
                name,
                label.format(what.label),
                what.unit,
                what.better,
                (stem, statistic),
                what.low,
                kind="job",
                # Nodes differ in speed, so that a wait says only half of how a job was served.
                needs="nodes" if name == "sojourn_mean" else "",
                tables=_SHOWN.get(name, ()),
                heading=_HEADINGS.get(name, f"{short}\n{what.heading}"),
                meaning=what.meaning,
                source=what.source,
            )


def _of_held() -> Iterator[Measure]:
    """Measures of jobs that may be held for cheap or clean electricity, and of all others."""
    for stem, who, short in (
        ("deferred", "jobs that may be held", "held"),
        ("others", "all other jobs", "others"),
    ):

        def of(
            name: str,
            label: str,
            unit: str = "",
            better: str = "lower",
            *,
            kind: str = "job",
            low: float = 0.0,
            heading: str = "",
            meaning: str = "",
            stem: str = stem,
        ) -> Measure:
            tables = ("compare", "sweep") if name == "wait_mean" else ()
            return Measure(
                f"{stem}_{name}", label, unit, better, (stem, name), low, kind=kind, needs="defer",
                tables=("compare",) if name == "late" else tables, heading=heading,
                meaning=meaning,
            )  # fmt: skip

        yield of("jobs", who, better="", kind="count", meaning="for cheap or clean electricity")
        if stem == "deferred":
            yield of("held", "jobs held", better="", kind="count", meaning="for any time")
            yield of(
                "late", "held jobs that are late", kind="count", heading="held,\nlate",
                meaning="start after the latest start that they allow; in pieces, end after their "
                "deadline",
            )  # fmt: skip
            what = "from when they come to when they are let into the queue"
            yield of("hold_mean", "mean time held", "s", "", meaning=f"of {who}: {what}")
            yield of("hold_max", "longest time held", "s", "", meaning=what)
        yield of(
            "wait_mean", f"mean wait of {who}", "s", heading=f"{short}: mean\nwait {{unit}}",
            meaning="start less submit, the time held with it",
        )  # fmt: skip
        yield of("wait_p95", f"95th percentile of the wait of {who}", "s")
        yield of("joules", f"energy of {who}", "J", kind="energy", meaning="of their processors")
        yield of("cost", f"cost of the energy of {who}", kind="cost", low=-math.inf)
        yield of("carbon_kg", f"carbon dioxide of {who}", "kg", kind="cost")


def _of_sleep() -> Iterator[Measure]:
    """Measures of nodes that sleep."""

    def of(
        name: str, label: str, unit: str, better: str, key: str, kind: str, meaning: str,
        heading: str = "",
    ) -> Measure:  # fmt: skip
        return Measure(
            name, label, unit, better, ("energy" if kind == "energy" else "sleep", key),
            kind=kind, needs="sleep", heading=heading, meaning=meaning,
        )  # fmt: skip

    yield of("boots", "boots", "", "lower", "boots", "count", "every start of one", "boots")
    yield of(
        *("booted_jobs", "jobs that waited for a boot", "", "lower", "jobs_that_waited", "count"),
        *("of their nodes", "jobs\nbooting"),
    )
    yield of(
        *("boot_wait_mean", "mean wait for boots", "s", "lower", "mean_boot_wait", "job"),
        *("of jobs that waited for one: from when they held their nodes", "boot\nwait {unit}"),
    )
    for state, doing in (
        ("sleep", "are asleep"),
        ("entering", "go to sleep"),
        ("leaving", "boot"),
        ("failed", "have failed, or failed to boot"),
    ):
        key = f"{state}_node_seconds"
        better = "lower" if state == "failed" else ""
        yield of(
            key,
            f"time in which nodes {doing}",
            "node s",
            better,
            key,
            "system",
            "summed over nodes",
        )
        if state != "failed":
            key = f"{state}_joules"
            yield of(key, f"energy of nodes that {doing}", "J", "lower", key, "energy", "")


CATALOGUE = (
    *_of_jobs(),
    Measure(
        "weighted_response", "response time weighted by width", "s", "lower", kind="job",
        meaning="mean of response times, weighted by processors (ARTwW)",
        source="[gomez2012, sec. 5]",
    ),
    Measure(
        "weighted_slowdown", "slowdown weighted by processor time", "", "lower", low=1.0,
        kind="job", meaning="mean of slowdowns, weighted by processors × service (SLDwA)",
        source="[gomez2012, sec. 5]",
    ),
    Measure(
        "awt", "average waiting time", "s", "lower", kind="job", needs="nodes",
        meaning="the mean wait, under the name of the paper", source="[gomez2012, eq. 3]",
    ),
    Measure(
        "art", "average response time", "s", "lower", kind="job", needs="nodes",
        meaning="the mean response time, under the name of the paper", source="[gomez2012, eq. 4]",
    ),
    Measure(
        "utilisation", "utilisation", "share", "higher", high=1.0,
        tables=("simulate", "compare", "sweep", "report"), heading="utili-\nsation {unit}",
        meaning="busy processor time over processors × makespan; a job on whole nodes keeps all of "
        "their processors busy", source="mean φ / c",
    ),
    Measure(
        "makespan", "makespan", "s", "lower", tables=("simulate", "compare", "report"),
        heading="makespan\n{unit}", meaning="from the first submit to the last end", source="T",
    ),
    Measure(
        "mean_slowness", "mean slowness", "", "lower", kind="job", needs="nodes",
        tables=("simulate",),
        meaning="how many times longer than recorded a job ran, where nodes differ in speed",
        source="[gomez2012, eq. 2]",
    ),
    Measure(
        "throughput", "throughput", "jobs/s", "higher", tables=("simulate",),
        meaning="jobs that ended over makespan",
    ),
    Measure(
        "mean_queue", "mean queue length", "jobs", "lower", tables=("simulate", "report"),
        meaning="jobs that wait", source="mean Q [rumyantsev2018, eq. 12]",
    ),
    Measure(
        "mean_present", "mean number of jobs present", "jobs", "lower",
        meaning="jobs that wait or run", source="mean ν [rumyantsev2018, eq. 12]",
    ),
    Measure(
        "mean_busy", "mean number of busy processors", "processors",
        source="mean φ [rumyantsev2018, eq. 12]",
    ),
    Measure(
        "mean_workload", "mean workload", "s of work", "lower",
        meaning="work of the jobs present that is left: exact time average",
        source="mean W [rumyantsev2018, eq. 12]",
    ),
    Measure(
        "mean_workload_at_epochs", "mean workload at epochs", "s of work", "lower",
        meaning="the same from the values at epochs, as printed",
        source="[rumyantsev2018, eq. 12]",
    ),
    Measure(
        "potential_load", "potential load", "processors", meaning="processors × rate if all could "
        "be used while jobs wait", source="erratum 9",
    ),
    Measure(
        "effective_load", "effective load", "processors", tables=("simulate",),
        meaning="processors at work × rate: work done per second", source="mean R φ",
    ),
    Measure(
        "job_wasting", "job wasting", "processors", "lower", tables=("simulate",),
        meaning="processors × rate idle while jobs wait: potential less effective load",
        source="[rumyantsev2018, eq. 10]",
    ),
    Measure("rate_switches", "changes of the rate", meaning="of service, during the run"),
    Measure(
        "energy_kwh", "energy", "kWh", "lower", ("energy", "total_kwh"), kind="energy",
        tables=("simulate", "compare", "sweep", "report"), heading="energy\n{unit}",
        meaning="of busy and idle servers; the integral of the power",
        source="[rumyantsev2018, eqs. 11 and 12]",
    ),
    Measure(
        "peas_kwh", "energy of jobs at full load", "kWh", "lower", ("energy", "peas_kwh"),
        kind="energy", needs="nodes", tables=("compare",), heading="jobs'\n{unit}",
        meaning="only processors of jobs, at full load", source="[gomez2012, eq. 5]",
    ),
    Measure(
        "power_peak", "peak power", "W", "lower", ("energy", "power_peak"), kind="energy",
        tables=("simulate", "compare", "report"), heading="peak\n{unit}",
        meaning="the most that the machine draws for any time at all",
    ),
    Measure(
        "mean_watts", "mean power", "W", "lower", ("energy", "mean_watts"), kind="energy",
        meaning="energy over makespan", source="[rumyantsev2018, eq. 12]",
    ),
    Measure(
        "total_joules", "energy in joules", "J", "lower", ("energy", "total_joules"),
        kind="energy", meaning="of busy and idle servers",
        source="[rumyantsev2018, eqs. 11 and 12]",
    ),
    Measure(
        "busy_joules", "energy of busy processors", "J", "lower", ("energy", "busy_joules"),
        kind="energy", meaning="sum of the energies of jobs", source="[rumyantsev2018, eq. 9]",
    ),
    Measure(
        "idle_joules", "energy of idle processors", "J", "lower", ("energy", "idle_joules"),
        kind="energy", meaning="of servers that are not busy", source="[rumyantsev2018, eq. 11]",
    ),
    Measure(
        "failed_joules", "energy of failed nodes", "J", "lower", ("energy", "failed_joules"),
        kind="energy", needs="failures", meaning="that draw power while they are down",
    ),
    Measure(
        "energy_delay", "energy-delay product", "J s", "lower", ("energy", "energy_delay"),
        kind="energy", meaning="energy × makespan", source="[gomez2012, sec. 5]",
    ),
    Measure(
        # Electricity may be so cheap that one is paid for taking it.
        "cost", "cost of energy", "", "lower", ("energy", "cost"), low=-math.inf, kind="cost",
        needs="price", tables=("simulate", "compare", "sweep", "report"), heading="cost",
        meaning="energy at the price of the tariff, in its currency",
    ),
    Measure(
        "carbon_kg", "carbon dioxide", "kg", "lower", ("energy", "carbon_kg"), kind="cost",
        needs="carbon", tables=("simulate", "compare", "sweep", "report"), heading="CO2\n{unit}",
        meaning="emissions of the energy",
    ),
    *_of_sleep(),
    *_of_held(),
    Measure("procs", "processors", kind="count", meaning="size of the machine", source="c"),
    Measure("nodes", "nodes", kind="count", needs="nodes", meaning="of the machine"),
    Measure("jobs", "jobs", kind="count", meaning="left by cleaning"),
    Measure("completed", "completed jobs", kind="count", meaning="that ran to their end"),
    Measure(
        "killed", "killed jobs", kind="count", tables=("compare",), heading="killed\njobs",
        meaning="at their time limit, or by events",
    ),
    Measure("unaccepted", "jobs not accepted", kind="count", meaning="that can never fit"),
    Measure(
        "begin_jobs", "jobs that begin later", "", "", ("begin", "jobs"), kind="count",
        meaning="that asked to begin later than their submit",
    ),
    Measure(
        "cancelled", "cancelled jobs", "", "", ("events", "cancelled"), kind="events",
        needs="events", tables=("compare",), heading="cancel-\nled",
        meaning="before they started",
    ),
    Measure(
        "restarts", "restarts", "", "", ("events", "restarts"), kind="events",
        needs="events", tables=("compare",), heading="re-\nstarts",
        meaning="of jobs whose node failed",
    ),
    Measure(
        "events_killed", "jobs killed by events", "", "", ("events", "killed"), kind="events",
        needs="events", meaning="whose node failed, and that were not started again",
    ),
    Measure(
        "events_waiting", "jobs that wait for ever", "", "", ("events", "waiting"),
        kind="events", needs="events", meaning="for nodes that do not come back",
    ),
    Measure(
        "events_given", "events", "", "", ("events", "given"), kind="events", needs="events",
        meaning="that were given",
    ),
    Measure(
        "events_lost_processor_seconds", "processor time lost", "processor s", "lower",
        ("events", "lost_processor_seconds"), kind="events", needs="events",
        meaning="of attempts that came to nothing",
    ),
    Measure(
        "events_down_processor_seconds", "processor time down", "processor s", "",
        ("events", "down_processor_seconds"), kind="events", needs="events",
        meaning="until the last job has left",
    ),
    Measure(
        "failures_met", "failures", "", "", ("failures", "failures"), kind="events",
        needs="failures", tables=("simulate", "compare", "report"), heading="fail-\nures",
        meaning="of nodes, or of counted processors, from the first submit to the last end",
    ),
    Measure(
        "struck", "jobs stopped by failures", "", "", ("failures", "struck"), kind="events",
        needs="failures", tables=("simulate",), meaning="how often one was, killed or not",
    ),
    Measure(
        "availability", "availability", "share", "higher", ("failures", "availability"), high=1.0,
        kind="events", needs="failures", tables=("simulate", "report"),
        meaning="processor time that is not down over processors × makespan",
    ),
    Measure(
        "goodput", "goodput", "share", "higher", ("failures", "goodput"), high=1.0, kind="events",
        needs="failures", tables=("simulate", "compare", "sweep", "report"),
        heading="good-\nput {unit}",
        meaning="useful processor time over all that jobs held: without what is lost, dumped and "
        "restored",
    ),
    Measure(
        "lost_core_hours", "lost work", "core h", "lower", ("failures", "lost_core_hours"),
        kind="events", needs="failures", tables=("simulate", "compare", "sweep", "report"),
        heading="lost\n{unit}",
        meaning="processor time that has to be spent again, or came to nothing",
    ),
    Measure(
        "dump_core_hours", "dumps", "core h", "lower", ("failures", "dump_core_hours"),
        kind="events", needs="failures", tables=("simulate", "report"),
        meaning="processor time of checkpoints that were finished and not lost",
    ),
    Measure(
        "restore_core_hours", "restores", "core h", "lower", ("failures", "restore_core_hours"),
        kind="events", needs="failures", meaning="processor time of coming back from checkpoints",
    ),
    Measure(
        "useful_core_hours", "useful work", "core h", "", ("failures", "useful_core_hours"),
        kind="events", needs="failures", meaning="processor time that counts in the end",
    ),
    Measure(
        "done_core_hours", "work done", "core h", "", ("failures", "done_core_hours"),
        kind="events", needs="failures", meaning="processor time of all jobs, in all attempts",
    ),
    Measure(
        "lost_kwh", "energy of lost work", "kWh", "lower", ("failures", "lost_kwh"),
        kind="energy", needs="failures", tables=("simulate", "report"),
        meaning="a part of the energy of busy processors",
    ),
)  # fmt: skip
"""Every number of a summary that is a measure."""

HEADLINE = (
    *("wait_mean", "energy_kwh", "bounded_slowdown_mean"),
    *("utilisation", "makespan", "power_peak"),
)
"""What a page speaks of first, in this order, where it is known."""
