"""``sojourn plan``: how many processors keep waits within a target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from ._options import CLEANING, READING, AsJson, Chosen, option, takes
from ._results import as_file, hand_over, picture
from ._run import cleaned_log, progress
from .stability import PictureFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..capacity import Plan

_INTERRUPTED = 130
_HOUR = 3600.0


@takes(
    *("log", "procs", "policy", "policy_file", "slurm_conf", "estimates", "over_limit"),
    *(READING, CLEANING),
    procs=option(
        "P",
        "Processors today; default: MaxProcs of the log. With --slurm-conf the default is "
        "its machine, which gets more or fewer nodes of each kind.",
        "Machine",
    ),
)
def plan(
    chosen: Chosen,
    *,
    target_wait: Annotated[
        list[str] | None,
        option(
            "MEASURE=LENGTH",
            "Longest wait wanted, such as p95=1h, mean=30m, max=2d; may be repeated, and all "
            "must hold. Default: p95=1h.",
        ),
    ] = None,
    growth: Annotated[
        float, option("G", "Arrivals G times as dense: times between submits divided by G.")
    ] = 1.0,
    step: Annotated[int, option("K", "Processors come in whole nodes of K.", "Machine")] = 1,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Find the smallest machine on which the waits of a log meet a target.

    Theory says where to look, simulation of the (grown) log confirms it size by size.

    Example: sojourn plan log.swf --growth 1.3 --target-wait p95=1h --step 16 --out DIR
    """
    from ..capacity.targets import parse_targets
    from ..policy.slurm import SlurmPolicy
    from ..run.folder import check_folder
    from ..run.outcome.unmodelled import not_acted_on

    targets = parse_targets(target_wait or "p95=1h")
    scenario = chosen.scenario
    scenario.check_parts()
    if out is not None:
        check_folder(out)
    policy, of_site = scenario.policy, scenario.keys.cluster.procs is None
    if of_site and isinstance(policy, SlurmPolicy):
        size = policy.cluster.procs
        jobs = scenario.cleaned(scenario.raw_log(), size)
    else:
        of_site = False
        jobs, size = cleaned_log(scenario)

    from ..capacity import plan as find

    with progress("planning") as report:
        answer = find(
            jobs,
            growth=growth,
            target=targets,
            policy=policy,
            procs=None if of_site else size,
            step=step,
            progress=report,
            estimates=scenario.keys.policy.estimates,
            over_limit=scenario.keys.policy.over_limit,
        )
    numbers = {
        **answer.as_dict(),
        "not_modelled": not_acted_on(jobs, policy, None, scenario.nodes if of_site else None),
        "cleaning": jobs.report.as_dict(),
    }
    files = {"plan.png": picture(lambda: _drawn(answer)), "plan.json": as_file(numbers)}
    shown = files if answer.sizes else {}
    hand_over(numbers, lambda: _show(answer, numbers, step), shown, json=json, out=out)
    if answer.interrupted:
        # Not as an error: what was found so far has been printed.
        raise SystemExit(_INTERRUPTED)


def _drawn(answer: Plan) -> Figure:
    from ..report import size_curves

    # A size that some job never fits on has no waits.
    sizes = [size for size in answer.sizes if math.isfinite(size.mean_wait)]
    return size_curves(
        [size.procs for size in sizes],
        {
            target.name: ([size.values[k] for size in sizes], target.limit)
            for k, target in enumerate(answer.targets)
        },
        [size.utilisation for size in sizes],
        theory={
            target.name: (answer.theory.procs, answer.theory.values[k])
            for k, target in enumerate(answer.targets)
        },
        chosen=answer.procs,
        today=answer.today,
        caption=f"{answer.policy}, arrivals x {answer.growth:g}",
    )


def _show(answer: Plan, numbers: dict[str, Any], step: int) -> None:

    from ..report.text import (
        Terminal,
        as_number,
        new_table,
        show_not_acted_on,
        show_recorded,
        show_report,
    )

    def hours(seconds: float) -> str:
        return as_number(seconds / _HOUR)

    show_report(numbers["cleaning"])
    console = Terminal()
    console.print(answer.verdict, style="bold", soft_wrap=True)
    show_not_acted_on(console, numbers["not_modelled"])
    console.print()
    demand = answer.demand
    simulated = (
        ""
        if answer.least_simulated is None
        else f", {answer.least_simulated:,} by simulating {answer.policy} with a long queue"
    )
    dense = "" if answer.growth == 1 else f"{answer.growth:g} times as dense "
    rows = [
        ("jobs", f"{demand.jobs:,}, arrivals {dense}as in the log"),
        ("busy", f"{as_number(demand.busy)} processors on average; the widest job has "
         f"{demand.widest:,}"),
        ("keeps up", f"{answer.least_exponential:,} processors by theory (fcfs, exponential "
         f"runtimes){simulated}"),
        ("first guess", f"{answer.first_guess:,} processors by the theory of waits")
    ]  # fmt: skip
    if answer.step > step:
        rows.append(("sizes", f"multiples of {answer.step:,}, about 0.2 % of the machine"))
    if answer.today <= demand.busy:
        rows.append(("today", f"{answer.today:,} processors cannot keep up, whatever the policy"))
    if answer.procs is not None and answer.bounded_by_widest:
        rows.append(("bound", "no smaller machine holds the widest job"))
    if answer.also:
        listed = ", ".join(f"{size:,}" for size in answer.also)
        rows.append(("by chance", f"{listed} would meet it too, though a larger one would not"))
    for target, interval in zip(answer.targets, answer.intervals, strict=False):
        ends = (
            f"95 % interval {hours(interval.low)} to {hours(interval.high)} h by resampling weeks"
        )
        spread = ends if math.isfinite(interval.low) else "too few weeks for an interval"
        rows.append((target.name, f"{hours(interval.value)} h, {spread}"))
    if answer.weeks:
        met = sum(week.met for week in answer.weeks)
        share = f"{100 * answer.weeks_met:.0f} %"
        rows.append(("weeks", f"held in {met:,} of {len(answer.weeks):,} ({share})"))
    console.facts(rows)
    console.print()
    names = [target.name for target in answer.targets]
    table = new_table(
        "processors",
        *(f"{name}\nwait h" for name in names),
        *(f"{name}\ntheory h" for name in names),
        *(() if "mean" in names else ("mean\nwait h",)),
        *("utili-\nsation", "met"),
    )
    for size in answer.sizes:
        mark = " <- smallest" if size.procs == answer.procs else ""
        table.add_row(
            f"{size.procs:,}{' (today)' if size.procs == answer.today else ''}{mark}",
            *(hours(value) for value in size.values),
            *(hours(value) for value in size.expected),
            *(() if "mean" in names else (hours(size.mean_wait),)),
            f"{100 * size.utilisation:.1f} %",
            "yes" if size.met else "no",
        )
    console.print(table)
    notes = (
        "wait: what jobs would wait, simulated; theory: what it expects of fcfs with exponential "
        "runtimes"
    )
    console.note(notes)
    if answer.recorded is not None:
        without = "" if answer.growth == 1 else " without growth"
        today = f"{answer.policy} on {answer.today:,} processors{without}"
        show_recorded(console, {today: answer.recorded})
