"""Options about a run, whatever the machine and the policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import OptionError
from .text import number_or_text

if TYPE_CHECKING:
    from ...workload import Jobs

__all__ = ["Estimates", "OverLimit", "RunOptions"]

_MACHINE, _SCHEDULING = "Machine", "Scheduling"

_Rate = Annotated[
    str | None,
    typer.Option(
        metavar="CONTROL",
        help="Service rate: 1.5, workload:2.0,2.66:1e5:3e5, threshold:2.0,2.66:1e5, "
        "count:2.0,2.66:5:10 or random:2.0,2.66:0.3,0.7. Default: always 1.",
        rich_help_panel=_MACHINE,
    ),
]
_ReferenceRate = Annotated[
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
_Passes = Annotated[
    str,
    typer.Option(
        metavar="instant|event",
        help="One scheduling pass per instant, or per event as some simulators do.",
        rich_help_panel=_SCHEDULING,
    ),
]
_Seed = Annotated[
    int,
    typer.Option(
        metavar="S",
        min=0,
        help="Seed of a random rate control or placement.",
        rich_help_panel=_SCHEDULING,
    ),
]
_Events = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="External events: a table with the columns time, kind, job, procs, nodes, until, "
        "announced and runtime; or a log of these jobs, whose own events are taken.",
        rich_help_panel=_SCHEDULING,
    ),
]
_NodeFailure = Annotated[
    str,
    typer.Option(
        metavar="kill|requeue",
        help="What happens to the jobs of processors that go down.",
        rich_help_panel=_SCHEDULING,
    ),
]
_Warmup = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="Leave the first N jobs out of the measures over jobs.",
        rich_help_panel="Results",
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """What a run does with its jobs, whatever the machine."""

    estimates: Estimates = "user"
    over_limit: OverLimit = "kill"
    passes: _Passes = "instant"
    rate: _Rate = None
    reference_rate: _ReferenceRate = 1.0
    seed: _Seed = 0
    events: _Events = None
    node_failure: _NodeFailure = "kill"
    warmup: _Warmup = 0

    def take_events(self, jobs: Jobs, **clock: Any) -> tuple[Jobs, dict[str, Any]]:
        """Read the external events, if any; the jobs as these leave them, and the option.

        Parameters
        ----------
        jobs : of the log.
        clock : how instants of accounting are read, as `load_events` takes it.
        """
        if self.events is None:
            return jobs, {}
        from ...external import before_cleaning, load_events

        events = load_events(self.events, **clock)
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
            "warmup": self.warmup,
        }
