"""``sojourn limits``: what time limits do to the jobs of a log."""

from __future__ import annotations

from typing import Annotated

from ..errors import OptionError
from ._options import READING, AsJson, Chosen, option, takes
from ._results import hand_over, picture
from .fit import PictureFolder, Tolerance, Widest, fitted_jobs


@takes("log", READING)
def limits(
    chosen: Chosen,
    *,
    target: Annotated[float, option("SHARE", "Probability of completion aimed at.")] = 0.9,
    limits: Annotated[
        str,
        option(
            "each|shared", "Limits of a job's processors that the picture shows: their own, or one."
        ),
    ] = "each",
    procs: Widest = None,
    tolerance: Tolerance = 0.0,
    out: PictureFolder = None,
    json: AsJson = False,
) -> None:
    """Show how many jobs finish within their time limits, and at which limit enough would.

    Example: sojourn limits log.swf.gz --target 0.95 --out DIR
    """
    if limits not in ("each", "shared"):
        raise OptionError(f"--limits '{limits}': choose each or shared")
    jobs = fitted_jobs(chosen.scenario, procs, out)

    from ..capacity.limits import picture as draw
    from ..capacity.limits import time_limits
    from ..report.text.fitting import show_limits

    answer = time_limits(jobs, target=target, tolerance=tolerance)
    numbers = {**answer.as_dict(), "cleaning": jobs.report.as_dict()}
    files = {"limits.png": picture(lambda: draw(answer, limits))}
    hand_over(numbers, lambda: show_limits(numbers), files, json=json, out=out)
