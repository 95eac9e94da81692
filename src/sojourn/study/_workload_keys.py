"""The keys of a scenario about its jobs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..workload import RULES
from ..workload.spec import parse_time, parse_width
from ._keys import (
    A_COUNT,
    A_NUMBER,
    A_TIME,
    TRUE,
    Count,
    File,
    Keys,
    OneOf,
    Positive,
    Processors,
    Says,
    Seconds,
    reads,
)

__all__ = ["OF_LOGS", "OF_MODELS", "WorkloadKeys"]

OF_LOGS = (
    *(
        "format",
        "columns",
        "delimiter",
        "timezone",
        "wait_from",
        "partition_column",
        "width",
        "since",
        "until",
        "first",
        "strict",
        "keep_zero",
        "rules",
    ),
    "resample",
)
"""Keys that only a log has."""

OF_MODELS = {
    "lublin": ("jobs", "procs", "load", "type"),
    "poisson": ("jobs", "procs", "load", "interarrival", "work", "widths"),
}
"""Keys that only some models have."""

_WIDEST = 2**31 - 1


class WorkloadKeys(Keys):
    """What arrives: a log, or a model."""

    log: Annotated[File | None, Says("Job log", "a file, relative to this one")] = None
    format: Annotated[
        Literal["swf", "csv", "parquet", "hpcwld", "sacct", "jobcomp", "pbs", "slurm-events"]
        | None,
        Says("Format of the log when the file does not tell", "swf, csv, parquet, hpcwld, ..."),
    ] = None
    columns: Annotated[
        dict[str, str] | list[str] | None,
        Says(
            "Columns of a CSV or Parquet log, or names of the columns of sacct -n",
            'a table such as {submit = "t", runtime = "s"}, or a list of names',
        ),
    ] = None
    delimiter: Annotated[str | None, Says("Between two columns of sacct", "a text such as ;")] = (
        None
    )
    timezone: Annotated[
        str | None, Says("Of local times in accounting", "a name such as Europe/Berlin")
    ] = None
    wait_from: Annotated[
        Literal["submit", "eligible"] | None,
        Says("When jobs of accounting count as submitted", "submit (default) or eligible"),
    ] = None
    partition_column: Annotated[
        str | None,
        Says("Column of the log that tells the partition of a job", "a name such as queue"),
    ] = None
    width: Annotated[
        Literal["requested", "allocated", "max"] | None,
        Says("Processors of an SWF job", "requested (default), allocated or max"),
    ] = None
    since: Annotated[Seconds | None, Says("Only jobs submitted from then on", A_TIME)] = None
    until: Annotated[Seconds | None, Says("Only jobs submitted before then", A_TIME)] = None
    first: Annotated[
        Count | None, Says("Only the first jobs, counted before cleaning", A_COUNT)
    ] = None
    strict: Annotated[bool, Says("Fail at the first bad line or job instead of cleaning", TRUE)] = (
        False
    )
    keep_zero: Annotated[bool, Says("Keep jobs of runtime 0", TRUE)] = False
    rules: Annotated[
        list[Annotated[str, OneOf(RULES, "cleaning rule", or_file=False)]] | None,
        Says("Cleaning rules in place of the standard ones", "a list of names, empty for none"),
    ] = None
    resample: Annotated[
        Literal["day", "week", "user", "jobs"] | None,
        Says("Draw blocks of the log anew, by the seed", "day, week, user or jobs"),
    ] = None
    events: Annotated[
        File | None,
        Says("External events: a table of them, or a log of these jobs", "a file"),
    ] = None
    growth: Annotated[Positive, Says("Arrivals so many times as dense", A_NUMBER)] = 1.0
    warmup: Annotated[
        Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)] | Literal["mser"],
        Says(
            "Jobs at the beginning that measures over jobs leave out",
            "a number of jobs, a share below 1, or mser (MSER-5 over the replications)",
        ),
    ] = 0
    model: Annotated[
        Literal["lublin", "poisson"] | None,
        Says("Generated jobs in place of a log, by the seed", "lublin or poisson"),
    ] = None
    jobs: Annotated[Count, Says("How many jobs a model makes", A_COUNT)] = 10_000
    procs: Annotated[
        Processors | None,
        Says("Processors for which a model makes jobs; default: those of the cluster", A_COUNT),
    ] = None
    load: Annotated[
        Positive | None,
        Says(
            "Offered load of a model: work over what the machine could do; the mean time between "
            "arrivals of poisson follows from it",
            A_NUMBER,
        ),
    ] = None
    estimates: Annotated[
        Positive | Literal["exact", "tsafrir", "uniform"] | None,
        Says(
            "Estimates of the users, drawn anew; default: those of the log, exact in a model",
            "exact, tsafrir, uniform or a factor, 1 or more",
        ),
    ] = None
    type: Annotated[
        Literal["all", "batch", "interactive", "both"],
        Says("Published parameters of lublin", "all, batch, interactive or both"),
    ] = "all"
    interarrival: Annotated[
        Annotated[str, reads(lambda text: parse_time(text, mean=1.0))],
        Says(
            "Seconds between arrivals of poisson; with load its mean does not count",
            "KIND[:MEAN[:SHAPE]], such as erlang:60:4",
        ),
    ] = "exponential"
    work: Annotated[
        Annotated[str, reads(parse_time)],
        Says("Work of a job of poisson, seconds", "KIND:MEAN[:SHAPE], such as exponential:3600"),
    ] = "exponential:3600"
    widths: Annotated[
        Annotated[str, reads(lambda text: parse_width(text, _WIDEST))],
        Says(
            "Processors of a job of poisson",
            "a text such as '4', 'uniform:1-64', 'geometric:0.5' or '1=0.5,2=0.5'",
        ),
    ] = "1"
