"""``sojourn generate``: synthetic logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import OptionError, plural
from ._options import Command, VerbGroup, option

Jobs = Annotated[int, option("N", "Number of jobs.")]
Procs = Annotated[int, option("P", "Processors of the machine.")]
Load = Annotated[float | None, option("L", "Offered load: work over what the machine could do.")]
Seed = Annotated[int, option("S", "The only source of randomness.", min=0)]
Out = Annotated[Path, option("FILE", "Log to write: .swf, .csv or .parquet [.gz, .xz].")]
Estimates = Annotated[str, option("exact|tsafrir|FACTOR", "Estimates of the users.")]


generate = typer.Typer(
    name="generate",
    cls=VerbGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Make a synthetic log.\n\n"
    "Example: sojourn generate lublin --jobs 10000 --procs 256 --load 0.8 --out log.swf.gz",
)


@generate.command(cls=Command)
def lublin(
    out: Out,
    jobs: Jobs = 10_000,
    procs: Procs = 256,
    load: Load = None,
    seed: Seed = 0,
    estimates: Estimates = "exact",
    type: Annotated[
        str, option("all|batch|interactive|both", "Published parameters of which jobs.")
    ] = "all",
) -> None:
    """Jobs of the Lublin-Feitelson model: widths, runtimes, and arrivals with a daily cycle.

    Example: sojourn generate lublin --jobs 10000 --procs 256 --load 0.8 --seed 1 --out log.swf.gz
    """
    from ..jobs import write_log
    from ..jobs.models.lublin import lublin as model
    from ..run.keys.typed import number_or_text

    made = model(
        jobs,
        procs,
        load=load,
        seed=seed,
        parameters=type,
        estimates=number_or_text(estimates),
    )
    write_log(made, out)
    print(f"{plural(len(made), 'job')} written to {out}")


@generate.command(cls=Command)
def poisson(
    out: Out,
    jobs: Jobs = 10_000,
    procs: Procs = 256,
    load: Load = None,
    seed: Seed = 0,
    interarrival: Annotated[
        str,
        option(
            "KIND[:MEAN[:SHAPE]]",
            "Seconds between arrivals: exponential:MEAN (a Poisson process), "
            "deterministic:MEAN, hyperexponential:MEAN:CV2 or erlang:MEAN:K. With --load "
            "the mean follows from it and may be left out (erlang::4).",
        ),
    ] = "exponential",
    work: Annotated[
        str, option("KIND:MEAN[:SHAPE]", "Work of a job, seconds, as above.")
    ] = "exponential:3600",
    width: Annotated[
        str,
        option(
            "WIDTHS", "Processors of a job: N, uniform:LOW-HIGH, geometric:P or 1=0.5,2=0.3,4=0.2."
        ),
    ] = "1",
    estimates: Estimates = "exact",
) -> None:
    """Independent arrivals, works and widths: Poisson and other renewal streams.

    Example: sojourn generate poisson --jobs 10000 --procs 4 --load 0.75 --width 1 --out mm4.swf
    """
    from ..jobs import write_log
    from ..jobs.estimates import apply_estimates
    from ..jobs.models import generate as draw
    from ..jobs.models.stream import interarrival_for, parse_time, parse_width
    from ..run.keys.typed import number_or_text

    amount, widths = parse_time(work), parse_width(width, procs)
    if load is None and ":" not in interarrival:
        raise OptionError("give --load, or a mean: --interarrival exponential:MEAN")
    mean = None if load is None else interarrival_for(load, amount, widths, procs)
    gaps = parse_time(interarrival, mean=mean)
    made = draw(jobs, gaps, amount, widths, seed=seed, servers=procs)
    if estimates != "exact":
        made = apply_estimates(made, number_or_text(estimates), seed=seed)
    write_log(made, out)
    print(f"{plural(len(made), 'job')} written to {out}")
