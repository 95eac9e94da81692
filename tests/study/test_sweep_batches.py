"""Batches: short runs travel together, and all threads end together."""

from __future__ import annotations

import math

import pytest

from sojourn.study.plan import PlannedRun
from sojourn.study.work_left import Left

RUNS = [PlannedRun(str(i), (), i, i, "") for i in range(1000)]


@pytest.mark.parametrize(
    ("seconds", "threads", "count"),
    [
        (math.nan, 2, 1),  # nothing is known yet
        (0.005, 2, 200),  # a second of work
        (0.0005, 2, 250),  # no more than a fair share, with one batch ahead
        (3.0, 2, 1),
        (0.5, 100, 5),
        (0.05, 100, 5),
        (0.5, 10, 2),
        (0.0, 1, 500),
    ],
)
def test_batches_by_time_and_by_fair_shares(seconds: float, threads: int, count: int) -> None:
    left = Left(RUNS)
    assert left.take(seconds, threads) == RUNS[:count]


def test_every_run_is_sent_once_and_the_last_batches_are_small() -> None:
    left = Left(RUNS)
    sizes, sent = [], []
    while left:
        batch = left.take(0.002, 2)
        sizes.append(len(batch))
        sent += batch
    assert sent == RUNS
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-4:] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("seconds", "count"),
    [
        (0.1, 10),
        (0.07, 20),  # 14 would do
        (0.13, 10),  # 7 would do
        (0.04, 30),  # 25 would do
        (0.3, 3),  # too far from a whole group
    ],
)
def test_runs_of_the_same_jobs_stay_together(seconds: float, count: int) -> None:
    shared = [run._replace(draw=str(place // 10)) for place, run in enumerate(RUNS)]
    assert len(Left(shared).take(seconds, 1)) == count


def test_a_batch_taken_back_is_next() -> None:
    left = Left(RUNS[:20])
    first = left.take(0.1, 1)
    second = left.take(0.1, 1)
    left.again(second)
    left.again(first)
    assert [run for _ in range(2) for run in left.take(0.1, 1)] == [*first, *second]


def test_runs_that_were_with_a_worker_that_died_are_tried_last_and_alone() -> None:
    left = Left(RUNS[:20])
    batch = left.take(0.1, 1)
    left.doubt(batch)
    assert left.unsuspected == 20 - len(batch)
    while left.unsuspected:
        assert not set(left.take(0.1, 1)) & set(batch)
    assert [left.suspect() for _ in batch] == [[run] for run in batch]
    assert not left
