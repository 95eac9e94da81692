"""Columns as users bring them: read-only, of any type, with names, units and missing values."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import sojourn
from sojourn import adequacy, capacity, theory
from sojourn.jobs import Jobs, read_parquet, write_parquet
from sojourn.jobs.facts import facts
from sojourn.jobs.models.resample import resample_blocks
from sojourn.run.compare import compare

SUBMIT, RUNTIME, PROCS = [0, 10, 20, 30], [100, 50, 25, 400], [4, 2, 8, 1]


def frame(**more: object) -> pd.DataFrame:
    return pd.DataFrame({"submit": SUBMIT, "runtime": RUNTIME, "procs": PROCS, **more})


def waits(jobs: Jobs) -> list[float]:
    return sojourn.simulate(jobs, 8, "easy").jobs["wait"].tolist()


PLAIN = Jobs({"submit": SUBMIT, "runtime": RUNTIME, "procs": PROCS})


def frozen(values: list[int], dtype: str = "float64") -> np.ndarray:
    column = np.array(values, dtype)
    column.flags.writeable = False
    return column


def test_a_frame_there_and_back_is_simulated() -> None:
    expected = waits(PLAIN)
    assert waits(Jobs.from_pandas(frame())) == expected
    assert waits(Jobs.from_pandas(PLAIN.to_pandas())) == expected


def test_read_only_columns_are_simulated() -> None:
    jobs = Jobs(
        {
            "submit": frozen(SUBMIT),
            "runtime": frozen(RUNTIME),
            "procs": frozen(PROCS, "int64"),
            "user": frozen([1, 2, 3, 4], "int64"),
        }
    )
    assert waits(jobs) == waits(PLAIN)
    assert waits(jobs.replace(memory=frozen([1, 2, 3, 4]))) == waits(PLAIN)
    assert all(jobs[name].flags.writeable for name in jobs.names)


def test_columns_frozen_later_are_simulated() -> None:
    jobs = Jobs({"submit": SUBMIT, "runtime": RUNTIME, "procs": PROCS})
    for name in jobs.names:
        jobs[name].flags.writeable = False
    assert waits(jobs) == waits(PLAIN)
    assert waits(jobs[:3]) == waits(PLAIN[:3])


def test_a_parquet_file_is_simulated(tmp_path) -> None:
    write_parquet(PLAIN, tmp_path / "a.parquet")
    assert waits(read_parquet(tmp_path / "a.parquet")) == waits(PLAIN)


def test_columns_that_can_be_used_as_they_are_are_not_copied() -> None:
    submit = np.array(SUBMIT, np.float64)
    jobs = Jobs({"submit": submit, "runtime": RUNTIME, "procs": PROCS})
    assert np.shares_memory(jobs.submit, submit)


@pytest.mark.parametrize("number", [np.int64(8), np.uint16(8), np.float64(8.0), 8.0])
def test_processors_of_numpy_are_plain_in_the_summary(number) -> None:
    result = sojourn.simulate(PLAIN, number)
    assert type(result.cluster.procs) is int
    assert json.loads(json.dumps(result.summary))["procs"] == 8


def test_options_of_numpy_are_plain_in_the_summary() -> None:
    result = sojourn.simulate(
        PLAIN,
        8,
        rate=np.float32(1),
        estimates=np.float32(2),
        seed=np.int64(3),
        warmup=np.int64(1),
        reference_rate=np.float32(1),
    )
    summary = json.loads(json.dumps(result.summary))
    assert (summary["estimates"], summary["seed"]) == (2.0, 3)


@pytest.mark.parametrize("procs", [0, 2.5, float("nan"), "8", None, True, [4]])
def test_processors_that_are_no_number_are_one_clear_line(procs) -> None:
    with pytest.raises(sojourn.OptionError, match="processors; give a whole number above 0"):
        sojourn.Cluster(procs)


def test_a_log_out_of_order_is_sorted_by_submit_and_job_number() -> None:
    columns = {"runtime": [10] * 5, "procs": [8] * 5, "estimate": [10] * 5}
    jobs = Jobs({"job": [4, 3, 5, 1, 1], "submit": [5, 5, 0, 5, 5], **columns})
    jobs = jobs.replace(user=[1, 2, 3, 4, 5])
    assert jobs.sorted().job.tolist() == [5, 1, 1, 3, 4]
    assert jobs.sorted().user.tolist() == [3, 4, 5, 2, 1]
    assert sojourn.simulate(jobs, 8).jobs["job"].tolist() == [5, 1, 1, 3, 4]
    in_order = Jobs({"job": [5, 4, 3, 1, 2], "submit": [0, 5, 5, 5, 5], **columns})
    assert in_order.sorted() is in_order
    assert sojourn.simulate(in_order, 8).jobs["job"].tolist() == [5, 4, 3, 1, 2]


SHARES = [0.5, 0.25, 0.0, 0.25]


@pytest.mark.parametrize(
    "ask",
    [
        lambda f: theory.stability_constant(f(SHARES)),
        lambda f: theory.stability_constant(f(SHARES), "partitions"),
        lambda f: theory.stability_constant(f(SHARES), "depth"),
        lambda f: theory.stability_constants(f(SHARES), 9),
        lambda f: theory.estimate_stability_constant(f(SHARES), 1000).value,
        lambda f: theory.multiresource_constant(f([[1, 2], [2, 1]]), f([0.5, 0.5]), f([4, 4])),
        lambda f: theory.kiefer_wolfowitz(f([1, 2, 3]), f([4, 5, 6]), f([1, 2, 1]), 2),
        lambda f: theory.max_throughput(f(SHARES), f([1, 1, 2, 2])),
        lambda f: theory.infinite_servers(1.0, 0.5, 0.5, f(SHARES)).mean,
        lambda f: theory.kaufman_roberts(4, f([0.5, 0.5]), f([1, 2])).blocking,
    ],
)
def test_theory_takes_read_only_arrays(ask) -> None:
    assert np.array_equal(ask(np.asarray), ask(frozen))


def frozen_jobs() -> Jobs:
    rng = np.random.default_rng(1)
    count = 300
    jobs = Jobs(
        {
            "submit": np.cumsum(rng.exponential(100, count)),
            "runtime": rng.exponential(300, count) + 1,
            "procs": rng.integers(1, 9, count),
            "estimate": np.full(count, 3000.0),
            "user": rng.integers(1, 5, count),
        },
        header=["MaxProcs: 8", "UnixStartTime: 1000000000"],
    )
    for name in jobs.names:
        jobs[name].flags.writeable = False
    return jobs


@pytest.mark.parametrize("policy", ["fcfs", "easy", "sjf+conservative", "first-fit"])
def test_every_discipline_takes_read_only_columns(policy: str) -> None:
    result = sojourn.simulate(frozen_jobs(), 8, policy, record=True)
    assert len(result.jobs) == 300


@pytest.mark.parametrize(
    "ask",
    [
        lambda jobs: facts(jobs, 8),
        lambda jobs: theory.fit_model(jobs),
        lambda jobs: theory.kiefer_wolfowitz(*theory.driving_sequence(jobs), servers=8),
        lambda jobs: capacity.stability(jobs, 8, batch=100, replications=2),
        lambda jobs: compare(jobs, 8, ["fcfs", "easy"]),
        lambda jobs: sojourn.apply_estimates(jobs, "tsafrir", seed=1),
        lambda jobs: resample_blocks(jobs, "jobs", 1),
        lambda jobs: adequacy.JobStream.of_jobs(jobs.replace(wait=np.zeros(300))),
        lambda jobs: sojourn.simulate(jobs, 8, price=0.1, carbon=100, record=True).summary[
            "energy"
        ],
    ],
)
def test_what_is_asked_of_jobs_is_asked_of_read_only_ones(ask) -> None:
    assert ask(frozen_jobs()) is not None


@pytest.mark.parametrize("given", [frame(), "log.swf", None, {"submit": SUBMIT}])
def test_what_is_no_jobs_is_one_clear_line(given: object) -> None:
    for use in (
        lambda: sojourn.simulate(given, 8),
        lambda: sojourn.simulate(given, 8, clean=()),
        lambda: compare(given, 8, ["easy"]),
        lambda: sojourn.waits(given),
    ):
        with pytest.raises(sojourn.OptionError, match=r"is no Jobs; .*Jobs\.from_pandas"):
            use()
