"""Recorded waits by class, against plain loops."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import sojourn
from sojourn.cli import main
from sojourn.errors import LogError, OptionError
from sojourn.jobs import Jobs
from sojourn.jobs.classes import known_classes
from sojourn.jobs.facts import facts
from sojourn.jobs.recorded import COLUMNS, bottleneck, waits
from sojourn.run.outcome.unmodelled import not_acted_on

HEADER = ["MaxProcs: 8", "Partition: 1 cpu", "Partition: 2 gpu", "User: 1 anna"]


@pytest.fixture
def jobs():
    rng = np.random.default_rng(3)
    count = 200
    return Jobs(
        {
            "submit": np.arange(count),
            "wait": rng.integers(-1, 9000, count),
            "runtime": rng.integers(1, 9000, count),
            "allocated": rng.integers(-1, 5, count),
            "procs": rng.integers(1, 9, count),
            "partition": rng.integers(1, 3, count),
            "user": rng.integers(-1, 4, count),
        },
        header=HEADER,
    )


def test_the_table_is_what_a_loop_finds(jobs):
    table = waits(jobs, "partition", target=3000.0)
    assert tuple(table.columns) == COLUMNS
    assert table.index.name == "partition"
    recorded = [k for k in range(len(jobs)) if jobs.wait[k] >= 0]
    held = np.where(jobs.allocated > 0, jobs.allocated, jobs.procs)
    for number, name in ((1, "cpu"), (2, "gpu")):
        mine = [k for k in recorded if jobs.partition[k] == number]
        waited = [float(jobs.wait[k]) for k in mine]
        row = table.loc[name]
        assert row["jobs"] == len(mine)
        assert row["mean_wait"] == pytest.approx(sum(waited) / len(mine))
        assert row["median_wait"] == pytest.approx(np.quantile(waited, 0.5, method="inverted_cdf"))
        assert row["p95_wait"] == pytest.approx(np.quantile(waited, 0.95, method="inverted_cdf"))
        assert row["over_target"] == pytest.approx(sum(w > 3000 for w in waited) / len(mine))
        assert row["hours_waited"] == pytest.approx(sum(waited) / 3600)
        hours = sum(float(held[k] * jobs.runtime[k]) for k in mine) / 3600
        assert row["processor_hours"] == pytest.approx(hours)
    assert table["wait_share"].sum() == pytest.approx(1.0)
    assert table["share"].sum() == pytest.approx(1.0)


def test_a_job_that_never_started_has_not_waited_for_its_start(jobs):
    cancelled = jobs.replace(runtime=np.where(jobs.partition == 2, -1, jobs.runtime))
    assert waits(cancelled, "partition").index.tolist() == ["cpu"]
    told = facts(cancelled)
    assert told["waits_known"] == int(((jobs.wait >= 0) & (jobs.partition == 1)).sum())


def test_queues_that_are_the_partitions_are_not_shown_twice(jobs):
    twin = jobs.replace(queue=jobs.partition, header=[*HEADER, "Queue: 1 cpu", "Queue: 2 gpu"])
    assert known_classes(twin) == ["partition", "user", "width"]
    assert not_acted_on(twin) == ["2 partitions"]
    other = twin.replace(header=[*HEADER, "Queue: 1 day", "Queue: 2 night"])
    assert known_classes(other) == ["partition", "queue", "user", "width"]
    assert not_acted_on(other) == ["2 partitions", "2 queues"]


def test_order_of_the_rows(jobs):
    for column in COLUMNS:
        values = waits(jobs, "user", sort=column)[column].to_numpy()
        assert (np.diff(values) <= 0).all(), column
    assert waits(jobs, "user", sort="user").index.tolist() == ["(unknown)", "0", "2", "3", "anna"]
    assert waits(jobs, "width", sort="width").index.tolist() == ["1", "2", "3-4", "5-8"]
    with pytest.raises(OptionError, match="did you mean 'mean_wait'"):
        waits(jobs, "user", sort="mean_wat")


def test_sojourn_waits_is_the_function(jobs):
    assert sojourn.waits(jobs, by="user").equals(waits(jobs, "user"))


def test_where_most_of_the_waiting_is():
    jobs = Jobs(
        {"submit": [0, 0, 0], "wait": [3600, 6 * 3600, 0], "runtime": [3600, 3600, 3600],
         "procs": [7, 1, 2], "partition": [1, 2, 1]}, header=HEADER,
    )  # fmt: skip
    said = "partition gpu, 86 % of all hours waited, by 10 % of the processor-hours"
    assert bottleneck(waits(jobs, "partition")) == f"most of the waiting: {said}"
    even = bottleneck(waits(jobs.replace(wait=[60, 60, 0]), "partition"))
    assert even.startswith("the largest part of the waiting: partition cpu, 50 %")
    assert bottleneck(waits(jobs[:1], "partition")) == ""
    assert bottleneck(waits(jobs.replace(wait=[0, 0, 0]), "partition")) == ""


def test_what_a_log_knows(jobs):
    assert known_classes(jobs) == ["partition", "user", "width"]
    with pytest.raises(OptionError, match="not say it of any job; it knows partition, user, width"):
        waits(jobs, "account")
    with pytest.raises(LogError, match="no wait is recorded"):
        waits(jobs.replace(wait=np.full(len(jobs), -1)))
    with pytest.raises(OptionError, match="choose from user, group"):
        waits(jobs, "partitoin")


@pytest.fixture
def log(jobs, tmp_path):
    sojourn.write_swf(jobs, tmp_path / "log.swf")
    return tmp_path / "log.swf"


def test_the_verb_prints_tables_and_the_bottleneck(log, capsys):
    assert main(["waits", str(log), "--by", "partition,width", "--target", "30m"]) == 0
    out = capsys.readouterr().out
    assert "of the waiting: partition" in out
    assert "gpu" in out
    assert "5-8" in out
    assert "anna" not in out
    assert "0.5000 h" in out or "0.5 h" in out
    assert main(["waits", str(log), "--top", "1"]) == 0
    assert "more; --top" in capsys.readouterr().out


def test_the_verb_as_json_csv_and_picture(log, tmp_path, capsys):
    out, plot = tmp_path / "waits.csv", tmp_path / "waits.png"
    options = ["--by", "partition,user", "--json", "--out", str(out), "--plot", str(plot)]
    assert main(["waits", str(log), *options]) == 0
    told = json.loads(capsys.readouterr().out)
    expected = waits(sojourn.clean(sojourn.read_swf(log)), "user")
    assert [row["class"] for row in told["tables"]["user"]] == expected.index.tolist()
    assert told["tables"]["user"][0]["p95_wait"] == expected["p95_wait"].iloc[0]
    assert told["without_wait"] == int((sojourn.read_swf(log).wait < 0).sum())
    assert set(told["bottleneck"]) == {"partition", "user"}
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["class"] for row in rows if row["by"] == "user"] == expected.index.tolist()
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--by", "colour"], "class 'colour': choose from"),
        (["--by", ","], "--by names no class"),
        (["--target", "soon"], "--target 'soon': write a length of time"),
        (["--sort", "size"], "sort 'size': choose from"),
        (["--out", "table.txt"], "name it FILE.csv"),
        (["--plot", "waits.bmp"], "pictures are .png, .svg or .pdf"),
        (["--plot", "no/such/folder/waits.png"], "there is no folder"),
        (["--by", "qos"], "does not say it of any job"),
    ],
)
def test_the_verb_refuses(log, capsys, options, said):
    assert main(["waits", str(log), *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_a_log_without_waits_is_refused(jobs, tmp_path, capsys):
    sojourn.write_swf(jobs.replace(wait=np.full(len(jobs), -1)), tmp_path / "log.swf")
    assert main(["waits", str(tmp_path / "log.swf"), "--out", str(tmp_path / "w.csv")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no wait is recorded of any job" in err
    assert not (tmp_path / "w.csv").exists()


def test_picture_of_many_classes():
    from sojourn.report import class_waits

    rng = np.random.default_rng(1)
    names = [f"a very long name of an account, number {k}" for k in range(9)]
    waited = {name: rng.exponential(100.0 + k, 30) for k, name in enumerate(names)}
    figure = class_waits({"account": waited, "user": {"anna": np.zeros(3)}})
    first, second = figure.axes[:2]
    assert len(first.lines) == 6
    assert "6 of 9 with most waiting" in first.get_title(loc="right")
    assert [text.get_text() for text in second.get_legend().get_texts()] == ["anna (mean 0 s)"]


@pytest.mark.parametrize("target", [-1, float("nan"), "1h", None])
def test_targets_that_are_no_length_of_time(jobs, target):
    with pytest.raises(OptionError, match=f"target {target}: give a length of time"):
        waits(jobs, target=target)
