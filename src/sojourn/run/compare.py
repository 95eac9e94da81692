"""One workload under several policies, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from ..__about__ import __version__
from .._html import html_table
from ..cluster import Cluster
from ..engine.drive import Run
from ..errors import OptionError, plural
from ..jobs import STANDARD, Jobs
from ..jobs import clean as clean_jobs
from ..measures.entry import Measure
from ..measures.registry import get, in_table
from ..policy import (
    Control,
    NodeScore,
    Placement,
    Policy,
    Score,
    parse_control,
    parse_placement,
    parse_policy,
)
from .build.engine import finish
from .build.events import before_cleaning, load_events
from .options import Prepared, with_keywords
from .result import Result
from .simulate import machine_of, outlasting, prepare

if TYPE_CHECKING:
    import pandas as pd


def measures_of(cluster: Cluster | int, options: Mapping[str, Any]) -> tuple[Measure, ...]:
    """Return the columns of a comparison on a cluster, with these options of `simulate`.

    Energy is among them where watts were given, or where a price, a carbon intensity or a rate
    control asks for it.
    """
    machine = cluster if isinstance(cluster, Cluster) else Cluster.homogeneous(cluster)
    stated = (
        machine.power_model is None
        or any(options.get(name) is not None for name in ("price", "carbon"))
        or not parse_control(options.get("rate")).is_constant
    )
    every = _known_measures(machine, options)
    return tuple(measure for measure in every if stated or not measure.rests_on_watts)


def _known_measures(cluster: Cluster, options: Mapping[str, Any]) -> list[Measure]:
    """Columns that runs on a cluster have, be they stated or not."""
    known = ("events", "price", "carbon", "defer")
    given = {name for name in known if options.get(name) is not None}
    if any(options.get(name) is not None for name in ("failures", "maintenance")):
        given.add("events")
    if any(options.get(name) is not None for name in ("failures", "checkpoint")):
        given.add("failures")
    given |= {"", "nodes"} if cluster.is_named else {""}
    return [measure for measure in in_table("compare") if measure.needs in given]


@dataclass(frozen=True)
class Outcome:
    """One policy of a comparison, and on named nodes one placement.

    Parameters
    ----------
    policy : its name.
    result : the run.
    seconds : time the simulation took, without that of loading or compiling it.
    """

    policy: str
    result: Result
    seconds: float

    def row(self) -> dict[str, Any]:
        """Return the measures as plain numbers, and what watts their energies rest on."""
        summary, cluster = self.result.summary, self.result.cluster
        options = vars(self.result.options)
        named = {"placement": str(options["placement"])} if cluster.is_named else {}
        numbers = {
            measure.name: measure.of(summary) for measure in _known_measures(cluster, options)
        }
        about = {"power_model": cluster.power_model, "seconds": self.seconds}
        return {"policy": self.policy, **named, **numbers, **about}


class Comparison(Sequence[Outcome]):
    """The outcomes of several policies, in the order in which they were given.

    Attributes
    ----------
    outcomes : one `Outcome` per policy, and on named nodes per placement.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(100, 16, load=0.8, seed=3)
    >>> compared = sojourn.compare(jobs, 16, ["fcfs", "easy"])
    >>> compared[1].result
    <Result of 100 jobs on 16 processors, easy>
    >>> bool(compared.table.loc["easy", "wait_mean"] < compared.table.loc["fcfs", "wait_mean"])
    True
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.outcomes = tuple(outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    @overload
    def __getitem__(self, key: int) -> Outcome: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Outcome, ...]: ...

    def __getitem__(self, key: Any) -> Any:
        return self.outcomes[key]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(outcome.policy for outcome in self)}>"

    @property
    def table(self) -> pd.DataFrame:
        """The measures, one row per policy; see `Outcome.row`."""
        import pandas as pd

        return pd.DataFrame([outcome.row() for outcome in self]).set_index("policy")

    def by(self, what: str) -> pd.DataFrame:
        """Measures per class of jobs under each policy, and on named nodes each placement.

        Parameters
        ----------
        what : and columns: as for `Result.by`. Rows are by policy (placement) and class.
        """
        import pandas as pd

        keys = [key for key in ("policy", "placement") if key in self[0].row()]
        named = [tuple(outcome.row()[key] for key in keys) for outcome in self]
        parts = [
            outcome.result.by(what).reset_index().assign(**dict(zip(keys, name, strict=True)))
            for outcome, name in zip(self, named, strict=True)
        ]
        return pd.concat(parts, ignore_index=True).set_index([*keys, what])

    def _repr_html_(self) -> str:
        rows = [outcome.row() for outcome in self]
        run = self[0].result
        shown = measures_of(run.cluster, vars(run.options))
        units = [measure.unit_of_column(rows) for measure in shown]
        keys = [key for key in ("policy", "placement") if key in rows[0]]
        cells = [
            [
                *(row[key] for key in keys),
                *(
                    row[measure.name] / unit.size
                    for measure, unit in zip(shown, units, strict=True)
                ),
            ]
            for row in rows
        ]
        heads = [measure.titled(unit) for measure, unit in zip(shown, units, strict=True)]
        tops = {
            (at, len(keys) + i) for i, measure in enumerate(shown) for at in best(rows, measure)
        }
        title = f"{plural(len(run), 'job')} on {plural(run.cluster.procs, 'processor')}"
        assumed = (
            run.cluster.power_model if any(measure.rests_on_watts for measure in shown) else None
        )
        note = f"the best in bold; energy: {assumed}" if assumed else "the best in bold"
        return html_table(title, [*keys, *heads], cells, note, bold=tops)


@with_keywords
def compare(
    jobs: Jobs,
    cluster: Cluster | int | None,
    policies: Sequence[str | Policy | Score],
    *,
    rate: Control | float | str | None = None,
    placements: Sequence[str | Placement | NodeScore] = (),
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Comparison:
    """Run the same jobs under several policies, and with several placements.

    `outcomes_of` in `sojourn.compare` hands out the runs one by one instead of keeping them all.

    Parameters
    ----------
    jobs : the job stream; cleaned once.
    cluster : the machine, or its number of processors.
    policies : as for `simulate`.
    rate, progress : as for `simulate`.
    placements : of named nodes, as for `simulate`; default: the one of the options.
    **options : the keywords of `Options`.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.lublin(100, 16, load=0.8, seed=3)
    >>> sojourn.compare(jobs, 16, ["fcfs", "easy"]).table.index.tolist()
    ['fcfs', 'easy']
    """
    given = {"rate": rate, "placements": placements, "progress": progress, **options}
    return Comparison(outcomes_of(jobs, cluster, policies, **given))


def outcomes_of(
    jobs: Jobs,
    cluster: Cluster | int | None,
    policies: Sequence[str | Policy | Score],
    *,
    rate: Control | float | str | None = None,
    placements: Sequence[str | Placement | NodeScore] = (),
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Iterator[Outcome]:
    """Run the same jobs under each policy, one after the other, and with each placement.

    Parameters
    ----------
    jobs, cluster, policies, rate, placements, progress, **options : as for `compare`.
    """
    if not policies:
        raise OptionError("no policies to compare; give at least one")
    # Every policy is read before the first run: a misspelt one is an error at once.
    chosen = [parse_policy(policy) for policy in policies]
    machine = machine_of(cluster, chosen)
    if options.get("events") is not None:
        options["events"] = load_events(options["events"])
        jobs = before_cleaning(jobs, options["events"])
    rules = options.pop("clean", STANDARD)
    if rules:
        jobs = clean_jobs(jobs, procs=machine.procs, rules=rules)
    places = [parse_placement(place) for place in placements]
    for place in places or [options.get("placement", "first-fit")]:
        given = {**options, "placement": place, "rate": rate, "clean": ()}
        for policy in chosen:
            # Whatever has to be loaded or compiled is, before the clock starts.
            seconds: list[float] = []

            def timed(run: Run, prepared: Prepared, times: list[float] = seconds) -> None:
                begun = time.perf_counter()
                finish(run, prepared, progress)
                times.append(time.perf_counter() - begun)

            make = partial(_prepared, jobs, machine, policy, given)
            run, prepared = outlasting(make, timed)
            yield Outcome(str(policy), Result(prepared, run), seconds[-1])


def _prepared(
    jobs: Jobs, cluster: Cluster, policy: Policy, given: dict[str, Any], horizon: float | None
) -> tuple[Run, Prepared]:
    return prepare(jobs, cluster, policy, horizon=horizon, **given)


def best(rows: Sequence[dict[str, Any]], measure: Measure) -> set[int]:
    """Return which rows have the best value of a measure; none where all are alike."""
    if measure.lower is None:
        return set()
    values = [row[measure.name] for row in rows]
    known = [value for value in values if value == value]
    if not known or min(known) == max(known):
        return set()
    top = min(known) if measure.lower else max(known)
    return {i for i, value in enumerate(values) if value == top}


def change(row: dict[str, Any], base: dict[str, Any], measure: Measure) -> float:
    """Return the relative change against another row, 0.1 for 10 % more; nan if undefined."""
    value, reference = row[measure.name], base[measure.name]
    return value / reference - 1.0 if reference > 0 else float("nan")


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def report(rows: Sequence[dict[str, Any]], title: str, pictures: dict[str, str]) -> str:
    """Return a comparison as a page of Markdown: the answer, the table, the pictures.

    Parameters
    ----------
    rows : from `Outcome.row`.
    title : what was compared, in a few words.
    pictures : caption -> file name, relative to the page.
    """
    first = get("wait_mean")
    stated = not rows[0].get("power_model")
    measures = [
        measure
        for measure in in_table("compare")
        if measure.name in rows[0] and (stated or not measure.rests_on_watts)
    ]
    winners = sorted(best(rows, first))
    lines = [f"# {title}", ""]
    if winners:
        top = rows[winners[0]]
        gain = change(top, rows[0], first)
        lines += [
            f"Shortest mean wait: **{top['policy']}**, under which jobs would wait "
            f"{top[first.name]:,.0f} s"
            + (f" ({100 * gain:+.1f} % against {rows[0]['policy']})." if winners[0] else "."),
            "",
        ]
    names = [measure.title for measure in measures]
    lines += ["| policy | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for place, row in enumerate(rows):
        cells = (
            f"**{_plain(m.shown(row[m.name]))}**"
            if place in best(rows, m)
            else _plain(m.shown(row[m.name]))
            for m in measures
        )
        lines.append(f"| {row['policy']} | " + " | ".join(cells) + " |")
    energy = " Energy is that of busy and idle servers together." if stated else ""
    lines += ["", f"Bold: best of its column. All of it is simulated.{energy}", ""]
    for caption, file in pictures.items():
        lines += [f"## {caption}", "", f"![{caption}]({file})", ""]
    lines += [f"Made by sojourn {__version__}; measure run's folder says with which options."]
    return "\n".join(lines) + "\n"
