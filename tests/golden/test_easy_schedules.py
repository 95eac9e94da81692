"""Complete published schedules of EASY on two logs, start by start."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn import measures

from .planned_release import starts

PROCS = {"KTH-SP2": 100, "SDSC-SP2": 128}
EXACT, SJBF, USER = "easy-exact", "easy-sjbf-exact", "easy-user-estimates"

FIGURES = {
    ("KTH-SP2", EXACT): (28481, 6327.68, 71.722385),
    ("SDSC-SP2", EXACT): (54006, 17337.11, 70.477942),
    ("KTH-SP2", USER): (28481, 6836.872, 92.576540),
    ("SDSC-SP2", USER): (54006, 20497.761, 87.870324),
}
"""Jobs, mean wait (s) and mean bounded slowdown, as published."""


@lru_cache
def published(folder: Path, log: str, kind: str) -> sojourn.Jobs:
    """A schedule in the order of submission; its wait column is the result."""
    jobs = sojourn.read_swf(folder / "expected" / "easy" / f"{log}.{kind}.swf.gz")
    return jobs[np.lexsort((jobs.job, jobs.submit))]


def differing(jobs: sojourn.Jobs, result: sojourn.Result) -> np.ndarray:
    """Numbers of the jobs that start at another time than published."""
    assert np.array_equal(result.jobs["job"], jobs.job)
    return jobs.job[result.start != jobs.submit + jobs.wait]


@pytest.mark.parametrize("log", PROCS)
def test_exact_estimates_every_start(data_dir, log):
    jobs = published(data_dir, log, EXACT)
    result = sojourn.simulate(jobs, PROCS[log], "easy", estimates="exact")
    assert len(result.jobs) == FIGURES[log, EXACT][0]
    assert differing(jobs, result).tolist() == []


@pytest.mark.parametrize("log", PROCS)
def test_exact_estimates_from_the_file_itself(data_dir, log):
    """The files are in the order of completion; sorting them takes the reference's ties."""
    jobs = sojourn.read_swf(data_dir / "expected" / "easy" / f"{log}.{EXACT}.swf.gz")
    result = sojourn.simulate(jobs, PROCS[log], "easy", estimates="exact")
    assert differing(published(data_dir, log, EXACT), result).tolist() == []


def test_exact_estimates_from_the_raw_log(data_dir):
    """The standard cleaning leaves the very jobs that the reference scheduled."""
    raw = sojourn.read_swf(data_dir / "swf" / "KTH-SP2-1996-2.swf.gz")
    result = sojourn.simulate(raw, 100, "easy", estimates="exact").jobs
    jobs = published(data_dir, "KTH-SP2", EXACT)
    order = np.argsort(jobs.job)
    ours = result.sort_values("job")
    assert ours["job"].tolist() == jobs.job[order].tolist()
    assert ours["wait"].tolist() == jobs.wait[order].tolist()


@pytest.mark.parametrize("log", PROCS)
@pytest.mark.parametrize("kind", [EXACT, USER])
def test_figures_of_the_published_schedules(data_dir, log, kind):
    """Mean wait and bounded slowdown: ours with exact estimates, and of the file itself."""
    jobs = published(data_dir, log, kind)
    count, wait, slowdown = FIGURES[log, kind]
    sojourn_times = jobs.wait + jobs.runtime
    assert len(jobs) == count
    assert jobs.wait.mean() == pytest.approx(wait, abs=0.006)
    bounded = measures.bounded_slowdown(sojourn_times, jobs.runtime)
    assert bounded.mean() == pytest.approx(slowdown, abs=1e-6)
    if kind == EXACT:
        summary = sojourn.simulate(jobs, PROCS[log], "easy", estimates="exact").summary
        assert summary["wait"]["mean"] == pytest.approx(wait, abs=0.006)
        assert summary["bounded_slowdown"]["mean"] == pytest.approx(slowdown, abs=1e-6)


@pytest.mark.parametrize(("log", "others"), [("KTH-SP2", 28), ("SDSC-SP2", 2)])
def test_shortest_job_backfilled_first(data_dir, log, others):
    """All but jobs that meet others submitted in the same second (see the next test)."""
    jobs = published(data_dir, log, SJBF)
    result = sojourn.simulate(jobs, PROCS[log], "easy-sjbf", estimates="exact")
    different = differing(jobs, result)
    assert len(different) == others
    assert len(different) <= 0.001 * len(jobs)
    first = np.argmin(np.where(np.isin(jobs.job, different), result.start, np.inf))
    assert np.count_nonzero(jobs.submit == jobs.submit[first]) > 1


@pytest.mark.parametrize(("log", "others"), [("KTH-SP2", 9), ("SDSC-SP2", 45)])
def test_user_estimates_with_a_pass_per_event(data_dir, log, others):
    jobs = published(data_dir, log, USER)
    result = sojourn.simulate(jobs, PROCS[log], "easy", passes="event")
    assert len(differing(jobs, result)) == others
    assert others <= 0.001 * len(jobs)
    _, wait, slowdown = FIGURES[log, USER]
    assert result.summary["wait"]["mean"] == pytest.approx(wait, rel=1e-4)
    assert result.summary["bounded_slowdown"]["mean"] == pytest.approx(slowdown, rel=2e-4)


@pytest.mark.parametrize("log", PROCS)
def test_user_estimates_with_a_pass_per_instant(data_dir, log):
    """The house semantics: other schedules, the same figures within a percent."""
    jobs = published(data_dir, log, USER)
    summary = sojourn.simulate(jobs, PROCS[log], "easy").summary
    _, wait, slowdown = FIGURES[log, USER]
    assert summary["wait"]["mean"] == pytest.approx(wait, rel=0.01)
    assert summary["bounded_slowdown"]["mean"] == pytest.approx(slowdown, rel=0.01)


@pytest.mark.parametrize("log", PROCS)
@pytest.mark.parametrize("kind", [EXACT, SJBF, USER])
def test_one_reading_explains_every_difference(data_dir, log, kind):
    """A pass per event, and processors free from the planned end on: nothing is left over."""
    jobs = published(data_dir, log, kind)
    plan = jobs.estimate if kind == USER else jobs.runtime
    columns = (jobs.submit, jobs.runtime, plan, jobs.procs)
    found = starts(
        *(column.tolist() for column in columns), PROCS[log], shortest_first=kind == SJBF
    )
    assert found == (jobs.submit + jobs.wait).tolist()
