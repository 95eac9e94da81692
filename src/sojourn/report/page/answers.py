"""The question of a page, and its answer in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cluster.power import assumed_watts, states_energy
from ...errors import plural
from ...measures.recorded import gap_in_words
from ...measures.registry import get as measure
from ...measures.registry import rests_on_watts
from ..figures.style import number
from .points import LEVEL, RUN, Points
from .subjects import ComparisonFolder, RunFolder, StudyFolder
from .words import between, confidence, listed, signed, value_text, with_interval

if TYPE_CHECKING:
    from ...study.intervals import Interval

_FEW = 3
"""Points that runs do not act on, which a sentence may list."""
_NAMED = 3
"""Points that are called by their names in a sentence."""


@dataclass(frozen=True)
class Answer:
    """What a reader in a hurry takes away; the first sentence stands alone."""

    title: str
    question: str
    sentences: tuple[str, ...]


def _machine(run: RunFolder) -> str:
    nodes = run.summary.get("nodes")
    procs = plural(run.procs, "processor")
    return procs if nodes is None else f"{plural(int(nodes), 'node')} ({procs})"


def _jobs_of(run: RunFolder) -> str:
    """What the jobs are, by the name of their file."""
    origin = run.summary.get("provenance", {})
    path = origin.get("input", {}).get("path") or origin.get("options", {}).get("log")
    count = plural(int(run.summary.get("jobs", run.jobs["job"].size)), "job")
    return f"the {count} of {Path(str(path)).name}" if path else f"{count}"


def answer_run(run: RunFolder, intervals: Mapping[str, Interval]) -> Answer:
    """Answer how a run went; `intervals` are those that it has, by measure."""
    summary = run.summary
    more = []
    if "utilisation" in summary:
        share = _valued("utilisation", summary["utilisation"], intervals)
        busy, power, watts = f"{share} of the machine would be busy", "", ""
        bill = summary["energy"].get("total_kwh") if states_energy(summary) else None
        if bill:
            power = f", and the energy would be {_valued('energy_kwh', bill, intervals)}"
            watts = f" ({assumed_watts(summary)})" if assumed_watts(summary) else ""
        more.append(f"{busy}{power}{watts}.")
    lost = [
        f"{plural(int(summary.get(key, 0)), 'job')} {words}"
        for key, words in (("killed", "killed at the limit"), ("unaccepted", "not accepted"))
        if summary.get(key)
    ]
    if lost:
        more.append(f"Note: {listed(lost)}.")
    options = summary.get("provenance", {}).get("options", {})
    return Answer(
        str(options.get("title") or f"{summary['policy']} on {_machine(run)}"),
        str(
            options.get("question")
            or f"How would {summary['policy']} serve {_jobs_of(run)} on {_machine(run)}?"
        ),
        (
            _waits(summary["wait"], intervals),
            *_recorded([run]),
            *more,
            *_left_out([run]),
            _once(intervals),
        ),
    )


def _recorded(runs: Sequence[RunFolder]) -> list[str]:
    """Say what jobs really waited, as the log has it, and what a large gap means."""
    known = [run for run in runs if run.summary.get("recorded")]
    if not known:
        return []
    sections = [run.summary["recorded"] for run in known]
    wait, jobs = sections[0]["wait"], int(sections[0]["jobs"])
    what = measure("wait_mean")
    mean, median, p95 = (value_text(what, wait[key]) for key in ("mean", "median", "p95"))
    who = f"the {plural(jobs, 'job')} whose wait it records"
    same = [value_text(what, section["simulated"]["wait"]["mean"]) for section in sections]
    names = [f"{value} under {run.name}" for value, run in zip(same, known, strict=True)]
    would = listed(names) if len(runs) > 1 else same[0]
    sentence = (
        f"In the log {who} waited {mean} on average (median {median}, 95th percentile {p95}); "
        f"simulated, the same jobs would wait {would}."
    )
    gaps = [abs(log["wait"]["mean"] - log["simulated"]["wait"]["mean"]) for log in sections]
    nearest = int(np.argmin(gaps))
    gap = gap_in_words(sections[nearest], known[nearest].name if len(runs) > 1 else "")
    return [f"{sentence} {gap}".rstrip()]


def _left_out(runs: Sequence[RunFolder]) -> list[str]:
    """Say what the log has about jobs and the runs do not act on."""
    ignored = ignored_by(runs)
    if len(ignored) > _FEW:
        return [f"Not acted on: {len(ignored)} points, which stand under Not modelled."]
    return [f"Not acted on: {', '.join(ignored)}."] if ignored else []


def ignored_by(runs: Sequence[RunFolder]) -> list[str]:
    """Return what runs took no notice of, in words."""
    every = (what for run in runs for what in run.summary.get("not_modelled", ()))
    return list(dict.fromkeys(every))


def _once(intervals: Mapping[str, Interval]) -> str:
    if intervals:
        return "One run: its intervals are from batches of its own jobs, and know of no others."
    return "One run: this holds for these jobs alone."


def _waits(wait: Mapping[str, Any], intervals: Mapping[str, Interval]) -> str:
    if wait.get("median") is None or wait.get("p95") is None:
        return "No job could be served."
    mean, median, p95 = (
        _valued(f"wait_{name}", wait.get(name), intervals) for name in ("mean", "median", "p95")
    )
    half = f"at most {median}" if wait["median"] > 0 else "not at all"
    return f"Jobs would wait {mean} on average: half of them {half}, 95 % of them at most {p95}."


def _valued(name: str, value: Any, intervals: Mapping[str, Interval]) -> str:
    if name in intervals:
        return with_interval(measure(name), intervals[name])
    return value_text(measure(name), float("nan") if value is None else float(value))


def _change(points: Points, name: str, point: int, base: int) -> tuple[str, bool]:
    """Say by how much a measure differs between two points, and whether that is certain.

    The difference says whether they differ, at the level of all comparisons together: the point
    was chosen for being the best. The change says how much.
    """
    gap = points.difference(name, point, base, level=points.together)
    change = points.change(name, point, base, level=points.together)
    if change is not None and not np.isfinite(change.estimate):
        change = None
    where, level = points.names[base], f"{confidence(LEVEL)} interval"
    # Each alone is at a higher level, so that all of them hold at this one.
    every = ", all comparisons together" if points.together > LEVEL else ""
    if gap is not None and gap.low <= 0 <= gap.high:
        if gap.low == gap.high:
            return f"as at {where}", True
        ends = _doubt(gap, change, name)
        return (
            f"which cannot be distinguished from that of {where} ({level} of {ends}{every})",
            False,
        )
    if change is None:
        return "", True
    if change.estimate == 0:
        return f"as at {where}", True
    more = "less" if change.estimate < 0 else "more"
    size = f"{_digits(change.estimate)} % {more} than {where}"
    if gap is None:
        return size, True
    if not np.isfinite([change.low, change.high]).all():
        return f"{size} (how much is not known: that of {where} may be near 0)", True
    # Which of the two is less is known from the difference.
    sides = sorted(max(np.sign(change.estimate) * end, 0.0) for end in (change.low, change.high))
    return f"{size} ({level} {' to '.join(map(_digits, sides))} %{every})", True


def _doubt(gap: Interval, change: Interval | None, name: str) -> str:
    """The ends of a change that may be none; of the difference where the change has no ends."""
    if change is not None and np.isfinite(change.half_width) and change.low <= 0 <= change.high:
        return f"the change {signed(change.low)} to {signed(change.high)} %"
    return f"the difference {between(measure(name), gap)}"


def _digits(share: float) -> str:
    return number(100 * abs(share))


def _best_sentences(points: Points) -> list[str]:
    """One sentence per objective: where it is best, how good, and against what."""
    sentences = _ends(points) if points.front else []
    for name in points.objectives:
        best = points.best(name)
        if best is None:
            continue
        value = with_interval(measure(name), points.intervals[name][best])
        ties = points.tied(name, best)
        worst = points.best(name, worst=True)
        if worst in ties:
            sentences += _same(points, name, ties, value)
            continue
        base = worst if points.front or 0 in ties else 0
        change, certain = "", True
        if base is not None:
            change, certain = _change(points, name, best, base)
        sentence = f"{_where(points, name, ties)}: {value}" + (f", {change}." if change else ".")
        sentences.append(sentence + _rivals(points, name, ties, None if certain else base))
    return sentences


def _where(points: Points, name: str, ties: Sequence[int]) -> str:
    """Say where a measure is best: at one point, or at several alike."""
    what = f"{'lowest' if points.lower(name) else 'highest'} {measure(name).label}"
    names = [points.names[i] for i in ties]
    if len(names) > _NAMED:
        names = [names[0], f"{len(names) - 1:,} others"]
    if points.front:
        return f"The {what} of the front is at {listed(names)}"
    if points.by_name:
        return f"{listed(names)} {'have' if len(ties) > 1 else 'has'} the {what}"
    return f"The {what} is at {listed(names)}"


def _same(points: Points, name: str, ties: Sequence[int], value: str) -> list[str]:
    """Say that a measure is the same everywhere; nothing where one point alone has it."""
    if len(ties) < 2:
        return []
    places = "in all runs" if RUN in points.keys else "at all points"
    if len(ties) < len(points.judged):
        places += " that have it"
    if points.front:
        places += " of the front"
    return [f"The {measure(name).label} is the same {places}: {value}."]


def _ends(points: Points) -> list[str]:
    """Say between which values a front of two measures leaves the choice."""
    if len(points.objectives) != 2 or len(points.front) < 2:
        return []
    one, other = (points.best(name) for name in points.objectives)
    if one is None or other is None:
        return []
    parts = []
    for name in points.objectives:
        what, intervals = measure(name), points.intervals[name]
        ends = (with_interval(what, intervals[point]) for point in (one, other))
        parts.append((what.label, f"from {' to '.join(ends)}"))
    (first, its), (second, theirs) = parts
    return [
        f"{len(points.front):,} points are worth choosing from: between them the {first} goes "
        f"{its}, and the {second} {theirs}."
    ]


def _rivals(points: Points, name: str, ties: Sequence[int], named: int | None) -> str:
    """Say which points may be as good as those that came out best, besides one named before."""
    others = len(points) - len(ties)
    if points.front or len(points) == 2:
        return ""
    close, every = points.rivals(name, ties[0])
    rivals = [i for i in close if i not in ties]
    left = [i for i in rivals if i != named]
    it = "it" if len(ties) == 1 else "them"
    if not rivals:
        best = "It is" if len(ties) == 1 else "They are"
        sure = f" {best} the best of all {len(points):,} with {confidence(LEVEL)} confidence."
        return sure if every else ""
    if len(rivals) == others > _NAMED:
        return f" None of the other {others:,} can be distinguished from {it}."
    if len(left) > _NAMED:
        return f" {len(left):,} of the other {others:,} cannot be distinguished from {it}."
    either = " either" if len(left) < len(rivals) else ""
    who = listed(points.names[i] for i in left)
    return f" {who} cannot be distinguished from {it}{either}." if left else ""


def answer_comparison(comparison: ComparisonFolder, points: Points) -> Answer:
    """Answer which run of a comparison is best."""
    first = comparison.runs[0]
    sentences = _best_sentences(points)
    return Answer(
        f"{_several(comparison)} on {_machine(first)}",
        f"Which of {listed(run.name for run in comparison.runs)} would serve {_jobs_of(first)} "
        f"best on {_machine(first)}?",
        (
            *(sentences or ["All runs are alike."]),
            *_unaccepted(points),
            *_recorded(comparison.runs),
            *_watts(comparison.runs, points),
            *_left_out(comparison.runs),
            "One run each: what has no interval holds for these jobs alone.",
        ),
    )


def _watts(runs: Sequence[RunFolder], points: Points) -> list[str]:
    """Say which watts energies assume where none were given."""
    words = dict.fromkeys(filter(None, (assumed_watts(run.summary) for run in runs)))
    if not words or not any(map(rests_on_watts, points.samples)):
        return []
    return [f"No watts were given for energies: {listed(words)}."]


def _several(comparison: ComparisonFolder) -> str:
    """How many there are of what is compared."""
    count = len(comparison.runs)
    if len({run.summary["policy"] for run in comparison.runs}) < count:
        return plural(count, "run")
    return plural(count, "policy", "policies")


def answer_study(study: StudyFolder, points: Points) -> Answer:
    """Answer the question of a study."""
    aims = listed(measure(name).label for name in points.objectives)
    varied = listed(points.varying) or "the draw of the jobs"
    built = f"How {'do' if len(points.objectives) > 1 else 'does'} {aims} depend on {varied}?"
    question = study.facts.get("question") or study.settings.get("question") or built
    title = study.facts.get("title") or study.settings.get("title") or f"Study of {varied}"
    if len(points) > 1:
        sentences = _best_sentences(points)
    else:
        means = [(measure(name), points.intervals[name][0]) for name in points.objectives]
        sentences = [f"The {what.label} is {with_interval(what, mean)}." for what, mean in means]
    watts = study.assumed_watts if any(map(rests_on_watts, points.samples)) else ""
    assumed = [f"No watts were given for energies: {watts}."] if watts else []
    more = (*_unaccepted(points), *assumed, *_extent(study, points))
    return Answer(str(title), str(question), (*sentences, *more))


def _unaccepted(points: Points) -> list[str]:
    """Say how many jobs were not served at all, where points differ in it."""
    from ..text import unaccepted_in_words

    counts = [(points.names[i], points.unaccepted[i]) for i in points.judged if points.unaccepted]
    words = unaccepted_in_words(counts, chosen=bool(points.front))
    return [f"Jobs that never fit, and are in no number: {words}."] if words else []


def _extent(study: StudyFolder, points: Points) -> list[str]:
    """Say how many runs this is from, and what is missing."""
    states = study.runs["status"]
    done, failed = int((states == "done").sum()), int((states == "failed").sum())
    counts = [numbers.size for numbers in points.replications]
    times = plural(counts[0], "replication")
    if min(counts) < max(counts):
        times = f"{min(counts):,} to {plural(max(counts), 'replication')}"
    sentences = [f"{plural(done, 'run')} at {plural(len(points), 'point')}, {times} each."]
    if points.front:
        sentences = [
            f"The front has {len(points.front):,} of the {plural(len(points), 'point')} that were "
            f"looked at, in {plural(done, 'run')}."
        ]
    elif not points.several:
        sentences.append("Nothing is known of the spread: differences hold for these jobs alone.")
    if failed:
        sentences.append(f"{plural(failed, 'failed run')} {_are(failed)} left out.")
    missing = (study.requested or 0) - done - failed
    if missing > 0:
        sentences.append(
            f"The study is not finished: {missing:,} of {study.requested:,} runs {_are(missing)} "
            "missing."
        )
    return [" ".join(sentences)]


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
