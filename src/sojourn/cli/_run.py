"""One run as a verb carries it out, with a progress bar on a terminal, and what it prints of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..report.text.streams import visible

if TYPE_CHECKING:
    from ..jobs import Jobs
    from ..run.result import Result
    from ..run.scenario import Scenario

_PATIENCE = 1.0


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
    from ..run.carry_out import Caller, carry_out

    def load_writers() -> None:
        if out is not None:
            import pyarrow.parquet  # noqa: F401
        if not json:
            from ..report.text import summary  # noqa: F401

    given = None if options is None else {**options, "out": out}
    with progress(scenario.keys.policy.name) as report:
        caller = Caller(command, given, more_files, report, say, load_writers)
        return carry_out(scenario, out, caller, overview_of)


def say(words: str) -> None:
    """Print on standard error what a command takes for granted."""
    print(f"sojourn: {words}", file=sys.stderr)


def cleaned_log(scenario: Scenario) -> tuple[Jobs, int]:
    """Return the log of a scenario, cleaned, and the processors of its machine."""
    from ..jobs.log import machine_size, size_in_words

    procs, jobs = scenario.keys.cluster.procs, scenario.raw_log()
    size = machine_size(jobs, procs, "--procs")
    if words := size_in_words(jobs, procs):
        say(words)
    return scenario.cleaned(jobs, size), size


def show(summary: dict[str, Any], out: Path | None, *, json: bool, peas: bool = False) -> None:
    """Print a run: as JSON alone, or as a summary; `peas`: with the measures of that verb."""
    if json:
        from ..run.folder import as_json

        print(as_json(summary))
        return
    from ..report.text.summary import show_peas, show_summary

    (show_peas if peas else show_summary)(summary, out)


def overview_of(result: Result) -> dict[str, Callable[[Path], object]]:
    """Return the names of a run's pictures and what draws each, as `write_run` takes them."""
    from ..report import save

    pictures: dict[str, Callable[[Path], object]] = {
        "overview.png": lambda path: save(result.plot(), path)
    }
    if result.options.defer is not None and result.summary["makespan"] > 0:
        pictures["clean-hours.png"] = lambda path: save(result.plot.clean_hours(), path)
    if "caps" in result.summary and result.summary["makespan"] > 0:
        pictures["power.png"] = lambda path: save(result.plot.power(), path)
    if "sleep" in result.summary and result.summary["makespan"] > 0:
        pictures["node-states.png"] = lambda path: save(result.plot.node_states(), path)
    if result.cluster.is_named and result.summary["makespan"] > 0:
        pictures["fragmentation.png"] = lambda path: save(result.plot.fragmentation(), path)
    return pictures


class Progress:
    """Called with (jobs arrived, jobs); shows a bar once a second has passed.

    Runs call it even where nothing is shown: between two calls an interrupt can be heard.
    """

    def __init__(self, title: str, shown: bool, counted: str = "jobs") -> None:
        self.title = title
        self._counted = counted
        self._shown = shown
        self._begun = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, arrived: int, jobs: int) -> None:
        """Report how far a run is."""
        if not self._shown:
            return
        if self._bar is None:
            if time.monotonic() - self._begun < _PATIENCE:
                return
            self._start()
        title = visible(self.title)
        self._bar.update(self._task, completed=arrived, total=jobs, description=title)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(self._counted),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(visible(self.title), total=None)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress(title: str, counted: str = "jobs") -> Iterator[Progress]:
    """Yield something to report progress to; `counted` is what its numbers are of."""
    shown = Progress(title, sys.stderr.isatty(), counted)
    try:
        yield shown
    finally:
        shown.close()
