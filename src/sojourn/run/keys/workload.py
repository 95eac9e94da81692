"""The keys of a scenario about its jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ...jobs import RULES, STANDARD
from ...jobs.log import FORMATS
from ...jobs.models.stream import parse_time, parse_width
from . import typed
from .describing import (
    A_COUNT,
    A_NUMBER,
    A_TIME,
    TRUE,
    Count,
    File,
    Key,
    Keys,
    Keyword,
    OneOf,
    Option,
    Positive,
    Processors,
    Seconds,
    alternatives,
    reads,
)

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

CLEANED_BY = ("first", "keep_zero", "rules")
"""Keys about which jobs of a log are kept."""

if TYPE_CHECKING:
    _Format = str
else:
    _Format = Literal[tuple(FORMATS)]
_JOBS = "Jobs"
_WIDEST = 2**31 - 1


def _as_given(value: Any) -> Any:
    """What is read together with the jobs."""
    return value


class WorkloadKeys(Keys):
    """What arrives: a log, or a model."""

    log: Annotated[
        File | None,
        Key(
            "Job log: .swf, .csv or .parquet, also with .gz or .xz; or accounting of Slurm, PBS.",
            "a file, relative to this one",
            Option(_JOBS, "LOG", "LOG", Path, os.fspath),
        ),
    ] = None
    format: Annotated[
        _Format | None,
        Key(
            f"Format of {{workload.log}} when the file does not show it: {alternatives(FORMATS)}.",
            alternatives(FORMATS),
            Option(_JOBS, "NAME", "--log-format", complete="log_formats"),
        ),
    ] = None
    columns: Annotated[
        dict[str, str] | list[str] | None,
        Key(
            "Columns of a CSV or Parquet log, such as submit=t,runtime=s,procs=n; names of the "
            "columns of sacct -n.",
            'a table such as {submit = "t", runtime = "s"}, or a list of names',
            Option(_JOBS, "OURS=THEIRS,...", read=typed.columns),
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        Key(
            "Between two columns of sacct; default: as in its line of names, else |.",
            "a text such as ;",
            Option(_JOBS, "TEXT"),
        ),
    ] = None
    timezone: Annotated[
        str | None,
        Key(
            "Of local times in accounting and tables, such as Europe/Berlin; default: taken as "
            "they stand.",
            "a name such as Europe/Berlin",
            Option(_JOBS, "ZONE"),
        ),
    ] = None
    wait_from: Annotated[
        Literal["submit", "eligible"] | None,
        Key(
            "When jobs of accounting count as submitted: at their submit (default), or when they "
            "became eligible.",
            "submit (default) or eligible",
            Option(_JOBS, "submit|eligible"),
        ),
    ] = None
    partition_column: Annotated[
        str | None,
        Key(
            "Column of the log that holds the partition of jobs, such as queue; default: its own.",
            "a name such as queue",
            Option(_JOBS, "NAME"),
        ),
    ] = None
    width: Annotated[
        Literal["requested", "allocated", "max"] | None,
        Key(
            "Processors of an SWF job: requested (default), allocated or max.",
            "requested (default), allocated or max",
            Option(_JOBS, "WHICH"),
        ),
    ] = None
    since: Annotated[Seconds | None, Key("Only jobs submitted from then on.", A_TIME)] = None
    until: Annotated[Seconds | None, Key("Only jobs submitted before then.", A_TIME)] = None
    first: Annotated[
        Count | None,
        Key(
            "Only the first N jobs of the log, counted before cleaning.",
            A_COUNT,
            Option(_JOBS, "N"),
        ),
    ] = None
    strict: Annotated[
        bool,
        Key("Fail at the first bad line or job instead of cleaning.", TRUE, Option(_JOBS)),
    ] = False
    keep_zero: Annotated[bool, Key("Keep jobs of runtime 0.", TRUE, Option(_JOBS))] = False
    rules: Annotated[
        list[Annotated[str, OneOf(RULES, "cleaning rule", or_file=False)]] | None,
        Key(
            "Cleaning rules to apply instead of the standard ones; none for none.",
            "a list of names, empty for none",
            Option(_JOBS, "RULE,...", read=typed.rules),
            Keyword("clean", STANDARD, "Names of cleaning rules; empty for none.", read=tuple),
        ),
    ] = None
    resample: Annotated[
        Literal["day", "week", "user", "jobs"] | None,
        Key("Draw blocks of the log anew, by the seed.", "day, week, user or jobs"),
    ] = None
    events: Annotated[
        File | None,
        Key(
            "External events: a table with the columns time, kind, job, procs, nodes, until, "
            "announced and runtime; or a log of these jobs, whose own events are taken.",
            "a file",
            Option("Scheduling", "FILE", kind=Path, read=os.fspath),
            Keyword(
                what="External events: a file, rows, `ExternalEvents`, or the `EventStream` of the "
                "jobs' log.",
                read=_as_given,
            ),
        ),
    ] = None
    growth: Annotated[Positive, Key("Arrivals so many times as dense.", A_NUMBER)] = 1.0
    warmup: Annotated[
        Annotated[int, Field(ge=0)] | Annotated[float, Field(gt=0, lt=1)] | Literal["mser"],
        Key(
            "Leave the first N jobs out of the measures over jobs.",
            "a number of jobs, a share below 1, or mser (MSER-5 over the replications)",
            Option("Results", "N", kind=int),
            Keyword(
                what="How many jobs at the beginning, as they were submitted, the measures over "
                "jobs leave out, because the machine was empty before them.",
                read=typed.jobs_left_out,
            ),
        ),
    ] = 0
    model: Annotated[
        Literal["lublin", "poisson"] | None,
        Key("Generated jobs in place of a log, by the seed.", "lublin or poisson"),
    ] = None
    jobs: Annotated[Count, Key("How many jobs a model makes.", A_COUNT)] = 10_000
    procs: Annotated[
        Processors | None,
        Key("Processors for which a model makes jobs; default: those of the cluster.", A_COUNT),
    ] = None
    load: Annotated[
        Positive | None,
        Key(
            "Offered load of a model: work over what the machine could do; the mean time between "
            "arrivals of poisson follows from it.",
            A_NUMBER,
        ),
    ] = None
    estimates: Annotated[
        Positive | Literal["exact", "tsafrir", "uniform"] | None,
        Key(
            "Estimates of the users, drawn anew; default: those of the log, exact in a model.",
            "exact, tsafrir, uniform or a factor, 1 or more",
        ),
    ] = None
    type: Annotated[
        Literal["all", "batch", "interactive", "both"],
        Key("Published parameters of lublin.", "all, batch, interactive or both"),
    ] = "all"
    interarrival: Annotated[
        Annotated[str, reads(lambda text: parse_time(text, mean=1.0))],
        Key(
            "Seconds between arrivals of poisson; with load its mean does not count.",
            "KIND[:MEAN[:SHAPE]], such as erlang:60:4",
        ),
    ] = "exponential"
    work: Annotated[
        Annotated[str, reads(parse_time)],
        Key("Work of a job of poisson, seconds.", "KIND:MEAN[:SHAPE], such as exponential:3600"),
    ] = "exponential:3600"
    widths: Annotated[
        Annotated[str, reads(lambda text: parse_width(text, _WIDEST))],
        Key(
            "Processors of a job of poisson.",
            "a text such as '4', 'uniform:1-64', 'geometric:0.5' or '1=0.5,2=0.5'",
        ),
    ] = "1"
