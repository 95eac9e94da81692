"""Whether a machine keeps up, and how large it must be: the verdict, theory, and what was tried."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ...errors import plural
from .facts import show_report
from .layout import HOUR, Terminal, as_number, as_seconds, new_table
from .summary import show_not_acted_on, show_recorded

if TYPE_CHECKING:
    from ...capacity import Plan, Stability

_NOTABLE = 0.05
"""Dependence of width and service time that is worth a word."""


def show_stability(answer: Stability, numbers: dict[str, Any]) -> None:
    """Print whether a machine keeps up with a log; `numbers` as ``stability.json`` has them."""
    show_report(numbers["cleaning"])
    console = Terminal()
    console.print(answer.verdict, style="bold", soft_wrap=True)
    show_not_acted_on(console, numbers["not_modelled"])
    console.print()
    console.facts(_load(answer))
    console.below(_bounds(answer))
    notes = [
        "rho: work that arrives over what the machine could do; below 1 it keeps up",
        "margin: by how much arrivals could grow; own jobs are drawn from the log at random",
    ]
    if any(bound.name != "fcfs" for bound in answer.simulated):
        notes.append("policies other than fcfs: the rate at which they clear a long backlog")
    console.note("\n".join(notes))


def _load(answer: Stability) -> list[tuple[str, str]]:
    """The machine, what its jobs ask of it, and the stability constant."""
    demand = answer.demand
    rows = [
        ("machine", f"{plural(answer.procs, 'processor')}; the widest job has {demand.widest:,}"),
        ("jobs", f"{demand.jobs:,}, {as_number(HOUR * demand.arrival_rate)} an hour"),
        ("service", f"mean {as_seconds(demand.mean_service)}, "
         f"{as_number(demand.mean_width)} processors"),
        ("offered", f"{100 * answer.offered:.2f} % of the machine"),
        ("C", f"{answer.constant:.6g}, the stability constant: mean of 1 / (jobs that fit on the "
         "machine at once)")
    ]  # fmt: skip
    if abs(demand.dependence - 1) > _NOTABLE:
        way = "longer" if demand.dependence > 1 else "shorter"
        because = f"mean processor time is {demand.dependence:.3g} x mean width x mean service"
        rows.append(("dependence", f"{because}: wide jobs run {way}, which C does not know"))
    if answer.unaccepted:
        rows.append(("left out", f"{plural(answer.unaccepted, 'job')} wider than the machine"))
    return rows


def _bounds(answer: Stability) -> Table:
    """The largest load of each policy, by theory and by simulation."""
    table = new_table(
        "",
        "rho",
        "largest\njobs/h",
        "95 %\ninterval",
        "busy at\nmost",
        "margin",
        "smallest\nstable",
    )
    for bound in (answer.exponential, *answer.simulated):
        exact = bound is answer.exponential
        rate = bound.max_rate
        ends = (as_number(HOUR * end) for end in (rate.low, rate.high))
        table.add_row(
            "fcfs, exponential (exact)" if exact else f"{bound.name}, own jobs (simulated)",
            f"{bound.load:.4f}",
            as_number(HOUR * rate.value),
            "" if exact else " - ".join(ends),
            f"{100 * bound.utilisation:.1f} %",
            f"{100 * bound.margin:+.1f} %",
            f"{bound.smallest:,}",
        )
    return table


def show_plan(plan: Plan, numbers: dict[str, Any], step: int) -> None:
    """Print the smallest machine on which waits meet their targets.

    Parameters
    ----------
    plan : what was found.
    numbers : as ``plan.json`` has them.
    step : processors of a node.
    """
    show_report(numbers["cleaning"])
    console = Terminal()
    console.print(plan.verdict, style="bold", soft_wrap=True)
    show_not_acted_on(console, numbers["not_modelled"])
    console.print()
    console.facts([*_demand(plan), *_answer(plan, step)])
    console.below(_sizes(plan))
    console.note(
        "wait: what jobs would wait, simulated; theory: what it expects of fcfs with exponential "
        "runtimes"
    )
    if plan.recorded is not None:
        without = "" if plan.growth == 1 else " without growth"
        today = f"{plan.policy} on {plural(plan.today, 'processor')}{without}"
        show_recorded(console, {today: plan.recorded})


def _hours(seconds: float) -> str:
    return as_number(seconds / HOUR)


def _demand(plan: Plan) -> list[tuple[str, str]]:
    """What the jobs ask for, and where theory says to look."""
    demand = plan.demand
    dense = "" if plan.growth == 1 else f"{plan.growth:g} times as dense "
    simulated = ""
    if plan.least_simulated is not None:
        simulated = f", {plan.least_simulated:,} by simulating {plan.policy} with a long queue"
    return [
        ("jobs", f"{demand.jobs:,}, arrivals {dense}as in the log"),
        ("busy", f"{as_number(demand.busy)} processors on average; the widest job has "
         f"{demand.widest:,}"),
        ("keeps up", f"{plural(plan.least_exponential, 'processor')} by theory (fcfs, exponential "
         f"runtimes){simulated}"),
        ("first guess", f"{plural(plan.first_guess, 'processor')} by the theory of waits")
    ]  # fmt: skip


def _answer(plan: Plan, step: int) -> list[tuple[str, str]]:
    """What bounds the machine, and how sure its waits are."""
    rows = []
    if plan.step > step:
        rows.append(("sizes", f"multiples of {plan.step:,}, about 0.2 % of the machine"))
    if plan.today <= plan.demand.busy:
        rows.append(
            ("today", f"{plural(plan.today, 'processor')} cannot keep up, whatever the policy")
        )
    if plan.procs is not None and plan.bounded_by_widest:
        rows.append(("bound", "no smaller machine holds the widest job"))
    if plan.also:
        listed = ", ".join(f"{size:,}" for size in plan.also)
        rows.append(("by chance", f"{listed} would meet it too, though a larger one would not"))
    for target, interval in zip(plan.targets, plan.intervals, strict=False):
        ends = f"{_hours(interval.low)} to {_hours(interval.high)} h by resampling weeks"
        is_known = math.isfinite(interval.low)
        spread = f"95 % interval {ends}" if is_known else "too few weeks for an interval"
        rows.append((target.name, f"{_hours(interval.value)} h, {spread}"))
    if plan.weeks:
        met = sum(week.met for week in plan.weeks)
        share = f"{100 * plan.weeks_met:.0f} %"
        rows.append(("weeks", f"held in {met:,} of {len(plan.weeks):,} ({share})"))
    return rows


def _sizes(plan: Plan) -> Table:
    """Waits by the number of processors."""
    names = [target.name for target in plan.targets]
    table = new_table(
        "processors",
        *(f"{name}\nwait h" for name in names),
        *(f"{name}\ntheory h" for name in names),
        *(() if "mean" in names else ("mean\nwait h",)),
        *("utili-\nsation", "met"),
    )
    for size in plan.sizes:
        mark = " <- smallest" if size.procs == plan.procs else ""
        table.add_row(
            f"{size.procs:,}{' (today)' if size.procs == plan.today else ''}{mark}",
            *(_hours(value) for value in size.values),
            *(_hours(value) for value in size.expected),
            *(() if "mean" in names else (_hours(size.mean_wait),)),
            f"{100 * size.utilisation:.1f} %",
            "yes" if size.met else "no",
        )
    return table
