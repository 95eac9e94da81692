"""Cleaning rules: what each does, in which order, and what the report says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sojourn.errors import JobError, OptionError
from sojourn.jobs import RULES, STANDARD, Jobs, clean, read_swf


def make(**columns: list[float]) -> Jobs:
    size = len(next(iter(columns.values())))
    base = {"submit": range(size), "runtime": [10] * size, "procs": [1] * size}
    return Jobs({**base, "estimate": [20] * size, **columns})


def test_absurd_times_go() -> None:
    jobs = clean(make(submit=[0, 2e15, 3, 4], runtime=[1, 1, 2e15, 1], estimate=[1, 1, 1, 2e15]))
    assert jobs.job.tolist() == [1]
    assert jobs.report is not None
    assert jobs.report.count("absurd-time") == 3


def test_names_and_order() -> None:
    assert list(RULES) == [
        "negative-submit",
        "absurd-time",
        "missing-procs",
        "no-procs",
        "too-wide",
        "no-runtime",
        "zero-runtime-1s",
        "zero-runtime",
        "missing-estimate-drop",
        "missing-estimate",
        "clamp-runtime",
        "unsorted-submits",
        "tied-submits",
        "rebase",
    ]
    assert STANDARD == (
        "negative-submit",
        "absurd-time",
        "missing-procs",
        "no-procs",
        "no-runtime",
        "zero-runtime",
        "missing-estimate",
        "unsorted-submits",
    )


@pytest.mark.parametrize(
    ("rule", "columns", "column", "after", "touched"),
    [
        ("negative-submit", {"submit": [-1, 0, 3]}, "job", [2, 3], [1]),
        (
            "missing-procs",
            {"procs": [0, -1, 3, 0], "requested": [4, -1, 9, -1], "allocated": [-1, 5, 9, -1]},
            "procs",
            [4, 5, 3, 0],
            [1, 2],
        ),
        ("no-procs", {"procs": [0, 1, -1]}, "job", [2], [1, 3]),
        ("too-wide", {"procs": [8, 9, 1]}, "job", [1, 3], [2]),
        ("no-runtime", {"runtime": [-1, 0, 1]}, "job", [2, 3], [1]),
        ("zero-runtime", {"runtime": [-1, 0, 1]}, "job", [1, 3], [2]),
        ("zero-runtime-1s", {"runtime": [-1, 0, 5]}, "runtime", [-1, 1, 5], [2]),
        ("missing-estimate", {"estimate": [-1, 0, 30]}, "estimate", [10, 10, 30], [1, 2]),
        ("missing-estimate-drop", {"estimate": [-1, 0, 30]}, "job", [3], [1, 2]),
        ("clamp-runtime", {"runtime": [25, 20, 5]}, "runtime", [20, 20, 5], [1]),
        ("clamp-runtime", {"estimate": [-1, 4]}, "runtime", [10, 4], [2]),
        ("unsorted-submits", {"submit": [5, 3, 5, 4]}, "job", [2, 4, 1, 3], [2, 4]),
        ("tied-submits", {"submit": [1, 1, 1, 2]}, "submit", [1, 1.001, 1.002, 2], [2, 3]),
        ("rebase", {"submit": [7, 5]}, "submit", [2, 0], [1, 2]),
    ],
)
def test_rule(
    rule: str, columns: dict[str, list[float]], column: str, after: list, touched: list[int]
) -> None:
    jobs = make(**columns)
    before = {name: jobs[name].copy() for name in jobs.names}
    cleaned = clean(jobs, rules=[rule], procs=8)
    assert cleaned[column].tolist() == pytest.approx(after, rel=1e-15)
    (finding,) = cleaned.report.findings
    assert (finding.rule, finding.action) == (rule, RULES[rule].action)
    assert (finding.count, list(finding.first)) == (len(touched), touched)
    assert all(np.array_equal(jobs[name], values) for name, values in before.items())
    again = clean(cleaned, rules=[rule], procs=8)
    assert again.report.findings == cleaned.report.findings
    if rule != "rebase":
        with pytest.raises(JobError) as caught:
            clean(jobs, rules=[rule], procs=8, strict=True)
        assert (caught.value.job, caught.value.field) == (touched[0], RULES[rule].field)
        assert "\n" not in str(caught.value)


def test_a_clean_workload_is_left_alone() -> None:
    jobs = make(submit=[0, 0, 2])
    for strict in (False, True):
        cleaned = clean(jobs, strict=strict)
        assert cleaned.report.findings == ()
        assert cleaned.submit is jobs.submit
    assert clean(make(submit=[3, 4]), rules=["rebase"], strict=True).submit.tolist() == [0, 1]
    empty = clean(jobs[[]], rules=list(RULES), procs=1)
    assert len(empty) == 0


def test_rules_are_applied_in_their_own_order() -> None:
    jobs = make(runtime=[0, 5], estimate=[-1, 3])
    kept = clean(jobs, rules=["zero-runtime", "clamp-runtime", "zero-runtime-1s"])
    assert kept.runtime.tolist() == [1, 3]
    full = clean(jobs, rules=["clamp-runtime", "missing-estimate", "zero-runtime-1s"])
    assert full.estimate.tolist() == [1, 3]


def test_work_follows_the_runtime() -> None:
    jobs = make(runtime=[30, 0, 10], work=[60, 0, 15])
    cut = clean(jobs, rules=["clamp-runtime", "zero-runtime-1s"])
    assert cut.work.tolist() == [40, 1, 15]


def test_report_is_printable_and_cumulative(tmp_path) -> None:
    good = "1 0 -1 10 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1"
    path = tmp_path / "x.swf"
    path.write_text(f"{good}\nnonsense\n{good.replace(' 10 ', ' 0 ', 1)}\n")
    jobs = clean(read_swf(path))
    assert jobs.report.lines() == [
        f"{path}: 2 jobs read, 1 kept",
        "  skip not-a-number: 1 line, a field that is not a number (first: line 2)",
        "  drop zero-runtime: 1 job, the runtime is 0 (first: job 1)",
        "  repair missing-estimate: 1 job, no estimate: the runtime is taken (first: job 1)",
    ]
    assert str(jobs.report) == "\n".join(jobs.report.lines())
    values = json.loads(json.dumps(jobs.report.as_dict()))
    assert (values["read"], values["kept"], len(values["findings"])) == (2, 1, 3)
    assert values["findings"][1] == {
        "rule": "zero-runtime",
        "action": "drop",
        "what": "the runtime is 0",
        "count": 1,
        "unit": "job",
        "first": [1],
    }
    many = clean(make(runtime=[0] * 9))
    assert str(many.report.findings[0]).endswith("(first: job 1, 2, 3, 4, 5, ...)")


def test_bad_options() -> None:
    jobs = make(submit=[0])
    with pytest.raises(OptionError, match="did you mean 'zero-runtime'"):
        clean(jobs, rules=["zero-runtimes"])
    with pytest.raises(OptionError, match=r"too-wide.*procs"):
        clean(jobs, rules=["too-wide"])


@pytest.mark.parametrize(
    ("name", "kept", "counts"),
    [
        ("KTH-SP2-1996-2.swf.gz", 28_481, {"zero-runtime": 8}),
        (
            "SDSC-SP2-1998-4.2-cln.swf.gz",
            54_034,
            {"no-runtime": 5_671, "zero-runtime": 10, "missing-estimate": 35},
        ),
        (
            "LLNL-Thunder-2007-1.1-cln.swf.gz",
            113_613,
            {
                "missing-procs": 4,
                "negative-submit": 1_190,
                "no-procs": 1_058,
                "zero-runtime": 5_178,
                "missing-estimate": 80_197,
            },
        ),
        (
            "RICC-2010-2.swf.gz",
            447_784,
            {"missing-procs": 2, "zero-runtime": 10, "missing-estimate": 2},
        ),
        ("lublin_256.swf", 10_000, {"missing-procs": 10_000, "missing-estimate": 10_000}),
    ],
)
def test_real_logs(data_dir, name: str, kept: int, counts: dict[str, int]) -> None:
    jobs = clean(read_swf(data_dir / "swf" / name))
    assert len(jobs) == kept
    assert {finding.rule: finding.count for finding in jobs.report.findings} == counts
    assert (np.diff(jobs.submit) >= 0).all()
    for column in ("procs", "runtime", "estimate"):
        assert (jobs[column] > 0).all()


def test_cleaned_jobs_are_those_of_the_published_schedule(data_dir) -> None:
    jobs = clean(read_swf(data_dir / "swf" / "KTH-SP2-1996-2.swf.gz"))
    jobs = clean(jobs, rules=["clamp-runtime"])
    expected = read_swf(data_dir / "expected" / "easy" / "KTH-SP2.easy-exact.swf.gz")
    expected = expected[np.argsort(expected.job)]
    for column in ("job", "submit", "runtime", "procs"):
        assert np.array_equal(jobs[column], expected[column]), column
