"""What a notebook shows of jobs, clusters, runs and comparisons, and the pictures of a run."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

import sojourn
from sojourn.errors import OptionError

EVIL = "<script>alert('x')</script>"


class _Cells(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def jobs():
    made = sojourn.lublin(60, 16, load=0.8, seed=3)
    users = np.arange(60) % 3 + 1
    return made.replace(user=users, header=["MaxProcs: 16", f"User: 1 {EVIL}"], source=EVIL)


@pytest.fixture(scope="module")
def result(jobs):
    return sojourn.simulate(jobs, 16, "easy")


def shown(thing) -> _Cells:
    cells = _Cells(thing._repr_html_())
    assert cells.tags.count("table") == 1
    assert "script" not in cells.tags
    return cells


def test_jobs(jobs):
    cells = shown(jobs)
    assert cells.tags.count("tr") == 1 + 5
    assert f"60 jobs from {EVIL}" in cells.words
    assert EVIL in cells.words
    assert "and 55 more; times in seconds" in cells.words
    assert shown(jobs[:0]).tags.count("tr") == 1


def test_result(result):
    words = shown(result).words
    assert "easy on 16 processors" in words
    mean = result.summary["wait"]["mean"]
    said = float(words[words.index("mean wait (s)") + 1].replace(",", ""))
    assert said == pytest.approx(mean, rel=1e-3)
    assert words[words.index("jobs") + 1] == "60"


def test_a_result_without_jobs(jobs):
    assert "utilisation" in sojourn.simulate(jobs[:0], 8)._repr_html_()


def test_a_class_that_is_no_text(result):
    with pytest.raises(OptionError, match="class '3': choose from user"):
        result.by(3)


def test_clusters():
    assert "cluster of 16 processors" in shown(sojourn.Cluster.homogeneous(16)).words
    words = shown(sojourn.parse_cluster("6 x X5670, 8 x L5420")).words
    assert words[words.index("X5670") + 1 :][:2] == ["12", "6"]
    assert "L5420" in words


def test_comparison(jobs):
    found = sojourn.compare(jobs, 16, ["fcfs", "easy"])
    assert isinstance(found, sojourn.Comparison)
    assert (len(found), found[1].policy, repr(found)) == (2, "easy", "<Comparison of fcfs, easy>")
    assert found.table.loc["easy", "wait_mean"] == found[1].result.summary["wait"]["mean"]
    words = shown(found).words
    assert "mean wait (s)" in words
    assert "60 jobs on 16 processors" in words


def test_policies():
    words = shown(sojourn.Policy("sjf", "easy", 2, "largest")).words
    assert "policy sjf+easy:2@largest" in words
    assert words[words.index("reservations") + 1] == "2"


def test_studies():
    told = {
        "workload": {"model": "lublin", "jobs": 40, "load": 0.8},
        "cluster": {"procs": 16},
    }
    study = sojourn.sweep(told, {"policy.name": ["fcfs", "easy"]}, 3)
    cells = shown(study)
    assert cells.tags.count("tr") == 1 + 2
    assert "6 of 6 runs" in cells.words
    assert words_like(cells.words, "±")


def words_like(words, part):
    return [word for word in words if part in word]


def test_lines_of_arrivals_and_waits(jobs, result):
    for thing, title in ((jobs, "jobs submitted every"), (result, "mean wait of jobs")):
        cells = shown(thing)
        assert cells.tags.count("polyline") == 1
        assert words_like(cells.words, title)


@pytest.mark.parametrize(
    "name", ["gantt", "queue", "utilisation", "power", "distributions", "occupation"]
)
def test_pictures_of_a_run(result, name):
    assert isinstance(getattr(result.plot, name)(), Figure)
    assert f"plot.{name}()" in repr(result.plot)


def test_a_run_on_one_page(result):
    figure = result.plot()
    assert figure.get_suptitle() == "easy on 16 processors, simulated"


def test_queue_is_the_same_recorded_or_not(jobs, result):
    recorded = sojourn.simulate(jobs, 16, "easy", record=True)
    one, other = (run.plot.queue().axes[0] for run in (result, recorded))
    assert one.get_title(loc="left") == other.get_title(loc="left")
    assert isinstance(recorded.plot.workload(), Figure)


def test_pictures_that_need_a_recorded_run(jobs, result):
    with pytest.raises(OptionError, match="record=True"):
        result.plot.workload()
    with pytest.raises(OptionError, match="record=True"):
        sojourn.simulate(jobs, 16, "sjf+preempt").plot.queue()


def test_pictures_on_named_nodes(jobs):
    run = sojourn.simulate(jobs, sojourn.parse_cluster("6 x X5670, 8 x L5420"))
    assert isinstance(run.plot.gantt(color="width"), Figure)


def test_colours_by_the_names_of_users(result):
    figure = result.plot.gantt(color="user")
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    texts += [t.get_text() for ax in figure.axes if ax.get_legend() for t in ax.get_legend().texts]
    assert any(text.startswith(f"user {EVIL}: ") for text in texts)
