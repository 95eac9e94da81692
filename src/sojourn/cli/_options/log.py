"""Options about the log: how it is read and cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import _completion
from .text import pairs

if TYPE_CHECKING:
    from ...workload import Jobs

__all__ = [
    "Columns",
    "Log",
    "LogFormat",
    "LogOptions",
    "Rules",
    "Strict",
    "Width",
    "chosen_rules",
    "read_jobs",
]

_JOBS = "Jobs"

Log = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        help="Job log: .swf, .csv or .parquet, also with .gz or .xz; or accounting of Slurm, PBS.",
    ),
]
LogFormat = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Format of LOG when the file does not tell: swf, csv, parquet, hpcwld, sacct, jobcomp "
        "or pbs.",
        autocompletion=_completion.log_formats,
        rich_help_panel=_JOBS,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="OURS=THEIRS,...",
        help="Columns of a CSV or Parquet log, such as submit=t,runtime=s,procs=n; names of the "
        "columns of sacct -n.",
        rich_help_panel=_JOBS,
    ),
]
_First = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Only the first N jobs of the log, counted before cleaning.",
        rich_help_panel=_JOBS,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Fail at the first bad line or job instead of cleaning.",
        rich_help_panel=_JOBS,
    ),
]
Width = Annotated[
    str | None,
    typer.Option(
        metavar="WHICH",
        help="Processors of an SWF job: requested (default), allocated or max.",
        rich_help_panel=_JOBS,
    ),
]
_KeepZero = Annotated[
    bool,
    typer.Option("--keep-zero", help="Keep jobs of runtime 0.", rich_help_panel=_JOBS),
]
Rules = Annotated[
    str | None,
    typer.Option(
        metavar="RULE,...",
        help="Cleaning rules to apply instead of the standard ones; none for none.",
        rich_help_panel=_JOBS,
    ),
]


@dataclass(frozen=True)
class LogOptions:
    """How a log is read and cleaned."""

    first: _First = None
    strict: Strict = False
    keep_zero: _KeepZero = False
    rules: Rules = None
    width: Width = None
    log_format: LogFormat = None
    columns: Columns = None

    def read(self, log: Path) -> Jobs:
        """Return the jobs of a log as it has them."""
        from dataclasses import replace

        jobs = read_jobs(
            log, self.log_format, columns=self.columns, strict=self.strict, width=self.width
        )
        if self.first is None or self.first >= len(jobs):
            return jobs
        report = replace(jobs.report, read=self.first, kept=self.first)
        return jobs[: self.first].replace(report=report)

    def clean(self, jobs: Jobs, procs: int) -> Jobs:
        """Return the jobs after cleaning for a machine of so many processors."""
        from ...workload.intake import cleaned

        chosen = chosen_rules(self.rules, self.keep_zero)
        return cleaned(jobs, procs, chosen, strict=self.strict)


def read_jobs(
    log: Path,
    format: str | None = None,
    *,
    columns: str | None = None,
    strict: bool = False,
    width: str | None = None,
) -> Jobs:
    """Read a log of any format, with the options that its reader has."""
    from ...workload import intake

    given: Mapping[str, str] | list[str] | None = None
    if columns is not None and intake.kind_of(log, format) == "sacct":
        given = [name.strip() for name in columns.split(",")]
    elif columns is not None:
        given = pairs(columns, "--columns")
    return intake.read_jobs(log, format, columns=given, strict=strict, width=width)


def chosen_rules(rules: str | None, keep_zero: bool) -> tuple[str, ...]:
    """Return the cleaning rules asked for."""
    from ...workload import intake

    names = None
    if rules is not None:
        names = [name.strip() for name in rules.split(",") if name.strip() != "none"]
    return intake.chosen_rules(names, keep_zero=keep_zero)
