"""Pages as text: what they say, that it is true, and that nothing breaks them."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pyarrow.parquet as pq
import pytest
from scipy import stats

import sojourn
from sojourn.errors import LogError, OptionError
from sojourn.measures.registry import get as measure
from sojourn.report.page import make_report, write_report
from sojourn.report.page.collect import points_of_study
from sojourn.report.page.folder import read_folder
from sojourn.report.page.methods import REFERENCES, cited
from sojourn.report.page.pack import Packer
from sojourn.report.page.sections import page_of
from sojourn.report.page.subjects import ComparisonFolder, RunFolder, StudyFolder
from sojourn.report.page.words import listed, value_text
from sojourn.run.folder import write_run

from .conftest import EVIL, made_jobs, study_rows, write_simulated, write_study


class Reader(HTMLParser):
    """Collects the text that a reader sees, the elements, and what scripts hold."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._inside = ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)
        elif not self._inside:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def facts_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="facts">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_a_folder_is_what_it_holds(run_folder, comparison_folder, study_folder):
    assert isinstance(read_folder(run_folder), RunFolder)
    found = read_folder(comparison_folder)
    assert isinstance(found, ComparisonFolder)
    assert [run.name for run in found.runs] == ["fcfs", "easy", "conservative"]
    assert isinstance(read_folder(study_folder), StudyFolder)


def test_a_page_of_a_run(run_folder):
    page = make_report(run_folder)
    words = read(page).words
    summary = json.loads((run_folder / "summary.json").read_text())
    assert "How would easy serve the 3,000 jobs of easy.swf on 64 processors?" in words
    answer = re.search(
        r"Jobs would wait ([\d.]+) (\w+) \(95 % interval ([\d.]+) to ([\d.]+) \w+[,)]", words
    )
    assert answer is not None
    size = {"s": 1, "min": 60, "h": 3600, "d": 86400}[answer[2]]
    assert float(answer[1]) == pytest.approx(summary["wait"]["mean"] / size, rel=5e-3)
    assert float(answer[3]) < float(answer[1]) < float(answer[4])
    assert summary["provenance"]["input"]["sha256"] in words
    assert summary["provenance"]["time"] in words
    charts = facts_of(page)["charts"]
    assert set(charts) == {"timeline", "waits", "slowdowns", "users"}
    clock = charts["timeline"]["clock"]
    # The header of the log tells no zone.
    assert (clock["type"], clock["label"]) == ("date", "date (clock of the log)")
    assert [panel["name"] for panel in charts["timeline"]["panels"]] == [
        "busy processors", "jobs waiting", "power",
    ]  # fmt: skip


def without_names(folder, copy):
    """Copy a run, but for the users in its job table, as earlier versions wrote it."""
    shutil.copytree(folder, copy)
    table = pq.read_table(copy / "jobs.parquet")
    pq.write_table(table.drop_columns(["user"]), copy / "jobs.parquet")
    return copy


def test_users_are_read_from_the_log_as_long_as_it_is_the_same(run_folder, tmp_path):
    folder = without_names(run_folder, tmp_path / "early")
    run = read_folder(folder)
    assert isinstance(run, RunFolder)
    log = sojourn.read_swf(run_folder.parent / "easy.swf")
    assert run.who("user").tolist() == log.user.astype(str).tolist()
    share = np.bincount(log.user, log.procs * log.runtime)
    share = share / share.sum()
    top = int(np.argmax(share))
    words = read(make_report(folder)).words
    assert f"{top} {np.sum(log.user == top):,} {100 * share[top]:.0f} %" in words
    summary = json.loads((folder / "summary.json").read_text())
    summary["provenance"]["input"]["sha256"] = "0" * 64
    (folder / "summary.json").write_text(json.dumps(summary))
    assert "Users are not known" in read(make_report(folder)).words


@pytest.mark.parametrize("what", ["parquet", "csv", "swf"])
def test_users_and_partitions_go_by_name(tmp_path, what):
    jobs = made_jobs(200, 16)
    named = jobs.replace(
        partition=1 + (np.arange(200) % 3 == 0),
        header=[*jobs.header, "User: 1 anna <b>", "Partition: 1 cpu", "Partition: 2 gpu"],
    )
    result = sojourn.simulate(named, 16, "easy")
    write_run(result, tmp_path / "run", format=what, trajectory=False)
    run = read_folder(tmp_path / "run")
    assert run.who("user").tolist() == named.labels("user").tolist()
    assert run.who("qos") is None
    page = make_report(tmp_path / "run")
    words = read(page).words
    assert "Partitions with most processor time" in words
    assert re.search(r"\bgpu 67\b", words)
    assert re.search(r"anna <b> \d+", words)
    assert "anna <b>" not in page


def test_a_comparison_names_the_best_and_by_how_much(comparison_folder):
    words = read(make_report(comparison_folder)).words
    means = {
        policy: json.loads((comparison_folder / policy / "summary.json").read_text())["wait"][
            "mean"
        ]
        for policy in ("fcfs", "easy", "conservative")
    }
    best = min(means, key=means.get)
    assert f"{best} has the lowest mean wait: " in words
    less = 1 - means[best] / means["fcfs"]
    assert f"{100 * less:.3g} % less than fcfs" in words
    assert "One run each" in words


def test_a_study_tells_intervals_of_replications(study_folder):
    study = read_folder(study_folder)
    assert isinstance(study, StudyFolder)
    assert study.keys == ("control.k", "policy.order")
    points = points_of_study(study)
    assert len(points) == 8
    assert "utilisation" not in points.samples  # It never changes.
    rows = study.runs[study.runs["status"] == "done"]
    mine = rows[(rows["control.k"] == 1e5) & (rows["policy.order"] == "sjf")]["wait_mean"]
    at = points.names.index("control.k = 100,000, policy.order = sjf")
    found = points.intervals["wait_mean"][at]
    half = stats.t.ppf(0.975, len(mine) - 1) * mine.std() / np.sqrt(len(mine))
    assert found.estimate == pytest.approx(mine.mean())
    assert found.high - found.estimate == pytest.approx(half)
    words = read(make_report(study_folder)).words
    assert "Thresholds" in words
    assert "The lowest mean wait is at control.k = 0, policy.order = sjf: " in words
    change = r"30(\.\d)? % less than control.k = 0, policy.order = fcfs \(95 % interval "
    assert re.search(change + r"[\d.]+ to [\d.]+ %, all comparisons together\)", words)
    assert "47 runs at 8 points, 5 to 6 replications each. 1 failed run is left out." in words
    assert "Student's t" in words
    assert "[fieller1954]" in words


def test_a_difference_that_is_not_certain_is_not_claimed(tmp_path):
    rows = study_rows(thresholds=(0.0,), replications=5)
    rng = np.random.default_rng(3)
    rows["wait_mean"] = rng.normal(1000.0, 200.0, 10).tolist()
    words = read(make_report(write_study(tmp_path / "study", rows))).words
    assert "which cannot be distinguished from that of" in words


def test_a_front_is_marked(tmp_path):
    front = {"points": [{"values": {"control.k": 1e5, "policy.order": "sjf"}, "objectives": {}}]}
    folder = write_study(tmp_path / "study", study_rows(), objectives=["wait_mean", "energy_kwh"])
    (folder / "front.json").write_text(json.dumps(front))
    chart = facts_of(make_report(folder))["charts"]["tradeoff"]
    assert [chart["names"][i] for i in chart["marked"]] == [
        "control.k = 100,000, policy.order = sjf"
    ]
    assert (chart["x"], chart["y"]) == ("wait_mean", "energy_kwh")


def test_a_study_of_draws_alone(tmp_path):
    rows = study_rows(thresholds=(0.0,), orders=("fcfs",))
    for key in ("control.k", "policy.order"):
        del rows[key]
    page = make_report(write_study(tmp_path / "study", rows, keys=[]))
    assert "The mean wait is " in read(page).words
    assert "curves" not in facts_of(page)["charts"]


def test_the_same_folder_gives_the_same_page(run_folder):
    assert make_report(run_folder) == make_report(run_folder)


def test_nothing_comes_from_outside(run_folder, study_folder):
    for folder in (run_folder, study_folder):
        page = read(make_report(folder))
        for tag, attributes in page.tags:
            assert tag not in ("link", "iframe", "img", "object", "embed")
            assert "src" not in attributes
            assert "href" not in attributes


@pytest.mark.parametrize("name", ["run_folder", "comparison_folder", "study_folder"])
def test_every_chart_has_one_place(name, request):
    page = make_report(request.getfixturevalue(name))
    tags = read(page).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    places = [a["id"] for _, a in tags if (a.get("class") or "").startswith("chart")]
    assert places == [*dict.fromkeys(places)]
    assert set(places) == set(facts_of(page)["charts"])


def test_words_of_others_stay_words(tmp_path):
    jobs = made_jobs(60, 8)
    folder = write_simulated(tmp_path / "run", jobs, 8, "easy")
    summary = json.loads((folder / "summary.json").read_text())
    summary["policy"] = EVIL
    summary["provenance"]["input"]["path"] = f"/tmp/{EVIL}"
    summary["provenance"]["options"]["log"] = EVIL
    (folder / "summary.json").write_text(json.dumps(summary))
    page = make_report(folder)
    reader = read(page)
    scripts = [tag for tag in reader.tags if tag[0] == "script"]
    assert len(scripts) == 4
    assert not [tag for tag in reader.tags if "onerror" in tag[1]]
    assert " ".join(EVIL.split()) in reader.words
    assert "{{ 7 * 7 }}" in reader.words
    assert facts_of(page)["charts"]["timeline"]["runs"][0]["name"] == EVIL


def test_words_of_others_in_a_study(tmp_path):
    rows = study_rows(orders=(EVIL, "</pre><b>"))
    folder = write_study(tmp_path / "study", rows, question=EVIL, options={EVIL: EVIL})
    (folder / "scenario.toml").write_text(f"# </pre>{EVIL}\n")
    reader = read(make_report(folder))
    assert len([tag for tag in reader.tags if tag[0] == "script"]) == 4
    assert not [tag for tag in reader.tags if tag[0] in ("b", "img")]


@pytest.mark.parametrize("name", ["run_folder", "comparison_folder"])
def test_figures_are_such_as_plotly_knows(name, request):
    page = make_report(request.getfixturevalue(name))
    plain = [chart for chart in facts_of(page)["charts"].values() if chart["kind"] == "plain"]
    assert plain

    def colored(value):
        if isinstance(value, str) and value.startswith("@"):
            return "#123456"
        if isinstance(value, dict):
            return {key: colored(item) for key, item in value.items()}
        return [colored(item) for item in value] if isinstance(value, list) else value

    for chart in plain:
        go.Figure(colored(chart["figure"]))


def test_named_nodes(tmp_path):
    cluster = sojourn.parse_cluster("3 x X5670, 2 x L5420")
    folder = write_simulated(tmp_path / "named", made_jobs(400, 32), cluster, "easy")
    page = make_report(folder)
    run = facts_of(page)["charts"]["timeline"]["runs"][0]
    assert sum(procs for _, procs in run["nodes"]) == cluster.procs == run["servers"]
    assert "[gomez2012]" in page


def test_preempted_jobs_have_no_chart_of_servers(tmp_path):
    folder = write_simulated(tmp_path / "stopped", made_jobs(300, 8, load=0.95), 8, "lcfs-pr")
    run = facts_of(make_report(folder))["charts"]["timeline"]["runs"][0]
    assert "preempted" in run["missing"]


@pytest.mark.parametrize("format", ["csv", "swf"])
def test_other_formats_of_the_job_table(tmp_path, format):
    from sojourn.run.folder import write_run

    result = sojourn.simulate(made_jobs(500, 16), 16, "easy", record=True)
    write_run(result, tmp_path / "a", format="parquet")
    write_run(result, tmp_path / "b", format=format, trajectory=False)
    one, other = (facts_of(make_report(tmp_path / name))["charts"] for name in "ab")
    assert one["waits"] == other["waits"]
    assert one["slowdowns"] == other["slowdowns"]
    assert [panel["name"] for panel in other["timeline"]["panels"]] == [
        "busy processors", "jobs waiting",
    ]  # fmt: skip


def test_methods_cite_what_they_should(run_folder, comparison_folder, study_folder):
    for folder in (run_folder, comparison_folder, study_folder):
        page = page_of(read_folder(folder), Packer())
        told = " ".join(page.methods)
        keys = set(re.findall(r"[a-z]+\d{4}", " ".join(re.findall(r"\[[^\]]*\]", told))))
        assert keys == {key for key, _ in page.references}
        assert keys <= set(REFERENCES)
        assert {"rumyantsev2018", "lifka1995"} <= keys
    assert cited(["no source [see below]"]) == []


def test_what_cannot_be_reported_is_one_line(tmp_path, run_folder):
    def refused(folder: Path, told: str) -> None:
        with pytest.raises(OptionError, match=told) as error:
            make_report(folder)
        assert "\n" not in str(error.value)

    refused(tmp_path / "nowhere", "no such folder")
    refused(tmp_path, "neither a study nor a run")
    (tmp_path / "summary.json").write_text("[1")
    refused(tmp_path, "cannot be read as JSON")
    (tmp_path / "summary.json").write_text('{"procs": 1, "policy": "x"}')
    refused(tmp_path, "field 'wait'")
    (tmp_path / "summary.json").write_text('{"procs": 1, "policy": "x", "wait": {}}')
    refused(tmp_path, "no job table")
    (tmp_path / "jobs.parquet").write_bytes(b"PAR1")
    refused(tmp_path, "jobs.parquet: cannot be read")
    pq.write_table(
        pq.read_table(run_folder / "jobs.parquet").drop("wait"), tmp_path / "jobs.parquet"
    )
    refused(tmp_path, "column 'wait': is missing")
    rows = study_rows(thresholds=(0.0,), replications=1)
    rows["status"] = ["failed"] * len(rows["status"])
    refused(write_study(tmp_path / "study", rows), "no run of the study is done")


def test_the_file_is_whole_or_not_there(tmp_path, run_folder):
    with pytest.raises(OptionError, match=r"FILE\.html"):
        write_report(run_folder, tmp_path / "report.pdf")
    with pytest.raises(LogError, match="cannot be written"):
        write_report(run_folder, tmp_path / "no" / "report.html")
    assert list(tmp_path.iterdir()) == []
    assert write_report(run_folder, tmp_path / "report.html").stat().st_size < 3e6


def test_measures_in_words():
    assert value_text(measure("wait_mean"), 5400.0) == "1.5 h"
    assert measure("wait.p95").label == "95th percentile of wait"
    assert value_text(measure("energy_total_kwh"), 12_340.0) == "12.3 MWh"
    assert value_text(measure("utilisation"), 0.8125) == "81.2 %"
    assert measure("my_own").label == "my_own"
    assert measure("bounded_slowdown_mean").lower is True
    assert measure("utilisation").lower is False
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"]) == "a"
    assert listed([]) == ""


def test_the_command(tmp_path, run_folder, capsys):
    from sojourn.cli import report as verb

    verb.report(run_folder, tmp_path / "page.html")
    assert re.fullmatch(r".*page\.html: \d\.\d MB\n", capsys.readouterr().out)
    copy = tmp_path / "run"
    shutil.copytree(run_folder, copy)
    verb.report(copy)
    assert (copy / "report.html").is_file()
