"""``sojourn sweep``: a scenario at many points, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ..errors import OptionError, RunError, plural
from ..measures.registry import in_table
from . import _study as st
from ._options import AsJson, option
from ._results import print_json

if TYPE_CHECKING:
    from ..study import Grid, Study
    from ..study.sweeping import Precision

_POINTS_SHOWN = 50
_TO_BEGIN_WITH = 10
_DIGITS = 9  # enough for any number of points; Python refuses to read thousands of them


def sweep(
    scenario: st.ScenarioFile,
    *,
    set: Annotated[
        list[str] | None,
        option(
            "KEY=A:B:STEP|a,b,c",
            "Values of a key, both ends included, or a list; may be repeated, and every "
            "combination is run.",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        option(
            "N",
            "Runs of each point, with other random numbers; the same ones at all points. Of a "
            "log in which nothing is random, blocks are drawn (workload.resample). Default: 1, or "
            "10 to begin with for --precision.",
            min=1,
        ),
    ] = None,
    sample: Annotated[
        str | None,
        option(
            "lhs:N|sobol:N",
            "N points of a Latin hypercube or a Sobol sequence in place of all "
            "combinations; --set then takes KEY=LOW:HIGH, KEY=LOW:HIGH:log or KEY=a,b,c.",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        option(
            "MEASURE=SHARE",
            "Add replications until the interval of a measure is so narrow at each point, "
            "such as wait_mean=0.05 for 5 % either way.",
        ),
    ] = None,
    most: Annotated[
        int, option("N", "Replications of a point that --precision may ask.", min=2)
    ] = 1000,
    seed: st.StudySeed = None,
    out: st.StudyFolder = None,
    measures: Annotated[
        str | None, option("NAME,...", "Measures to show; DIR/runs has all of them.")
    ] = None,
    against: Annotated[
        str | None,
        option(
            "KEY=VALUE,...",
            "Show by how much each point differs from the one with this value, replication "
            "by replication.",
        ),
    ] = None,
    workers: st.Workers = None,
    dask: st.DaskAddress = None,
    retry_failed: st.RetryFailed = False,
    json: AsJson = False,
) -> None:
    """Run a scenario at many points, several times each; what is done is never done again.

    One row per run goes to DIR/runs, a Parquet dataset, as soon as it is finished. The same
    command continues a study that was stopped; one with more points or replications extends it.

    Example: sojourn sweep s.toml --set control.k=0:3e6:1e5 --replications 20 --out DIR
    """
    from ..run.folder import provenance
    from ..study import sweep as run

    count = replications or (1 if precision is None else _TO_BEGIN_WITH)
    given = {
        "scenario": str(scenario), "set": set or [], "replications": count,
        "sample": sample, "precision": precision, "seed": seed,
    }  # fmt: skip
    shown = None if measures is None else [name.strip() for name in measures.split(",")]
    baseline, wanted = _baseline(against), _precision(precision, most)
    points = _grid(set or [], sample, seed or 0)
    points.check_baseline(baseline)
    with st.study_progress() as report:
        study = run(
            scenario,
            points,
            count,
            dask,
            out=out,
            seed=seed,
            workers=workers,
            precision=wanted,
            retry_failed=retry_failed,
            measures=shown or (),
            watch=shown[0] if shown else "wait_mean",
            progress=report.update,
            origin=provenance("sweep", given),
        )
    if study.failed == len(study.plan):
        raise RunError(f"all {study.failed:,} runs failed; the first: {study.errors[0]}")
    if study.interrupted:
        st.end_interrupted(study.done + study.failed, len(study.plan), out)
    base = study.plan.scenario
    remarks = st.remarks_of(base, next(study.points(())).values)
    if json:
        print_json({**study.as_dict(shown, baseline), **remarks})
        return
    st.show_not_acted_on(remarks)
    usual = [measure.name for measure in in_table("sweep") if measure.name in study.measures]
    usual = st.stated(usual, base, study.plan.keys)
    _show(study, shown or usual, baseline, wanted)
    st.show_watts(remarks, shown or usual)


def _grid(axes: list[str], sample: str | None, seed: int) -> Grid:
    from ..study import Grid, latin_hypercube, parse_axis, parse_range, sobol

    if sample is None:
        parsed = [parse_axis(text) for text in axes]
        for place, (key, _) in enumerate(parsed):
            if key in [other for other, _ in parsed[:place]]:
                raise OptionError(f"--set {axes[place]}: {key} is set twice; give one list")
        return Grid.of(dict(parsed))
    kind, _, count = sample.partition(":")
    if kind not in ("lhs", "sobol") or not _is_count(count):
        raise OptionError(f"--sample {sample[:40]}: write lhs:N or sobol:N, N up to 1,000,000")
    if not axes:
        raise OptionError("--sample needs --set KEY=LOW:HIGH for each key that is varied")
    ranges = [parse_range(text, "--set") for text in axes]
    draw = latin_hypercube if kind == "lhs" else sobol
    return draw(ranges, int(count), seed)


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= _DIGITS and 0 < int(text) <= 1_000_000


def _baseline(text: str | None) -> dict[str, Any]:
    from ..run.keys.typed import pairs
    from ..study.grid import parse_value

    if text is None:
        return {}
    try:
        return {key: parse_value(value) for key, value in pairs(text).items()}
    except ValueError:
        raise OptionError(f"--against '{text}': write --against KEY=VALUE,KEY=VALUE") from None


def _precision(text: str | None, most: int) -> Precision | None:
    from ..study.sweeping import Precision

    if text is None:
        return None
    measure, _, share = text.partition("=")
    try:
        return Precision(measure.strip(), float(share), most)
    except ValueError:
        raise OptionError(f"--precision {text}: write MEASURE=SHARE, as wait_mean=0.05") from None


def _imprecise(study: Study, wanted: Precision) -> int:
    """How many points have not reached the precision that was asked for."""
    from ..study.sequential import is_precise

    intervals = [point.measures.get(wanted.measure) for point in study.points([wanted.measure])]
    return sum(
        interval is None or not is_precise(interval, relative=wanted.relative)
        for interval in intervals
    )


def _show(
    study: Study, measures: list[str], baseline: dict[str, Any], wanted: Precision | None
) -> None:
    from ..report.text import Terminal, new_table

    console = Terminal()
    points = list(study.changes(baseline, measures) if baseline else study.points(measures))
    currency = st.currency_of(study.plan.scenario, study.plan.keys) if "cost" in measures else ""
    heads = (st.heading_of(name, unit=not baseline, currency=currency) for name in measures)
    table = new_table(*study.plan.keys, "n", *heads)
    for point in points[:_POINTS_SHOWN]:
        intervals = {name: point.measures.get(name) for name in measures}
        cells = (
            st.as_change(interval) if baseline else st.as_interval(name, interval)
            for name, interval in intervals.items()
        )
        table.add_row(*st.as_values(point.values), f"{point.n:,}", *cells)
    console.whole(table)
    if len(points) > _POINTS_SHOWN:
        console.print(f"and {len(points) - _POINTS_SHOWN:,} more points (--json)")
    other = ", ".join(f"{key}={value}" for key, value in baseline.items())
    what = f"change against {other}" if baseline else "mean"
    runs = f"n {'pairs of ' if baseline else ''}replications"
    if study.is_resampled:
        by = study.plan.scenario.keys.workload.resample
        blocks = f" (by {by})" if by else ""
        runs += f", which are draws of one log{blocks}: more of them do not narrow it"
    ends = ", or its ends," if baseline else ""
    note = f"{what} ± half of its 95 % interval{ends} over {runs}"
    if max(point.n for point in points) < 2:
        note = "one replication each: nothing is known of their spread; give --replications"
    console.print(f"\n{note}", soft_wrap=True)
    if study.plan.merged:
        count = study.plan.merged
        same = "1 point is another one" if count == 1 else f"{count:,} points are other ones"
        console.print(f"{same} in other words", soft_wrap=True)
    if wanted is not None and (short := _imprecise(study, wanted)):
        short_of = (
            f"{wanted.measure} is not known to {100 * wanted.relative:g} % at {short:,} of "
            f"{plural(len(points), 'point')}; allow more replications (--most)"
        )
        console.warn(short_of)
    if "unaccepted" in study.measures:
        counted = study.points(["unaccepted"])
        st.warn_unaccepted(
            (point.values, point.measures["unaccepted"].estimate)
            for point in counted
            if "unaccepted" in point.measures
        )
    if study.failed:
        failures = f"{study.failed:,} of {plural(len(study.plan), 'run')} failed: {study.errors[0]}"
        console.warn(failures)
    if study.folder is not None:
        kept = study.done + study.failed - study.new
        known = f", {kept:,} of them known before" if kept else ""
        where = f"{plural(len(study.plan), 'run')}{known}, in {study.folder / 'runs'}"
        console.print(where, soft_wrap=True)
