"""``sojourn plan``: how many processors keep waits within a target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from ._options import CLEANING, READING, AsJson, Chosen, option, takes
from ._results import as_file, hand_over, picture
from ._run import cleaned_log, progress
from .stability import PictureFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..capacity import Plan

_INTERRUPTED = 130


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
    from ..report.text.capacity import show_plan
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
        "not_modelled": [
            *not_acted_on(jobs, policy, None, scenario.nodes if of_site else None),
            *answer.not_modelled,
        ],
        "cleaning": jobs.report.as_dict(),
    }
    files = {"plan.png": picture(lambda: _drawn(answer)), "plan.json": as_file(numbers)}
    shown = files if answer.sizes else {}
    hand_over(numbers, lambda: show_plan(answer, numbers, step), shown, json=json, out=out)
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
