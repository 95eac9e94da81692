"""Options that several verbs share, and what they are turned into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import LogError, OptionError, PolicyError

if TYPE_CHECKING:
    from ..policy import Policy
    from ..workload import Jobs

__all__ = [
    "AsJson",
    "Columns",
    "Estimates",
    "Events",
    "First",
    "KeepZero",
    "Log",
    "LogFormat",
    "LogOptions",
    "NodeFailure",
    "OverLimit",
    "Passes",
    "PolicyFile",
    "PolicyName",
    "Procs",
    "Rate",
    "ReferenceRate",
    "Rules",
    "RunOptions",
    "Seed",
    "Strict",
    "Width",
    "chosen_policies",
    "chosen_policy",
    "chosen_rules",
    "cleaned",
    "load_engine",
    "load_writers",
    "machine_size",
    "number_or_text",
    "read_jobs",
]

_MACHINE, _JOBS, _SCHEDULING = "Machine", "Jobs", "Scheduling"

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
First = Annotated[
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
KeepZero = Annotated[
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
Procs = Annotated[
    int | None,
    typer.Option(
        metavar="P",
        help="Processors of the machine; default: MaxProcs of the log.",
        rich_help_panel=_MACHINE,
    ),
]
Rate = Annotated[
    str | None,
    typer.Option(
        metavar="CONTROL",
        help="Service rate: 1.5, workload:2.0,2.66:1e5:3e5, threshold:2.0,2.66:1e5, "
        "count:2.0,2.66:5:10 or random:2.0,2.66:0.3,0.7. Default: always 1.",
        rich_help_panel=_MACHINE,
    ),
]
ReferenceRate = Annotated[
    float,
    typer.Option(
        metavar="R", help="Rate at which the runtimes were recorded.", rich_help_panel=_MACHINE
    ),
]
Estimates = Annotated[
    str,
    typer.Option(
        metavar="user|exact|FACTOR",
        help="What the scheduler believes a job takes.",
        rich_help_panel=_SCHEDULING,
    ),
]
OverLimit = Annotated[
    str,
    typer.Option(
        metavar="kill|run",
        help="What happens to a job at the user's estimate.",
        rich_help_panel=_SCHEDULING,
    ),
]
Passes = Annotated[
    str,
    typer.Option(
        metavar="instant|event",
        help="One scheduling pass per instant, or per event as some simulators do.",
        rich_help_panel=_SCHEDULING,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="S",
        min=0,
        help="Seed of a random rate control or placement.",
        rich_help_panel=_SCHEDULING,
    ),
]
Events = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="External events: a table with the columns time, kind, job, procs, nodes, until, "
        "announced and runtime; or a log of these jobs, whose own events are taken.",
        rich_help_panel=_SCHEDULING,
    ),
]
NodeFailure = Annotated[
    str,
    typer.Option(
        metavar="kill|requeue",
        help="What happens to the jobs of processors that go down.",
        rich_help_panel=_SCHEDULING,
    ),
]
PolicyName = Annotated[
    str,
    typer.Option(
        metavar="NAME|ORDER[+BACKFILL]",
        help="fcfs, lcfs-pr, lpf, spf, easy, easy-sjbf, conservative, first-fit, or an order "
        "(sjf, ljf, saf, wfp3, ...) with a backfill (easy, easy:K, conservative, first-fit).",
        rich_help_panel=_SCHEDULING,
    ),
]
PolicyFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.py:NAME",
        help="Your own order, decorated with @sojourn.score, in place of that of --policy.",
        rich_help_panel=_SCHEDULING,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON alone on standard output, nothing else.")
]


@dataclass(frozen=True)
class LogOptions:
    """How a log is read and cleaned."""

    first: First = None
    strict: Strict = False
    keep_zero: KeepZero = False
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
        chosen = chosen_rules(self.rules, self.keep_zero)
        return cleaned(jobs, procs, chosen, strict=self.strict)


@dataclass(frozen=True)
class RunOptions:
    """What a run does with its jobs, whatever the machine."""

    estimates: Estimates = "user"
    over_limit: OverLimit = "kill"
    passes: Passes = "instant"
    rate: Rate = None
    reference_rate: ReferenceRate = 1.0
    seed: Seed = 0
    events: Events = None
    node_failure: NodeFailure = "kill"

    def take_events(self, jobs: Jobs) -> tuple[Jobs, dict[str, Any]]:
        """Read the external events, if any; the jobs as these leave them, and the option."""
        if self.events is None:
            return jobs, {}
        from ..external import before_cleaning, load_events

        events = load_events(self.events)
        return before_cleaning(jobs, events), {"events": events}

    def options(self) -> dict[str, Any]:
        """Return what `simulate` takes, but for the events."""
        if self.seed >= 2**63:
            raise OptionError(f"--seed {self.seed}: give a number below 2**63")
        return {
            "rate": self.rate,
            "estimates": number_or_text(self.estimates),
            "over_limit": self.over_limit,
            "passes": self.passes,
            "reference_rate": self.reference_rate,
            "seed": self.seed,
            "node_failure": self.node_failure,
        }


def pairs(text: str, option: str) -> dict[str, str]:
    """Return ``a=b,c=d`` as a dictionary."""
    found = {}
    for part in text.split(","):
        left, equals, right = part.partition("=")
        if not (left.strip() and equals and right.strip()):
            raise OptionError(f"{option} '{text}': write {option} NAME=COLUMN,NAME=COLUMN")
        found[left.strip()] = right.strip()
    return found


def read_jobs(
    log: Path,
    format: str | None = None,
    *,
    columns: str | None = None,
    strict: bool = False,
    width: str | None = None,
) -> Jobs:
    """Read a log of any format, with the options that its reader has."""
    from ..workload import read_log

    options: dict[str, Any] = {}
    kind = _format(log, format)
    if columns is not None and kind == "sacct":
        options["columns"] = [name.strip() for name in columns.split(",")]
    elif columns is not None:
        options["mapping" if kind == "parquet" else "columns"] = pairs(columns, "--columns")
    if width is not None:
        options["width"] = width
    if strict and kind in ("swf", "sacct", "jobcomp", "pbs"):
        options["strict"] = True
    return read_log(log, format=format, **options)


def _format(log: Path, format: str | None) -> str:
    from ..workload import format_of
    from ..workload.log import FORMATS

    plain = log.with_suffix("") if log.suffix.lower() in (".gz", ".xz") else log
    suffix = plain.suffix.lower().removeprefix(".")
    return format or (suffix if suffix in FORMATS else format_of(log))


def machine_size(jobs: Jobs, procs: int | None) -> int:
    """Return the processors asked for, else those the log's header tells."""
    if procs is not None:
        return procs
    told = jobs[:0].max_procs  # Without jobs only the header can tell.
    if told < 1:
        raise OptionError(f"{jobs.source}: no MaxProcs in its header; give --procs")
    return told


def chosen_rules(rules: str | None, keep_zero: bool) -> tuple[str, ...]:
    """Return the cleaning rules asked for."""
    from ..workload import STANDARD

    if rules is None:
        chosen = STANDARD
    else:
        chosen = tuple(name.strip() for name in rules.split(",") if name.strip() != "none")
    return tuple(name for name in chosen if not (keep_zero and name == "zero-runtime"))


SIMULATED = (
    *("job", "submit", "runtime", "work", "procs", "estimate"),
    *("user", "group", "queue", "partition", "memory"),
)
"""What a run looks at; the other columns of a log only cost memory."""


def cleaned(jobs: Jobs, procs: int, rules: tuple[str, ...], *, strict: bool = False) -> Jobs:
    """Return the jobs after cleaning; an error if none is left."""
    from ..workload import clean

    left = clean(jobs, procs=procs, rules=rules, strict=strict)
    if not len(left):
        first = next(iter(left.report.findings), None)
        told = f" ({first})" if first is not None else ""
        raise LogError(jobs.source, f"no job is left after cleaning{told}; check the log")
    return left


def chosen_policy(policy: str, policy_file: str | None) -> Policy:
    """Return the policy, with the order of a file in it."""
    from dataclasses import replace

    from ..policy import load_score, parse_policy

    parsed = parse_policy(policy)
    if policy_file is None:
        return parsed
    try:
        score = load_score(policy_file)
    except SystemExit:
        raise PolicyError(f"{policy_file}: the file exits when it is loaded") from None
    return replace(parsed, order=score)


def chosen_policies(policies: str, policy_files: list[str]) -> list[Policy]:
    """Return the policies of a list, in which orders from files go by their names."""
    from ..policy import parse_policy

    loaded = {where.rpartition(":")[2]: where for where in policy_files}
    names = [name.strip() for name in policies.split(",") if name.strip()]
    if not names:
        raise OptionError("--policies names none; give for example fcfs,easy,conservative")
    chosen = []
    for name in names:
        order, plus, backfill = name.partition("+")
        if order in loaded:
            chosen.append(chosen_policy(f"fcfs{plus}{backfill}", loaded[order]))
        else:
            chosen.append(parse_policy(name))
    return chosen


def number_or_text(text: str) -> float | str:
    """Return a factor as a number, anything else as it is."""
    try:
        return float(text)
    except ValueError:
        return text


def load_engine(
    policy: Policy,
    rate: str | None,
    *,
    named: bool = False,
    decisions: bool = False,
    events: bool = False,
) -> None:
    """Import the engine and load the compiled code that a run needs."""
    from ..simulation import preload

    preload(policy, rate, named=named, decisions=decisions, events=events)


def load_writers(*, files: bool, tables: bool) -> None:
    """Import what results are written and printed with."""
    if files:
        import pyarrow.parquet  # noqa: F401
    if tables:
        from . import _tables  # noqa: F401
