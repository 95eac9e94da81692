"""``sojourn stability``: whether a machine keeps up with a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ._options import CLEANING, READING, AsJson, Chosen, option, takes
from ._results import as_file, hand_over, picture
from ._run import cleaned_log, progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..capacity import Stability

PictureFolder = Annotated[Path | None, option("DIR", "Folder for the picture and the numbers.")]


@takes("log", "procs", "estimates", "over_limit", READING, CLEANING)
def stability(
    chosen: Chosen,
    *,
    policy: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Policy to simulate saturated, as for simulate; may be repeated. Default: fcfs "
            "and easy.",
            "Scheduling",
        ),
    ] = None,
    batch: Annotated[
        int | None, option("N", "Jobs of a saturated run; default: by policy.", min=10)
    ] = None,
    seed: Annotated[int, option("S", "Seed of the draws.", min=0)] = 0,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Say whether a machine keeps up with a log, by what margin, and the smallest that would.

    Two answers side by side: the formula, exact for exponential service times, and a saturated
    simulation of the log's own jobs.

    Example: sojourn stability log.swf --procs 80 --policy fcfs --policy easy --out DIR
    """
    from ..policy import parse_policy
    from ..report.text.capacity import show_stability
    from ..run.folder import check_folder
    from ..run.outcome.unmodelled import not_acted_on

    scenario = chosen.scenario
    policies = [parse_policy(name) for name in policy or ("fcfs", "easy")]
    if out is not None:
        check_folder(out)
    jobs, size = cleaned_log(scenario)

    from ..capacity import stability as examine

    with progress("saturating") as report:
        answer = examine(
            jobs,
            size,
            policies=policies,
            batch=batch,
            seed=seed,
            progress=report,
            estimates=scenario.keys.policy.estimates,
            over_limit=scenario.keys.policy.over_limit,
        )
    numbers = {
        **answer.as_dict(),
        "not_modelled": list(
            dict.fromkeys(
                words
                for one in policies
                for words in (*not_acted_on(jobs, one), *getattr(one, "not_modelled", ()))
            )
        ),
        "cleaning": jobs.report.as_dict(),
    }
    files = {
        "stability.png": picture(lambda: _drawn(answer)),
        "stability.json": as_file(numbers),
    }
    hand_over(numbers, lambda: show_stability(answer, numbers), files, json=json, out=out)


def _drawn(answer: Stability) -> Figure:
    from ..report import stability_curves

    demand = answer.demand
    return stability_curves(answer.curve, demand.arrival_rate, answer.procs, busy=demand.busy)
