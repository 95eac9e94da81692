"""A page claims no more than is known: waits beside the log's, watts, what is not acted on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sojourn
from sojourn.report.page import make_report

from .conftest import made_jobs, study_rows, write_simulated, write_study
from .test_pages import facts_of, read

ASSUMED = "assumed 41/18 W per processor"


@pytest.fixture(scope="module")
def logged() -> sojourn.Jobs:
    """Jobs of two queues that really waited 50,000 s each."""
    jobs = made_jobs(600, 16)
    return jobs.replace(wait=np.full(600, 50_000.0), queue=1 + np.arange(600) % 2)


@pytest.fixture(scope="module")
def plain_run(logged: sojourn.Jobs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run for which nobody gave watts."""
    folder = tmp_path_factory.mktemp("plain") / "easy"
    return write_simulated(folder, logged, sojourn.Cluster(16), "easy")


def test_recorded_waits_stand_beside_simulated_ones(plain_run: Path) -> None:
    words = read(make_report(plain_run)).words
    section = json.loads((plain_run / "summary.json").read_text())["recorded"]
    assert section["jobs"] == 600
    assert "In the log the 600 jobs whose wait it records waited 13.9 h on average" in words
    assert "recorded in the log: 13.9 h (600 jobs)" in words
    assert "the recorded one is" in words
    assert "such as other queues, limits, priorities" in words
    assert "Jobs would wait" in words
    assert "Jobs wait " not in words


def test_what_is_not_acted_on_is_on_the_page(plain_run: Path) -> None:
    assert "Not acted on: 2 queues." in read(make_report(plain_run)).words


def test_a_page_without_watts_has_no_energy(plain_run: Path) -> None:
    page = make_report(plain_run)
    words = read(page).words
    for word in ("energy", "kWh", "MWh", "power", "41/18"):
        assert word not in words, word
    panels = facts_of(page)["charts"]["timeline"]["panels"]
    assert [panel["name"] for panel in panels] == ["busy processors", "jobs waiting"]


def test_who_asks_for_a_cost_reads_which_watts_it_rests_on(
    logged: sojourn.Jobs, tmp_path: Path
) -> None:
    folder = write_simulated(tmp_path / "easy", logged, sojourn.Cluster(16), "easy", price="1 EUR")
    page = make_report(folder)
    words = read(page).words
    assert words.count(ASSUMED) >= 4  # the sentence, energy, peak power and cost
    assert "peak power" in words
    assert "power" in [panel["name"] for panel in facts_of(page)["charts"]["timeline"]["panels"]]


def test_a_comparison_claims_no_more_than_its_runs(logged: sojourn.Jobs, tmp_path: Path) -> None:
    for policy in ("fcfs", "easy"):
        write_simulated(tmp_path / "c" / policy, logged, sojourn.Cluster(16), policy)
    words = read(make_report(tmp_path / "c")).words
    assert "In the log the 600 jobs whose wait it records waited 13.9 h on average" in words
    assert " under easy and " in words
    assert "Not acted on: 2 queues." in words
    assert "energy" not in words


def test_a_comparison_with_watts_shows_the_peak(comparison_folder: Path) -> None:
    words = read(make_report(comparison_folder)).words
    assert "peak power" in words
    assert "assumed" not in words


@pytest.mark.parametrize("given", ["", "[power]\nbusy = 90\n"])
def test_a_study_shows_energy_where_watts_were_given(tmp_path: Path, given: str) -> None:
    rows = study_rows()
    rows["load"] = rows.pop("control.k")
    folder = write_study(tmp_path / "study", rows, keys=["load", "policy.order"])
    scenario = folder / "scenario.toml"
    scenario.write_text(scenario.read_text() + given)
    words = read(make_report(folder)).words
    assert ("energy" in words) == bool(given)
    assert "41/18" not in words


def test_a_study_of_a_rate_control_says_which_watts_are_assumed(study_folder: Path) -> None:
    words = read(make_report(study_folder)).words
    assert f"No watts were given for energies: {ASSUMED}." in words


def test_a_study_about_energy_shows_it_and_says_so(tmp_path: Path) -> None:
    rows = study_rows()
    rows["load"] = rows.pop("control.k")
    about = {"keys": ["load", "policy.order"], "objectives": ["energy_kwh"]}
    words = read(make_report(write_study(tmp_path / "study", rows, **about))).words
    assert "The lowest energy is at" in words
    assert ASSUMED in words
