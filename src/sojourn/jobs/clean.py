"""Cleaning: named rules, each of them small, applied in one fixed order and counted.

The order is that of this file, whatever the order in which rules are asked for: first what makes
a job impossible (its time, width and runtime), then its estimate, then the order of the log.
To add a rule, write one decorated function at its place in the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import JobError, LogError, OptionError, did_you_mean
from .report import Finding, noted
from .table import Jobs, check_jobs

Mask = NDArray[np.bool_]
Outcome = tuple[Mask, Jobs]

_MILLISECOND = 1e-3
_ABSURD = 1e15


@dataclass(frozen=True)
class CleaningRule:
    """A named cleaning rule.

    Parameters
    ----------
    name : what it is called.
    action : ``drop`` (the job goes), ``repair`` (a value is made up from others) or ``clamp``
        (a value is moved to a bound).
    field : column the rule is about.
    what : what is wrong with the jobs it touches, and what is done.
    apply : (jobs, procs) -> which jobs are touched, and the jobs after the rule.
    standard : part of `STANDARD`.
    fault : whether touching a job means that something was wrong with it (so strict raises).
    """

    name: str
    action: str
    field: str
    what: str
    apply: Callable[[Jobs, int], Outcome]
    standard: bool = True
    fault: bool = True


RULES: dict[str, CleaningRule] = {}
"""Every rule by name, in order of application."""


def _drop(
    name: str, field: str, what: str, *, standard: bool = True
) -> Callable[[Callable[[Jobs, int], Mask]], None]:
    def register(condition: Callable[[Jobs, int], Mask]) -> None:
        def apply(jobs: Jobs, procs: int) -> Outcome:
            hit = condition(jobs, procs)
            return hit, (jobs[~hit] if hit.any() else jobs)

        RULES[name] = CleaningRule(name, "drop", field, what, apply, standard)

    return register


def _change(
    name: str, action: str, field: str, what: str, *, standard: bool = True, fault: bool = True
) -> Callable[[Callable[[Jobs, int], Outcome]], None]:
    def register(apply: Callable[[Jobs, int], Outcome]) -> None:
        RULES[name] = CleaningRule(name, action, field, what, apply, standard, fault)

    return register


@_drop("negative-submit", "submit", "submitted before time zero")
def _(jobs: Jobs, procs: int) -> Mask:
    return jobs.submit < 0


@_drop("absurd-time", "submit", "a time beyond 1e15 s, more than 30 million years")
def _(jobs: Jobs, procs: int) -> Mask:
    # Seconds of that size have no fractions left in a float, and sums of them soon no seconds.
    return (jobs.submit > _ABSURD) | (jobs.runtime > _ABSURD) | (jobs.estimate > _ABSURD)


@_change(
    "missing-procs", "repair", "procs", "no processors: those requested or allocated are taken"
)
def _(jobs: Jobs, procs: int) -> Outcome:
    known = np.maximum(jobs.requested, jobs.allocated)
    hit = (jobs.procs <= 0) & (known > 0)
    return hit, (jobs.replace(procs=np.where(hit, known, jobs.procs)) if hit.any() else jobs)


@_drop("no-procs", "procs", "no processors, neither requested nor allocated")
def _(jobs: Jobs, procs: int) -> Mask:
    return jobs.procs <= 0


@_drop("too-wide", "procs", "wider than the machine", standard=False)
def _(jobs: Jobs, procs: int) -> Mask:
    return jobs.procs > procs


@_drop("no-runtime", "runtime", "the runtime is unknown")
def _(jobs: Jobs, procs: int) -> Mask:
    return jobs.runtime < 0


@_change("zero-runtime-1s", "clamp", "runtime", "the runtime is 0: 1 s is taken", standard=False)
def _(jobs: Jobs, procs: int) -> Outcome:
    hit = jobs.runtime == 0
    return hit, _with_runtime(jobs, np.where(hit, 1.0, jobs.runtime))


@_drop("zero-runtime", "runtime", "the runtime is 0")
def _(jobs: Jobs, procs: int) -> Mask:
    return np.equal(jobs.runtime, 0.0)


@_drop("missing-estimate-drop", "estimate", "no estimate", standard=False)
def _(jobs: Jobs, procs: int) -> Mask:
    return jobs.estimate <= 0


@_change("missing-estimate", "repair", "estimate", "no estimate: the runtime is taken")
def _(jobs: Jobs, procs: int) -> Outcome:
    hit = jobs.estimate <= 0
    if not hit.any():
        return hit, jobs
    return hit, jobs.replace(estimate=np.where(hit, jobs.runtime, jobs.estimate))


@_change(
    "clamp-runtime",
    "clamp",
    "runtime",
    "longer than the estimate: cut at the estimate",
    standard=False,
)
def _(jobs: Jobs, procs: int) -> Outcome:
    hit = (jobs.runtime > jobs.estimate) & (jobs.estimate > 0)
    return hit, _with_runtime(jobs, np.where(hit, jobs.estimate, jobs.runtime))


@_change(
    "unsorted-submits", "repair", "submit", "submitted before its predecessor: sorted by submit"
)
def _(jobs: Jobs, procs: int) -> Outcome:
    latest = np.maximum.accumulate(jobs.submit)
    return jobs.submit < latest, jobs.sorted()


@_change(
    "tied-submits",
    "repair",
    "submit",
    "not after its predecessor: moved 1 ms behind it",
    standard=False,
)
def _(jobs: Jobs, procs: int) -> Outcome:
    # Customers need distinct arrival epochs in the recursion [rumyantsev2018, errata 13].
    spread = jobs.submit.tolist()
    for k in range(1, len(spread)):
        if spread[k] <= spread[k - 1]:
            spread[k] = spread[k - 1] + _MILLISECOND
    submit = np.array(spread)
    return submit != jobs.submit, jobs.replace(submit=submit)


@_change(
    "rebase", "repair", "submit", "time counted from the first submit", standard=False, fault=False
)
def _(jobs: Jobs, procs: int) -> Outcome:
    origin = jobs.submit.min(initial=np.inf)
    hit = np.full(len(jobs), origin != 0.0)
    return hit, (jobs.moved(jobs.submit - origin) if hit.any() else jobs)


def _with_runtime(jobs: Jobs, runtime: NDArray[np.float64]) -> Jobs:
    """Return jobs with another runtime; work that is stored keeps its ratio to the runtime."""
    if "work" not in jobs.names:
        return jobs.replace(runtime=runtime)
    before = jobs.runtime
    ratio = np.divide(jobs.work, before, out=np.ones_like(before), where=before > 0)
    work = np.where(runtime == before, jobs.work, runtime * ratio)
    return jobs.replace(runtime=runtime, work=work)


STANDARD: tuple[str, ...] = tuple(rule.name for rule in RULES.values() if rule.standard)
"""Rules that leave nothing a simulation cannot run."""


def clean(
    jobs: Jobs,
    *,
    procs: int | None = None,
    rules: Sequence[str] = STANDARD,
    strict: bool = False,
) -> Jobs:
    """Apply cleaning rules and count what they did.

    Parameters
    ----------
    jobs : what to clean; not changed.
    procs : processors of the machine; needed by ``too-wide`` only.
    rules : names of rules, from `RULES`; they are applied in the order of `RULES`.
    strict : raise at the first job that a rule would touch.

    Returns
    -------
    Jobs
        The jobs left; ``.report`` is the report of `jobs` with the new findings after it.

    Raises
    ------
    OptionError
        For an unknown rule, or ``too-wide`` without `procs`.
    JobError
        When strict, at the first violation.

    Examples
    --------
    >>> import sojourn
    >>> jobs = sojourn.Jobs({"submit": [0, 5], "runtime": [60, -1], "procs": [4, 8]})
    >>> sojourn.clean(jobs)
    <Jobs: 1 job>
    """
    check_jobs(jobs)
    if isinstance(rules, str):
        rules = (rules,)
    for name in rules:
        if name not in RULES:
            near = did_you_mean(name, RULES) or f"; known rules: {', '.join(RULES)}"
            raise OptionError(f"no cleaning rule is called '{name}'{near}")
    if "too-wide" in rules and procs is None:
        raise OptionError("rule 'too-wide' needs the machine's size; give procs")
    findings: list[Finding] = []
    cleaned = jobs
    for rule in RULES.values():
        if rule.name not in rules:
            continue
        hit, after = rule.apply(cleaned, procs or 0)
        rows = np.flatnonzero(hit)
        if rows.size == 0:
            continue
        if strict and rule.fault:
            row = int(rows[0])
            raise JobError(
                int(cleaned.job[row]),
                rule.field,
                f"{rule.what} (value {cleaned[rule.field][row]}, rule '{rule.name}');"
                " correct the job or clean without strict",
            )
        findings += noted(rule.name, rule.action, rule.what, cleaned.job[rows])
        cleaned = after
    return cleaned.replace(report=jobs.report.extended(findings, len(cleaned)))


def chosen_rules(rules: Iterable[str] | None, *, keep_zero: bool) -> tuple[str, ...]:
    """Return the cleaning rules that were requested; None: the standard ones."""
    chosen = STANDARD if rules is None else rules
    return tuple(name for name in chosen if not (keep_zero and name == "zero-runtime"))


def cleaned(jobs: Jobs, procs: int | None, rules: Sequence[str], *, strict: bool = False) -> Jobs:
    """Return the jobs after `clean`; an error if none is left."""
    left = clean(jobs, procs=procs, rules=rules, strict=strict)
    if not len(left):
        why = f" ({left.report.findings[0]})" if left.report.findings else ""
        raise LogError(jobs.source, f"no job is left after cleaning{why}; check the log")
    return left
