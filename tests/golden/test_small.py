"""Hand-made cases whose job numbers state the expected finish times; 100 processors."""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn

EVERY = ("fcfs", "easy", "conservative")
CASES = (
    [(f"basic_input.{i}", policy) for i in range(15) for policy in EVERY]
    + [(f"bf_input.{i}", policy) for i in range(5) for policy in ("easy", "conservative")]
    + [("cons_bf_input.0", "conservative")]
    + [("easy_bf_input.0", "easy"), ("easy_bf_input.1", "easy")]
    + [(f"fcfs_input.{i}", "fcfs") for i in range(4)]
)


def read(path: Path) -> tuple[sojourn.Jobs, list[int]]:
    """Jobs, and the finish time that the whole part of each number states."""
    rows = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    submit, number, estimate, procs, runtime = zip(*[r[:5] for r in rows if r], strict=True)
    columns = {"submit": submit, "estimate": estimate, "procs": procs, "runtime": runtime}
    jobs = sojourn.Jobs({name: [int(x) for x in values] for name, values in columns.items()})
    return jobs, [int(x.split(".")[0]) for x in number]


@pytest.mark.parametrize("passes", ["instant", "event"])
@pytest.mark.parametrize(("name", "policy"), CASES)
def test_finish_times(data_dir, name, policy, passes):
    jobs, ends = read(data_dir / "expected" / "small" / name)
    assert sojourn.simulate(jobs, 100, policy, passes=passes).end.tolist() == ends


def test_every_case_is_listed(data_dir):
    names = {path.name for path in (data_dir / "expected" / "small").iterdir()}
    assert names == {name for name, _ in CASES}


def test_backfilling_is_what_these_cases_need(data_dir):
    """FCFS misses each of the cases that ask for backfilling."""
    for i in range(5):
        jobs, ends = read(data_dir / "expected" / "small" / f"bf_input.{i}")
        assert sojourn.simulate(jobs, 100, "fcfs").end.tolist() != ends
