"""What the verbs of studies share: options, progress, and numbers with their intervals."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..measures.registry import get as measure
from ..measures.registry import rests_on_watts
from ._options import option
from ._run import Progress

if TYPE_CHECKING:
    from ..run.scenario import Scenario
    from ..study.intervals import Interval
    from ..study.outcome import Tally

_INTERRUPTED = 130
_WHERE = "Where it runs"

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="Scenario file (.toml); see sojourn schema.")
]
StudyFolder = Annotated[
    Path | None,
    option(
        "DIR", "Folder in which runs are kept as they are finished; what is there is not run again."
    ),
]
StudySeed = Annotated[
    int | None, option("S", "Seed of the study; default: run.seed of the scenario.", min=0)
]
Workers = Annotated[
    int | None,
    option(
        "N",
        "Processes on this machine, started where the study takes longer than that; default: "
        "one for each processor.",
        _WHERE,
        min=1,
    ),
]
DaskAddress = Annotated[
    str | None,
    option(
        "ADDRESS", "Run on the Dask cluster of this scheduler, such as tcp://host:8786.", _WHERE
    ),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Run again what failed.", rich_help_panel=_WHERE)
]


class StudyProgress(Progress):
    """Called with the tally of a study; shows runs, rate, time left, failures and the best."""

    def update(self, tally: Tally) -> None:
        """Report how far a study is."""
        failures = f"{tally.failed:,} failed" if tally.failed else ""
        best = f"best {tally.best}" if tally.best else ""
        self.title = ", ".join(filter(None, (failures, best)))
        self(tally.done, tally.total)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TaskProgressColumn(text_format="", show_speed=True),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=None)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(value)


@contextlib.contextmanager
def study_progress() -> Iterator[StudyProgress]:
    """Yield something to report the tallies of a study to."""
    shown = StudyProgress("", sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.close()


def as_values(values: Mapping[str, Any]) -> list[str]:
    """Return the values of a point as cells of a table."""
    return [_short(value) for value in values.values()]


def heading_of(name: str, *, unit: bool = True, currency: str = "") -> str:
    """Return the heading of a column of a measure, with its unit; costs are in a currency."""
    known = measure(name)
    if name == "cost" and unit:
        return f"cost\n{currency}".rstrip()
    return known.column(known.units[0].name if unit else "")


def currency_of(scenario: Scenario, varied: Collection[str]) -> str:
    """Return the currency of the costs of a study; empty where points have prices of their own."""
    return "" if "power.price" in varied else scenario.currency


def as_interval(name: str, interval: Interval | None) -> str:
    """Return an estimate of a measure with its interval; from one replication it alone."""
    from ..report.text import as_number

    if interval is None:
        return "-"
    size = measure(name).units[0].size
    if not interval.half_width >= 0:
        return as_number(interval.estimate / size)
    return f"{as_number(interval.estimate / size)} ± {as_number(interval.half_width / size, 2)}"


def as_change(interval: Interval | None) -> str:
    """Return a relative change with its interval, in per cent."""
    if interval is None:
        return "-"
    change, low, high = (100 * value for value in (interval.estimate, interval.low, interval.high))
    if change == low == high == 0:
        return "="
    # Two digits of what is not known, and one after the point at the least.
    width = (high - low) / 2
    digits = min(max(1, 1 - math.floor(math.log10(width))), 6) if 0 < width < math.inf else 1
    if math.isnan(width):
        return f"{change:+.{digits}f} %"
    if math.isinf(width):
        return f"{change:+.{digits}f} % (not bounded)"
    if interval.is_even:
        return f"{change:+.{digits}f} % ± {width:.{digits}f}"
    return f"{change:+.{digits}f} % ({low:+.{digits}f} to {high:+.{digits}f})"


def remarks_of(scenario: Scenario, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to know of all runs of a study: assumed watts, and what they do not act on.

    Parameters
    ----------
    scenario : of the study.
    point : values of what it varies, at one of its points.
    """
    from ..run.building import make_constraints
    from ..run.outcome.unmodelled import not_acted_on

    there = scenario.with_values(point)
    jobs = there.log()
    wishes = None if there.nodes is None else make_constraints(there.keys.policy.constraints)
    return {
        "power_model": _assumed_watts(scenario, there, list(point)) or None,
        "not_modelled": (
            [] if jobs is None else not_acted_on(jobs, there.policy, wishes, there.nodes)
        ),
    }


def show_not_acted_on(remarks: Mapping[str, Any]) -> None:
    """Print in a line what the runs of a study take no notice of."""
    from ..report.text import Terminal
    from ..report.text import show_not_acted_on as show

    show(Terminal(), remarks["not_modelled"])


def show_watts(remarks: Mapping[str, Any], measures: Sequence[str]) -> None:
    """Say on which watts energies rest, where some are shown and nobody gave watts."""
    shown = [name for name in measures if rests_on_watts(name)]
    if remarks["power_model"] and shown:
        labels = ", ".join(measure(name).label for name in shown)
        print(f"{labels}: {remarks['power_model']}")


def warn_unaccepted(
    points: Iterable[tuple[Mapping[str, Any], float]], *, chosen: bool = False
) -> None:
    """Say how many jobs never fit at points, by their values; `chosen` are those of a front."""
    from ..report.text import Terminal, unaccepted_in_words

    counts = [
        (" ".join(f"{key}={_short(value)}" for key, value in values.items()), count)
        for values, count in points
    ]
    if words := unaccepted_in_words(counts, chosen=chosen):
        Terminal().warn(f"jobs that never fit, and are in no number above: {words}")


def stated(measures: Sequence[str], scenario: Scenario, varied: Sequence[str]) -> list[str]:
    """Return measures without energies that rest on watts which nobody gave or asked for."""
    from ..cluster.power import study_asks

    settings = scenario.as_mapping()
    if study_asks(settings, varied) or not _assumed_watts(scenario, scenario, varied):
        return list(measures)
    return [name for name in measures if not rests_on_watts(name)]


def _assumed_watts(scenario: Scenario, there: Scenario, varied: Sequence[str]) -> str:
    """Return what watts energies rest on if nobody gave any, not even with the nodes."""
    from ..cluster.power import assumed_watts_of_study

    words = assumed_watts_of_study(scenario.as_mapping(), varied)
    nodes = None if words else there.nodes
    return words if nodes is None else nodes.power_model or ""


def end_interrupted(done: int, total: int, folder: Path | None) -> None:
    """Say what an interrupted study has, and end the command."""
    kept = "nothing is kept without --out"
    if folder is not None:
        kept = f"{done:,} of {total:,} runs are in {folder}; the same command goes on from there"
    print(f"sojourn: interrupted; {kept}", file=sys.stderr, flush=True)
    raise SystemExit(_INTERRUPTED)
