"""One run as a verb carries it out, and what it prints of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..run.scenario import Scenario

__all__ = ["run_chosen", "say", "show"]


def run_chosen(
    command: str,
    scenario: Scenario,
    options: Mapping[str, Any] | None,
    out: Path | None,
    *,
    json: bool,
    more_files: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Carry a scenario out with progress, pictures and remarks; see `sojourn.run.carry_out`."""
    from ..run.carry_out import carry_out
    from ._pictures import overview_of
    from ._progress import progress

    def load_writers() -> None:
        if out is not None:
            import pyarrow.parquet  # noqa: F401
        if not json:
            from ..report import text as _tables  # noqa: F401

    given = None if options is None else {**options, "out": out}
    with progress(scenario.keys.policy.name) as report:
        return carry_out(
            scenario,
            out,
            command=command,
            options=given,
            more_files=more_files,
            pictures=overview_of,
            progress=report,
            say=say,
            meanwhile=load_writers,
        )


def say(words: str) -> None:
    """Print on standard error what a command takes for granted."""
    print(f"sojourn: {words}", file=sys.stderr)


def show(told: dict[str, Any], out: Path | None, *, json: bool) -> None:
    """Print a run: as JSON alone, or as a summary."""
    if json:
        from ..run.folder import as_json

        print(as_json(told))
        return
    from ..report.text import show_summary

    show_summary(told, out)
