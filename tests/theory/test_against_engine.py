"""Theory against the engine: each checks the other.

The cases and their results are in docs/background/theory-vs-simulation.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn import theory

from .cases import CASES
from .models import open_run
from .replications import WARM_UP, window

DOCS = Path(__file__).resolve().parents[2] / "docs" / "background"


def test_there_are_enough_cases_of_every_model():
    assert len({case.name for case in CASES}) == len(CASES) >= 30
    models = {case.model.partition(",")[0] for case in CASES}
    assert models == {
        "M/M/s",
        "two servers",
        "small system",
        "stability constant",
        "saturated",
        "random speed scaling",
        "infinite servers",
        "nodes that sleep",
    }
    assert sum(case.model == "nodes that sleep" for case in CASES) == 24


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_intervals_of_the_engine_cover_the_theory(each):
    """At least 97 % at a confidence of 99 %; and a theory that is 10 % off would be found out."""
    rows = [case.compare() for case in CASES[::each]]
    every = [row for found in rows for row in found]
    missed = [row for row in every if not row.covers(row.theory)]
    assert len(missed) <= 0.03 * len(every), missed
    of_sets = [found for found in rows if any(row in missed for row in found)]
    assert len(of_sets) <= 0.03 * len(rows), of_sets
    # One model that is wrong might hide among the others; by chance nobody is so far off.
    far = [row for row in missed if abs(row.theory - row.simulation) > 2 * row.half_width]
    assert far == []
    for factor in (0.9, 1.1):
        blind = [row for row in every if row.covers(factor * row.theory)]
        assert len(blind) <= 0.1 * len(every), (factor, blind)


def load_page_maker():
    spec = importlib.util.spec_from_file_location("make_validation", DOCS / "make_validation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_theory_of_today():
    maker = load_page_maker()
    told = maker.read((DOCS / "theory-vs-simulation.md").read_text(encoding="utf-8"))
    theory_now = [
        (maker.heading(case.model), case.parameters, measure, maker.figure(value))
        for case in CASES
        for measure, value in case.theory().items()
    ]
    assert told == theory_now, "run python docs/background/make_validation.py"


def test_the_warm_up_is_long_enough(monkeypatch):
    """Under the heaviest load, with twice as much left out, the same runs say nearly the same."""
    assert WARM_UP == 0.1
    heavy = {"arrival_rate": 8.5, "p": [1.0], "rates": [1.0], "servers": 10}

    def waits() -> np.ndarray:
        return np.array(
            [open_run(np.random.default_rng(i), **heavy)["mean wait (s)"] for i in range(20)]
        )

    single = waits()
    monkeypatch.setattr("theory.replications.WARM_UP", 2 * WARM_UP)
    assert window(np.arange(100.0))[0] == 20
    double = waits()
    spread = single.std(ddof=1) / np.sqrt(len(single))
    assert 0 < abs(double.mean() - single.mean()) < spread


@pytest.mark.parametrize(
    ("servers", "load"), [(1, 0.9), (2, 0.7), (10, 0.9), (100, 0.8), (1000, 0.7)]
)
def test_recursion_and_engine_give_every_delay_alike(servers, load):
    """In whole seconds, where neither rounds: 20,000 jobs, equal to the last bit."""
    rng = np.random.default_rng(servers)
    jobs = 20_000
    width = np.minimum(rng.geometric(max(1 / servers, 0.1), jobs), servers)
    service = np.ceil(rng.exponential(1000.0, jobs))
    mean = service.mean() * width.mean() / servers / load
    interarrival = np.floor(rng.exponential(mean, jobs))
    submit = np.concatenate([[0.0], np.cumsum(interarrival)[:-1]])
    stream = sojourn.Jobs({"submit": submit, "runtime": service, "procs": width})
    result = sojourn.simulate(stream, servers, "fcfs", estimates="exact", clean=())
    delays = theory.kiefer_wolfowitz(interarrival, service, width, servers)
    assert np.count_nonzero(delays) > 100
    assert np.array_equal(result.start - submit, delays)
