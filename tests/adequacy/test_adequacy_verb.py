"""``sojourn adequacy`` on the command line."""

from __future__ import annotations

import json

import pytest
import typer

from sojourn.adequacy.matching import StreamError
from sojourn.cli._options import add_verb
from sojourn.cli.adequacy import adequacy
from sojourn.errors import OptionError

HEAD = "id,submit,start,end,nodes\n"
REAL = HEAD + "1,0,0,30,1\n2,10,10,40,2\n3,20,40,60,4\n4,30,60,100,1\n"
MODEL = HEAD + "1,0,0,30,1\n2,10,12,42,2\n3,20,40,66,4\n4,30,52,90,1\n"


@pytest.fixture
def run(capsys):
    app = typer.Typer()
    add_verb(app, adequacy)
    app.callback()(lambda: None)

    def call(*arguments):
        app(["adequacy", *map(str, arguments)], standalone_mode=False)
        return capsys.readouterr().out

    return call


@pytest.fixture
def files(tmp_path):
    paths = {}
    for name, text in (("real", REAL), ("model", MODEL)):
        paths[name] = tmp_path / f"{name}.csv"
        paths[name].write_text(text)
    return paths


def test_json(run, files):
    told = json.loads(run(files["real"], files["model"], "--json"))
    assert told["n"] == 4
    assert told["P"] == pytest.approx(35**0.5)
    assert told["relative"] == pytest.approx(35**0.5 / 42.5)
    assert told["median_abs"] == 4.0
    assert told["different"] == 2
    assert [row["n"] for row in told["prefixes"]] == [1, 2, 3, 4]
    assert set(told["prefixes"][0]) == {"n", "P", "different"}
    # The last two starts change places: job 4 is 60, then 52; job 3 stays at 40.
    assert told["first_divergence"]["kind"] == "delay"
    assert told["first_divergence"]["real"]["job"] == "2"
    assert told["verdict"] == {
        "adequate": None,
        "P_max": None,
        "because": "nothing to hold P against: give P_max or repetitions",
    }


def test_a_stream_and_itself(run, files):
    told = json.loads(run(files["real"], files["real"], "--json"))
    assert (told["P"], told["different"], told["first_divergence"]) == (0.0, 0, None)


def test_verdicts(run, files):
    options = (files["real"], files["model"], "--json")
    assert json.loads(run(*options, "--max", "6"))["verdict"]["adequate"] is True
    assert json.loads(run(*options, "--max", "5"))["verdict"]["adequate"] is False
    told = json.loads(run(*options, "--reference", files["model"]))
    assert told["reference"]["P_ideal"] == told["P"]
    assert told["verdict"]["adequate"] is True


def test_text_shows_table_1_and_the_divergence(run, files):
    told = run(files["real"], files["model"], "--max", "5")
    assert told.startswith("not adequate: P = 5.916 s > P_max = 5 s")
    lines = [line.split() for line in told.splitlines()]
    assert ["the", "first", "so", "many", "jobs", "P", "(s)", "different", "jobs"] in lines
    assert ["4", "5.916", "2"] in lines
    assert "the root mean square difference of times in the system" in told
    waits = json.loads(run(files["real"], files["model"], "--json"))["waits"]
    both = [waits[side]["mean"] for side in ("real", "model")]
    shown = [float(line[3]) for line in lines if line[1:3] == ["they", "waited"]]
    shown += [float(line[4]) for line in lines if line[1:4] == ["they", "would", "wait"]]
    assert shown == pytest.approx(both)
    assert "first divergence: start number 2, same job, other time" in told


def test_folder(run, files, tmp_path):
    out = tmp_path / "out"
    told = run(files["real"], files["model"], "--out", out)
    assert sorted(path.name for path in out.iterdir()) == [
        "adequacy.json",
        "differences.png",
        "streams.png",
    ]
    assert json.loads((out / "adequacy.json").read_text())["n"] == 4
    assert "streams.png, differences.png, adequacy.json in" in told


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        (("2,10,", "2,11,"), "submit"),
        (("42,2", "42,3"), "resources"),
        (("2,10,12,42", "2,10,9,42"), "times"),
        (("4,30,52,90,1\n", ""), "n"),
        (("4,30,52,90", "4,30,,90"), "events"),
    ],
)
def test_violations(run, files, change, condition):
    files["model"].write_text(MODEL.replace(*change))
    with pytest.raises(StreamError) as caught:
        run(files["real"], files["model"])
    assert caught.value.condition == condition


def test_options(run, files):
    with pytest.raises(OptionError, match="--match name: choose auto, id or order"):
        run(files["real"], files["model"], "--match", "name")
    files["model"].write_text(MODEL.replace("2,10,", "2,11,"))
    told = json.loads(run(files["real"], files["model"], "--json", "--submit-tolerance", "1"))
    assert told["n"] == 4
    files["model"].write_text(MODEL.replace("4,30,52,90", "4,30,,90"))
    told = json.loads(run(files["real"], files["model"], "--json", "--leave-out-unstarted"))
    assert (told["n"], told["unstarted"]) == (3, ["4"])
    files["model"].write_text(MODEL.replace("4,30,52,90,1\n", ""))
    told = json.loads(run(files["real"], files["model"], "--json", "--common"))
    assert (told["n"], told["alone"]) == (3, ["4"])
    told = json.loads(
        run(files["real"], files["real"], "--json", "--columns", "end=start,start=submit")
    )
    assert told["mean_residence"] == 12.5
