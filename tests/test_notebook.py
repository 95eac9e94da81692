"""What a notebook shows of jobs, clusters, runs and comparisons, and the pictures of a run."""

from __future__ import annotations

import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

import sojourn
from sojourn.errors import OptionError
from sojourn.policy.slurm import plain_conf
from sojourn.report.figures.of_run import RunPlots
from sojourn.report.text.layout import as_number

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


def test_what_a_log_does_not_know_is_left_out(jobs):
    unknown = jobs.replace(wait=[-1.0] * 60)
    assert "wait" not in shown(unknown).words
    words = shown(unknown.replace(wait=[-1.0] * 59 + [7.0])).words
    assert "wait" in words
    assert "–" in words
    assert "-1" not in words


def test_result(result):
    words = shown(result).words
    assert "easy on 16 processors" in words
    mean = result.summary["wait"]["mean"]
    number, unit = words[words.index("mean wait") + 1].split()
    seconds = {"s": 1, "min": 60, "h": 3600}[unit]
    assert float(number) * seconds == pytest.approx(mean, rel=1e-3)
    assert words[words.index("utilisation") + 1].endswith(" %")
    assert words[words.index("jobs") + 1] == "60"


def test_a_result_without_jobs(jobs):
    words = shown(sojourn.simulate(jobs[:0], 8)).words
    assert words[words.index("mean wait") + 1] == "–"
    assert words[words.index("utilisation") + 1] == "–"


def test_a_class_that_is_no_text(result):
    with pytest.raises(OptionError, match="class '3': choose from user"):
        result.by(3)


def test_counts_are_words_of_their_number():
    one = sojourn.Jobs({"submit": [0], "runtime": [1], "procs": [1]})
    assert repr(one) == "<Jobs: 1 job>"
    assert repr(sojourn.simulate(one, 1)) == "<Result of 1 job on 1 processor, easy>"
    many = sojourn.Jobs({"submit": range(1000), "runtime": [1] * 1000, "procs": [1] * 1000})
    assert repr(many) == "<Jobs: 1,000 jobs>"
    assert repr(sojourn.simulate(many, 2)) == "<Result of 1,000 jobs on 2 processors, easy>"


@pytest.mark.parametrize(
    ("value", "text"),
    [(-1e-9, "0.0000"), (-0.00004, "0.0000"), (-0.00006, "-0.0001"), (-1.5, "-1.500"), (0, "0")],
)
def test_no_zero_is_below_zero(value, text):
    assert as_number(value) == text


def test_clusters():
    assert "cluster of 16 processors" in shown(sojourn.Cluster.homogeneous(16)).words
    cluster = sojourn.parse_cluster("6 x X5670, 8 x L5420")
    assert repr(cluster) == "<Cluster of 136 processors on 14 nodes>"
    words = shown(cluster).words
    assert words[words.index("X5670") - 1 :][:4] == ["6", "X5670", "12", "12"]
    assert "memory (GB)" in words
    assert "L5420" in words
    words = shown(sojourn.parse_cluster("3 x (8 cores, 2 gpu)")).words
    assert words == [
        "cluster of 24 processors on 3 nodes",
        *("nodes", "server", "cores", "gpu"),
        *("3", "node", "8", "2"),
    ]


def test_comparison(jobs):
    found = sojourn.compare(jobs, 16, ["fcfs", "easy"])
    assert isinstance(found, sojourn.Comparison)
    assert (len(found), found[1].policy, repr(found)) == (2, "easy", "<Comparison of fcfs, easy>")
    assert found.table.loc["easy", "wait_mean"] == found[1].result.summary["wait"]["mean"]
    cells = shown(found)
    words = cells.words
    hours = found.table["wait_mean"] / 3600
    assert hours.max() > 1
    assert "mean wait (h)" in words
    assert words[words.index("fcfs") + 1] == f"{hours['fcfs']:.4g}"
    assert "60 jobs on 16 processors" in words
    better = "easy" if hours["easy"] < hours["fcfs"] else "fcfs"
    assert f"<td><b>{hours[better]:.4g}</b></td>" in found._repr_html_()


def test_options_of_a_comparison_are_seen():
    keywords = inspect.signature(sojourn.compare).parameters
    assert {"rate", "placements", *inspect.signature(sojourn.simulate).parameters} - {
        "policy"
    } <= set(keywords)
    assert "over_limit : " in sojourn.compare.__doc__


def test_policies():
    words = shown(sojourn.Policy("sjf", "easy", 2, "largest")).words
    assert "policy sjf+easy:2@largest" in words
    assert words[words.index("reservations") + 1] == "2"


def test_slurm_as_a_policy():
    policy = sojourn.slurm(plain_conf(4), bf_interval=10)
    assert repr(policy) == "<SlurmPolicy slurm[bf_interval=10]>"
    words = shown(policy).words
    assert "policy slurm[bf_interval=10]" in words
    assert words[words.index("SchedulerParameters") + 1] == "bf_interval=10"
    assert "fcfs" not in words


def test_energy_on_assumed_watts_says_so(jobs):
    priced = sojourn.compare(jobs, 16, ["fcfs", "easy"], price="0.2 EUR")
    for thing in (priced, priced[0].result):
        assert words_like(shown(thing).words, "energy: assumed 41/18 W")
    words = shown(priced[0].result).words
    assert words[words.index("cost of energy") + 1].endswith(" EUR")


def test_studies():
    told = {
        "workload": {"model": "lublin", "jobs": 40, "load": 0.8},
        "cluster": {"procs": 16},
    }
    study = sojourn.sweep(told, {"policy.name": ["fcfs", "easy"]}, 3, workers=1)
    assert repr(study) == "<Study of policy.name: 2 points, 6 of 6 runs>"
    assert "energy" not in study._repr_html_()
    cells = shown(study)
    assert cells.tags.count("tr") == 1 + 2
    assert "6 of 6 runs" in cells.words
    assert words_like(cells.words, "±")


def test_studies_that_ask_for_energy_say_what_it_rests_on():
    told = {"workload": {"model": "lublin", "jobs": 40, "load": 0.8}, "cluster": {"procs": 16}}
    priced = {**told, "power": {"price": 0.2}}
    words = " ".join(shown(sojourn.sweep(priced, {"policy.name": ["easy"]}, 2, workers=1)).words)
    assert "energy (kWh)" in words
    assert "assumed 41/18 W" in words


def words_like(words, part):
    return [word for word in words if part in word]


def test_lines_of_arrivals_and_waits(jobs, result):
    for thing, title in ((jobs, "jobs submitted every"), (result, "mean wait by submit")):
        cells = shown(thing)
        assert cells.tags.count("polyline") == 1
        assert words_like(cells.words, title)


@pytest.mark.parametrize(
    "name", ["gantt", "queue", "utilisation", "power", "distributions", "occupation"]
)
def test_pictures_of_a_run(result, name):
    figure = getattr(result.plot, name)()
    assert isinstance(figure, Figure)
    assert f"plot.{name}()" in repr(result.plot)
    data, size = figure._repr_png_()
    assert data.startswith(b"\x89PNG")
    width, height = np.frombuffer(data[16:24], ">u4")
    assert (width // 2, height // 2) == (size["width"], size["height"])


def test_power_says_which_watts_are_assumed(jobs, result):
    assert "assumed" in result.plot.power().axes[0].get_title(loc="right")
    given = sojourn.Cluster.homogeneous(16, power=sojourn.ConstantPower(41, 18))
    assert not sojourn.simulate(jobs, given).plot.power().axes[0].get_title(loc="right")


def test_every_name_that_completion_offers_is_documented(jobs, result):
    found = sojourn.compare(jobs, 16, ["easy"])
    told = {"workload": {"model": "lublin", "jobs": 40, "load": 0.8}, "cluster": {"procs": 16}}
    study = sojourn.sweep(told, {"policy.name": ["easy"]}, 1, workers=1)
    for thing in (jobs, result, result.plot, result.cluster, result.policy, found, study):
        kind = type(thing)
        for name in dir(thing):
            if name.startswith("_"):
                continue
            value = inspect.getattr_static(kind, name, None)
            described = callable(value) or hasattr(value, "__get__")
            said = inspect.getdoc(value) if described else kind.__doc__
            assert said, (kind, name)
            assert described or re.search(rf"\b{name}\b", said), (kind, name)


def test_every_keyword_of_a_picture_is_seen():
    for name, method in inspect.getmembers(RunPlots, inspect.isfunction):
        kinds = {each.kind for each in inspect.signature(method).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name


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
