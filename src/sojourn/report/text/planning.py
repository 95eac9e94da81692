"""How large a machine must be: the verdict, where theory looked, and the sizes that were tried."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.table import Table

from .facts import show_report
from .layout import HOUR, Terminal, as_number, new_table
from .summary import show_not_acted_on, show_recorded

if TYPE_CHECKING:
    from ...capacity import Plan


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
        today = f"{plan.policy} on {plan.today:,} processors{without}"
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
        ("keeps up", f"{plan.least_exponential:,} processors by theory (fcfs, exponential "
         f"runtimes){simulated}"),
        ("first guess", f"{plan.first_guess:,} processors by the theory of waits")
    ]  # fmt: skip


def _answer(plan: Plan, step: int) -> list[tuple[str, str]]:
    """What bounds the machine, and how sure its waits are."""
    rows = []
    if plan.step > step:
        rows.append(("sizes", f"multiples of {plan.step:,}, about 0.2 % of the machine"))
    if plan.today <= plan.demand.busy:
        rows.append(("today", f"{plan.today:,} processors cannot keep up, whatever the policy"))
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
