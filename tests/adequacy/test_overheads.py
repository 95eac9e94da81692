"""Launch and completion: drawn, added and fitted."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.adequacy import (
    JobStream,
    Overhead,
    Overheads,
    fit_overhead,
    fit_overheads,
    parse_overhead,
)
from sojourn.errors import OptionError
from sojourn.jobs import Jobs


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("0.05", 0.05),
        ("constant:2", 2.0),
        ("exponential:0.4", 0.4),
        ("gamma:0.4,3", 0.4),
        ("lognormal:0.4,0.5", 0.4 * np.exp(0.125)),
        ("empirical:1,2,6", 3.0),
    ],
)
def test_means_of_draws(text, mean):
    overhead = parse_overhead(text)
    drawn = overhead.draw(200_000, np.random.default_rng(5))
    assert overhead.mean == pytest.approx(mean)
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert (drawn >= 0).all()


@pytest.mark.parametrize("text", ["", "fast", "gamma:1", "weibull:1,2", "constant:-1", "gamma:0,1"])
def test_descriptions_that_are_none(text):
    with pytest.raises(OptionError):
        parse_overhead(text)


def test_processing_is_launch_execution_and_completion():
    jobs = Jobs({"submit": [0, 1, 2], "runtime": [10, -1, 0], "procs": [1, 1, 1]})
    added = Overheads(Overhead("constant", (2.0,)), Overhead("constant", (0.5,))).added(jobs)
    assert added.runtime.tolist() == [12.5, -1.0, 2.5]
    assert Overheads().added(jobs).runtime.tolist() == [10.0, -1.0, 0.0]
    random = Overheads(Overhead("exponential", (3.0,)))
    assert (
        random.added(jobs, seed=1).runtime.tolist() == random.added(jobs, seed=1).runtime.tolist()
    )
    worked = jobs.replace(work=[5.0, 5.0, 5.0])
    assert Overheads(Overhead("constant", (2.0,))).added(worked).work.tolist() == [7.0, 5.0, 7.0]


@pytest.mark.parametrize("text", ["exponential:0.4", "gamma:0.4,3", "lognormal:0.04,0.5"])
def test_fits_find_what_was_drawn(text):
    true = parse_overhead(text)
    drawn = true.draw(50_000, np.random.default_rng(11))
    found = fit_overhead(drawn, true.kind)
    assert found.parameters == pytest.approx(true.parameters, rel=0.05)


def test_kinds_that_fit_by_themselves():
    assert fit_overhead([0.2, 0.2]) == Overhead("constant", (0.2,))
    assert fit_overhead([0.2, 0.3]).kind == "lognormal"
    assert fit_overhead([0, -1, 1]) == Overhead("empirical", (0.0, 0.0, 1.0))
    for wrong in ([], [np.nan]):
        with pytest.raises(OptionError, match="finite"):
            fit_overhead(wrong)
    with pytest.raises(OptionError, match="no length is above 0"):
        fit_overhead([0.0, 0.0], "gamma")


def test_overheads_of_a_stream():
    """Jobs of 10 s that took 10.5 s, 0.2 s of which went before execution."""
    submit = np.arange(4.0)
    stream = JobStream.of(submit, submit + 1, submit + 11.5, nodes=np.ones(4, int))
    whole = fit_overheads(stream, np.full(4, 10.0))
    assert whole.launch.mean == pytest.approx(0.5)
    assert whole.completion.mean == 0.0
    parts = fit_overheads(stream, np.full(4, 10.0), launched=submit + 1.2, kind="constant")
    assert parts.launch.parameters == pytest.approx((0.2,))
    assert parts.completion.parameters == pytest.approx((0.3,))
    with pytest.raises(OptionError, match="runtimes: 2 values for 4 jobs"):
        fit_overheads(stream, [1.0, 2.0])
    with pytest.raises(OptionError, match="launched: 1 values for 4 jobs"):
        fit_overheads(stream, np.full(4, 10.0), launched=[1.0])
