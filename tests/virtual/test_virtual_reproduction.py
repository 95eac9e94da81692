"""The stream of Table I, and what is said where it cannot be run."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sojourn.adequacy.virtual import StreamRun, needs
from sojourn.errors import OptionError, RunError
from sojourn.papers import baranov2019, find


def test_the_stream_is_as_long_as_a_day_and_not_overloaded():
    jobs = baranov2019.stream(baranov2019.JOBS)
    assert len(jobs) == 1000
    assert [job.id for job in jobs] == list(range(1, 1001))
    last = jobs[-1].submit
    assert last > 86_400
    assert all(one.submit <= other.submit for one, other in pairwise(jobs))
    assert all(60 <= job.run <= min(1200, 60 * job.limit) for job in jobs)
    assert all(1 <= job.nodes <= 16 for job in jobs)
    load = sum(job.run * job.nodes for job in jobs) / (baranov2019.NODES * last)
    assert load == pytest.approx(baranov2019.LOAD, abs=0.01)
    assert baranov2019.stream(1000) == jobs


def _run(jobs, delays):
    """A run in which some jobs, by their place, start later than submitted."""
    rows = []
    for place, job in enumerate(jobs, 1):
        start = job.submit + delays.get(place, 0.0)
        rows.append(
            {
                "id": job.id,
                "submit": job.submit,
                "eligible": job.submit,
                "start": start,
                "end": start + job.run,
                "nodes": job.nodes,
                "node_names": "n1",
                "state": "COMPLETED",
                "started_by": "main",
                "run": job.run,
                "limit_min": job.limit,
            }
        )
    return StreamRun(rows, "model", 86_400.0, 100.0, "", b"", "22.05.8")


def test_the_table_is_that_of_the_paper(monkeypatch, tmp_path):
    """P and different jobs by hand: 30 s in job 60, 40 s in job 600, a moment in job 700."""
    made = iter([{}, {60: 30.0, 600: 40.0, 700: 0.5}])
    monkeypatch.setattr(
        "sojourn.adequacy.virtual.run_stream",
        lambda jobs, *_, **__: _run(jobs, next(made)),
    )
    monkeypatch.setattr("sojourn.adequacy.virtual.check_plan", lambda *_: None)
    outcome = find("baranov2019-table1")(tmp_path)
    assert [row["jobs"] for row in outcome.rows] == [50, 100, 250, 500, 750, 1000]
    assert [row["different"] for row in outcome.rows] == [0, 1, 1, 1, 2, 2]
    P = [row["P"] for row in outcome.rows]
    assert P[:4] == pytest.approx([0.0, 3.0, 30 / 250**0.5, 30 / 500**0.5])
    assert P[4] == pytest.approx(((900 + 1600 + 0.25) / 750) ** 0.5)
    assert [row["P_printed"] for row in outcome.rows] == [0, 12.0, 11.4, 12.0, 11.6, 11.2]
    assert [row["different_printed"] for row in outcome.rows] == [0, 4, 13, 20, 28, 35]
    assert "over 1.00 days in 200 s" in outcome.says


def test_without_slurm_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(needs, "find_program", lambda _: None)
    with pytest.raises(RunError, match="missing on this machine: slurmctld"):
        find("baranov2019-table1")(tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"jobs": 1}, "at least 2"), ({"mode": "fast"}, "mode 'fast' is unknown")],
)
def test_what_cannot_be_meant_is_refused(tmp_path, options, words):
    with pytest.raises(OptionError, match=words):
        find("baranov2019-table1")(tmp_path, **options)


def test_others_have_no_stream(tmp_path):
    with pytest.raises(OptionError, match="leave out --jobs"):
        find("mminf2023-fig3")(tmp_path, jobs=10)
