"""Options about the log: how it is read and cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import OptionError
from .. import _completion
from .text import names, pairs

if TYPE_CHECKING:
    from ...workload import Jobs

__all__ = [
    "Columns",
    "Delimiter",
    "Log",
    "LogFormat",
    "LogOptions",
    "PartitionColumn",
    "ReadOptions",
    "Rules",
    "Strict",
    "Timezone",
    "WaitFrom",
    "Width",
    "chosen_rules",
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


Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Between two columns of sacct; default: as in its line of names, else |.",
        rich_help_panel=_JOBS,
    ),
]
PartitionColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of the log that tells the partition of jobs, such as queue; default: its own.",
        rich_help_panel=_JOBS,
    ),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE",
        help="Of local times in accounting and tables, such as Europe/Berlin; default: taken as "
        "they stand.",
        rich_help_panel=_JOBS,
    ),
]
WaitFrom = Annotated[
    str | None,
    typer.Option(
        metavar="submit|eligible",
        help="When jobs of accounting count as submitted: at their submit (default), or when they "
        "became eligible.",
        rich_help_panel=_JOBS,
    ),
]


@dataclass(frozen=True)
class ReadOptions:
    """How a log is read."""

    strict: Strict = False
    width: Width = None
    log_format: LogFormat = None
    columns: Columns = None
    delimiter: Delimiter = None
    timezone: Timezone = None
    wait_from: WaitFrom = None
    partition_column: PartitionColumn = None

    def jobs(self, log: Path) -> Jobs:
        """Return the jobs of a log as it has them."""
        from ...workload import intake

        given: Mapping[str, str] | list[str] | None = None
        if self.columns is not None and intake.kind_of(log, self.log_format) == "sacct":
            given = names(self.columns)
        elif self.columns is not None:
            if "=" not in self.columns:
                raise OptionError(
                    f"--columns '{self.columns}': write --columns NAME=COLUMN,NAME=COLUMN, or give "
                    "--log-format sacct for the output of sacct -n"
                )
            given = pairs(self.columns, "--columns")
        return intake.read_jobs(
            log,
            self.log_format,
            columns=given,
            strict=self.strict,
            width=self.width,
            partition_column=self.partition_column,
            **self.clock(),
            delimiter=self.delimiter,
        )

    def clock(self) -> dict[str, str | None]:
        """Return what decides about the instants of accounting."""
        return {"timezone": self.timezone, "wait_from": self.wait_from}


@dataclass(frozen=True)
class LogOptions(ReadOptions):
    """How a log is read and cleaned."""

    first: _First = None
    keep_zero: _KeepZero = False
    rules: Rules = None

    def read(self, log: Path) -> Jobs:
        """Return the jobs of a log as it has them, or the first of them."""
        from dataclasses import replace

        jobs = self.jobs(log)
        if self.first is None or self.first >= len(jobs):
            return jobs
        report = replace(jobs.report, read=self.first, kept=self.first)
        return jobs[: self.first].replace(report=report)

    def clean(self, jobs: Jobs, procs: int) -> Jobs:
        """Return the jobs after cleaning for a machine of so many processors."""
        from ...workload.intake import cleaned

        chosen = chosen_rules(self.rules, self.keep_zero)
        return cleaned(jobs, procs, chosen, strict=self.strict)


def chosen_rules(rules: str | None, keep_zero: bool) -> tuple[str, ...]:
    """Return the cleaning rules asked for."""
    from ...workload import intake

    names = None
    if rules is not None:
        names = [name.strip() for name in rules.split(",") if name.strip() != "none"]
    return intake.chosen_rules(names, keep_zero=keep_zero)
