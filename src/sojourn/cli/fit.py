"""``sojourn fit``: the parameters of the models, from a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ._options import READING, AsJson, Chosen, option, takes
from ._results import hand_over, picture

if TYPE_CHECKING:
    from ..jobs import Jobs
    from ..run.scenario import Scenario


Widest = Annotated[
    int | None, option("P", "Leave out jobs of more than P processors.", "Jobs", min=1)
]
Tolerance = Annotated[
    float,
    option(
        "S",
        "A job that did not complete counts as killed from S seconds before its limit.",
        "Jobs",
        min=0.0,
    ),
]
PictureFolder = Annotated[Path | None, option("DIR", "Write the picture there.")]


def fitted_jobs(scenario: Scenario, procs: int | None, out: Path | None) -> Jobs:
    """Return the jobs of a log after the cleaning that a fit allows; see that results can go."""
    from ..jobs.clean import cleaned
    from ..run.folder import check_folder
    from ..theory.fit import FITTED

    if out is not None:
        check_folder(out)
    rules = FITTED if procs is None else (*FITTED, "too-wide")
    return cleaned(scenario.raw_log(), procs or 0, rules, strict=scenario.keys.workload.strict)


@takes("log", READING)
def fit(
    chosen: Chosen,
    *,
    reading: Annotated[
        str, option("job|sub-request", "One service and one limit per job, or per processor of it.")
    ] = "job",
    limits: Annotated[
        str, option("each|shared", "Limits of sub-requests: their own, or one.")
    ] = "each",
    limits_from: Annotated[
        str,
        option(
            "ends|estimates",
            "Limit rate from when jobs were removed, or from the times users asked for.",
        ),
    ] = "ends",
    served: Annotated[
        str, option("CLASS,...", "Ends that count as the end of service.")
    ] = "completed,failed",
    removed: Annotated[
        str, option("CLASS,...", "Ends that count as removal; what is in neither list is censored.")
    ] = "killed,cancelled",
    procs: Widest = None,
    tolerance: Tolerance = 0.0,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Fit arrivals, widths, service and limits to a log, and say where the model fails.

    Example: sojourn fit log.swf.gz --out DIR
    """
    jobs = fitted_jobs(chosen.scenario, procs, out)

    from ..report.text.fitting import show_fit
    from ..theory import fit_model

    model = fit_model(
        jobs,
        reading=reading,
        limits=limits,
        limits_from=limits_from,
        served=_listed(served),
        removed=_listed(removed),
        tolerance=tolerance,
    )

    from ..report import fitted

    numbers = {**model.as_dict(), "cleaning": jobs.report.as_dict()}
    files = {"fit.png": picture(lambda: fitted(model, jobs.submit))}
    hand_over(numbers, lambda: show_fit(numbers), files, json=json, out=out)


def _listed(text: str) -> list[str]:
    """Return the words of a list."""
    return [word.strip() for word in text.split(",") if word.strip() not in ("", "none")]
