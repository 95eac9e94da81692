"""``sojourn simulate``: what it writes, prints and refuses."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sojourn
from sojourn.cli import main
from sojourn.run.folder import files

from .conftest import SMALL, Run

COLUMNS = [
    "job",
    "submit",
    "start",
    "end",
    "wait",
    "service",
    "sojourn",
    "slowdown",
    "bounded_slowdown",
    "procs",
    "estimate",
    "energy",
    "status",
    "reason",
]
TRAJECTORY = ["time", "rate", "present", "queued", "busy", "running", "workload", "power"]

Refused = Callable[..., str]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_files_and_their_columns(run: Run, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    watts = ("--watts", "1.0:41:18")
    told = run("simulate", small, "--procs", 4, "--policy", "fcfs", "--out", out, *watts)
    assert (told.code, told.err) == (0, "")
    assert names(out) == {"jobs.parquet", "trajectory.parquet", "summary.json"}
    jobs = pd.read_parquet(out / "jobs.parquet")
    assert list(jobs.columns) == [*COLUMNS, "user", "queue"]
    assert jobs["job"].tolist() == [1, 2, 3]
    assert jobs["start"].tolist() == [0, 10, 15]
    assert jobs["end"].tolist() == [10, 15, 23]
    assert jobs["wait"].tolist() == [0, 9, 13]
    assert jobs["slowdown"].tolist() == [1, 14 / 5, 21 / 8]
    assert jobs["bounded_slowdown"].tolist() == [1, 1.4, 2.1]
    assert jobs["energy"].tolist() == [3 * 10 * 41, 4 * 5 * 41, 8 * 41]
    assert jobs["status"].tolist() == ["completed"] * 3
    assert list(pd.read_parquet(out / "trajectory.parquet").columns) == TRAJECTORY


def test_tables_have_no_energy_of_watts_that_nobody_gave(
    run: Run, small: Path, tmp_path: Path
) -> None:
    def columns(*options: str) -> tuple[bool, bool]:
        assert run("simulate", small, "--procs", 4, "--out", tmp_path / "run", *options).code == 0
        jobs, path = (
            pd.read_parquet(tmp_path / f"run/{t}.parquet") for t in ("jobs", "trajectory")
        )
        return "energy" in jobs, "power" in path

    assert columns() == (False, False)
    for asked in (("--price", "0.2 EUR"), ("--rate", "threshold:0.5,1:9"), ("--watts-busy", "90")):
        assert columns(*asked) == (True, True)


def test_backfilling_and_the_printed_summary(run: Run, small: Path, tmp_path: Path) -> None:
    told = run("simulate", small, "--policy", "easy", "--out", tmp_path / "run")
    assert pd.read_parquet(tmp_path / "run/jobs.parquet")["start"].tolist() == [0, 10, 2]
    # 58 processor-seconds of work in 15 s on 4 processors.
    for said in ("easy on 4 processors", "96.67 %", "3: 3 completed", str(tmp_path / "run")):
        assert said in told.out


def test_json_is_alone_on_stdout_and_equals_the_file(run: Run, small: Path, tmp_path: Path) -> None:
    told = run("simulate", small, "--policy", "easy", "--out", tmp_path / "run", "--json")
    summary = json.loads(told.out)
    assert summary == json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["wait"]["mean"] == 3.0
    assert summary["makespan"] == 15.0


def test_provenance(run: Run, small: Path, tmp_path: Path) -> None:
    command = ["simulate", small, "--policy", "sjf+easy", "--seed", 7, "--estimates", "2.5"]
    origin = json.loads(run(*command, "--json").out)["provenance"]
    assert origin["version"] == sojourn.__version__
    assert origin["seed"] == 7
    assert origin["options"]["policy"] == "sjf+easy"
    assert origin["options"]["estimates"] == "2.5"
    assert origin["input"]["sha256"] == hashlib.sha256(small.read_bytes()).hexdigest()
    assert origin["input"]["jobs"] == 3
    for key in ("time", "python", "numpy", "numba"):
        assert origin[key]


def test_nothing_is_written_without_out(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = names(tmp_path)
    assert run("simulate", small).code == 0
    assert names(tmp_path) == before


def test_the_machine_is_that_of_the_header(refused: Refused, run: Run, write_log) -> None:
    log = write_log(*SMALL, header="; MaxProcs: 8\n")
    assert json.loads(run("simulate", log, "--json").out)["procs"] == 8
    bare = write_log(*SMALL, header="", name="bare.swf")
    line = refused("simulate", bare)
    assert "MaxProcs" in line
    assert "--procs" in line
    assert json.loads(run("simulate", bare, "--procs", 5, "--json").out)["procs"] == 5


def test_csv_has_the_same_numbers(run: Run, small: Path, tmp_path: Path) -> None:
    run("simulate", small, "--procs", 3, "--out", tmp_path / "a")
    run("simulate", small, "--procs", 3, "--out", tmp_path / "b", "--format", "csv")
    assert names(tmp_path / "b") == {"jobs.csv", "trajectory.csv", "summary.json"}
    for name in ("jobs", "trajectory"):
        expected = pd.read_parquet(tmp_path / f"a/{name}.parquet")
        found = pd.read_csv(tmp_path / f"b/{name}.csv", dtype={"user": str, "queue": str})
        if name == "jobs":
            for column in ("status", "user", "queue"):
                expected[column] = expected[column].astype(found[column].dtype)
            # A job that is accepted has no reason: an empty field.
            assert expected["reason"].tolist() == ["", "processors", ""]
            expected["reason"] = expected["reason"].astype(found["reason"].dtype).replace("", None)
            assert found["start"].isna().tolist() == [False, True, False]
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_swf_is_the_log_with_the_waits_in_it(run: Run, small: Path, tmp_path: Path) -> None:
    run("simulate", small, "--policy", "easy", "--procs", 3, "--out", tmp_path, "--format", "swf")
    log, simulated = sojourn.read_swf(small), sojourn.read_swf(tmp_path / "jobs.swf")
    assert simulated.wait.tolist() == [0, -1, 8]
    assert simulated.runtime.tolist() == log.runtime.tolist()
    assert simulated.header.get("MaxProcs") == "4"
    assert any("simulated" in line for line in simulated.header)


def test_a_run_replaces_the_one_before_it(run: Run, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run("simulate", small, "--out", out)
    (out / "notes.txt").write_text("mine")
    told = run("simulate", small, "--out", out, "--format", "csv", "--no-trajectory")
    assert told.code == 0
    assert names(out) == {"jobs.csv", "summary.json", "notes.txt"}


@pytest.mark.parametrize("target", ["file", "file/below", "/dev/null/x"])
def test_a_folder_that_cannot_be(refused: Refused, small: Path, tmp_path: Path, target) -> None:
    (tmp_path / "file").write_text("here")
    assert "file" in refused("simulate", small, "--out", tmp_path / target).replace("null", "file")
    assert (tmp_path / "file").read_text() == "here"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(28, "No space left on device"), 1),
        (PermissionError(13, "Permission denied"), 2),
        (KeyboardInterrupt(), 130),
        (MemoryError(), 1),
    ],
)
def test_a_failed_write_leaves_nothing(
    refused: Refused, small: Path, tmp_path: Path, monkeypatch, error: BaseException, code: int
) -> None:
    def fail(path: Path, *table: object) -> None:
        if "trajectory" in path.name:
            path.write_bytes(b"half")
            raise error
        whole(path, *table)

    whole = files._write_parquet
    monkeypatch.setattr(files, "_write_parquet", fail)
    refused("simulate", small, "--out", tmp_path / "new" / "run", code=code)
    assert not (tmp_path / "new").exists()


def test_a_failed_write_leaves_the_former_run(
    refused: Refused, run: Run, small: Path, tmp_path: Path, monkeypatch
) -> None:
    out = tmp_path / "run"
    run("simulate", small, "--out", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sojourn.run.folder.writing._write_trajectory", fail)
    refused("simulate", small, "--policy", "fcfs", "--out", out, code=1)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_an_interrupted_run_leaves_nothing(
    refused: Refused, small: Path, tmp_path: Path, monkeypatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sojourn.engine.drive.Run.advance", interrupt)
    assert "interrupted" in refused("simulate", small, "--out", tmp_path / "run", code=130)
    assert not (tmp_path / "run").exists()


def test_unaccepted_jobs_are_listed(run: Run, small: Path, tmp_path: Path) -> None:
    told = run("simulate", small, "--procs", 3, "--out", tmp_path / "run")
    assert "1 wider than the machine (job 2)" in told.out
    jobs = pd.read_parquet(tmp_path / "run/jobs.parquet")
    assert jobs["status"].tolist() == ["completed", "unaccepted", "completed"]
    assert jobs["start"].isna().tolist() == [False, True, False]
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert (summary["unaccepted"], summary["unaccepted_jobs"]) == (1, [2])


def test_no_job_accepted_is_still_a_result(run: Run, small: Path, tmp_path: Path) -> None:
    told = run("simulate", small, "--procs", 3, "--rules", "none", "--out", tmp_path / "a")
    assert told.code == 0
    wide = tmp_path / "wide.swf"
    wide.write_text(small.read_text().splitlines()[2] + "\n")
    told = run("simulate", wide, "--procs", 3, "--out", tmp_path / "b")
    assert (told.code, told.err) == (0, "")
    assert pd.read_parquet(tmp_path / "b/jobs.parquet")["status"].tolist() == ["unaccepted"]


def test_jobs_beyond_their_limit(run: Run, write_log, tmp_path: Path) -> None:
    log = write_log((1, 0, 10, 1, 6))
    summary = json.loads(run("simulate", log, "--json").out)
    assert (summary["killed"], summary["makespan"]) == (1, 6.0)
    summary = json.loads(run("simulate", log, "--over-limit", "run", "--json").out)
    assert (summary["killed"], summary["makespan"]) == (0, 10.0)


def test_rates_and_watts(run: Run, write_log) -> None:
    log = write_log((1, 0, 10, 2, 10))
    told = json.loads(
        run(
            *("simulate", log, "--rate", "2", "--watts", "2:100:10", "--watts", "1:1:1", "--json")
        ).out
    )
    # 5 s at rate 2: two processors at 100 W, two at 10 W.
    assert told["makespan"] == 5.0
    assert told["energy"]["total_joules"] == pytest.approx(5 * (2 * 100 + 2 * 10), rel=1e-12)
    told = json.loads(run("simulate", log, "--watts-busy", 7, "--watts-idle", 1, "--json").out)
    assert told["energy"]["total_joules"] == pytest.approx(10 * (2 * 7 + 2 * 1), rel=1e-12)
    told = json.loads(run("simulate", log, "--rate", "2", "--reference-rate", "4", "--json").out)
    assert told["makespan"] == 20.0


def test_zero_runtimes(run: Run, write_log) -> None:
    log = write_log((1, 0, 0, 1), (2, 1, 5, 1))
    assert json.loads(run("simulate", log, "--json").out)["jobs"] == 1
    assert json.loads(run("simulate", log, "--keep-zero", "--json").out)["jobs"] == 2
    rules = "no-procs,zero-runtime-1s"
    told = json.loads(run("simulate", log, "--rules", rules, "--json").out)
    assert told["jobs"] == 2
    assert [finding["rule"] for finding in told["cleaning"]["findings"]] == ["zero-runtime-1s"]


def test_summary_numbers_are_plain_json(run: Run, write_log) -> None:
    # A job of no runtime that waits has an infinite slowdown, which JSON cannot say.
    log = write_log((1, 0, 10, 4, 10), (2, 1, 0, 4, 1))
    text = run("simulate", log, "--keep-zero", "--json").out
    told = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert told["slowdown"]["max"] is None
    assert math.isfinite(told["bounded_slowdown"]["max"])


def test_width(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("1 0 -1 10 3 -1 -1 2 10 -1 1 1 1 -1 1 -1 -1 -1\n")
    for width, utilisation in (("requested", 0.5), ("allocated", 0.75), ("max", 0.75)):
        told = run("simulate", log, "--procs", 4, "--width", width, "--json")
        assert json.loads(told.out)["utilisation"] == utilisation


def test_other_formats_of_logs(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "log.csv"
    table.write_text("t,s,n\n0,10,3\n1,5,4\n2,8,1\n")
    command = ("simulate", table, "--procs", 4, "--columns", "submit=t,runtime=s,procs=n")
    assert json.loads(run(*command, "--json").out)["wait"]["mean"] == 3.0
    krc = tmp_path / "krc.csv"
    krc.write_text("interarrival,service,delays,cores_used\n1,10,0,3\n1,5,0,4\n1,8,0,1\n")
    told = run("simulate", krc, "--procs", 4, "--log-format", "hpcwld", "--json")
    assert json.loads(told.out)["wait"]["mean"] == 3.0


def test_plots(run: Run, small: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run("simulate", small, "--out", tmp_path / "run", "--plots").code == 0
    assert (tmp_path / "run/overview.png").read_bytes().startswith(b"\x89PNG")
    run("simulate", small, "--out", tmp_path / "run")
    assert "overview.png" not in names(tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "esay"], "did you mean 'easy'"),
        (["--policy", "sjf+esay"], "esay"),
        (["--policy", "fcfs+easy:0"], "0"),
        (["--policy", ""], "policy"),
        (["--estimates", "guess"], "guess"),
        (["--estimates", "-1"], "-1"),
        (["--estimates", "nan"], "nan"),
        (["--procs", "0"], "--procs 0: give a whole number, 1 or more"),
        (["--procs", "-4"], "--procs -4: give a whole number, 1 or more"),
        (["--procs", "99999999999"], "--procs: 99999999999 is too large; give at most 2147483647"),
        (["--rate", "0"], "rate"),
        (["--rate", "workload:2,1:5:3"], "rate"),
        (["--rate", "warp:9"], "warp:9"),
        (["--reference-rate", "0"], "--reference-rate 0.0: give a number above 0"),
        (["--watts", "2:3"], "RATE:BUSY:IDLE"),
        (["--watts", "2:100:10"], "no watts for rate 1"),
        (["--watts", "1:100:10", "--watts-busy", "3"], "--watts"),
        (["--watts-busy", "-3"], "-3"),
        (["--over-limit", "pray"], "pray"),
        (["--passes", "many"], "many"),
        (["--format", "xml"], "xml"),
        (["--rules", "zero-runtimes"], "zero-runtime"),
        (["--width", "wide"], "wide"),
        (["--log-format", "xml"], "xml"),
        (["--columns", "submit"], "--columns"),
        (["--policy-file", "none.py:f"], "none.py"),
        (["--policy-file", "none.py"], "FILE.py:name"),
    ],
)
def test_wrong_options(
    refused: Refused, small: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    assert said in refused("simulate", small, "--out", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


def test_plots_need_a_folder(refused: Refused, small: Path) -> None:
    assert "--out" in refused("simulate", small, "--plots")


def test_numbers_and_words_are_in_tables_as_arrow_would_put_them() -> None:
    numbers = np.array([1.5, np.nan, -0.0, np.inf] * 5)
    for values in (numbers, numbers[::2], np.arange(20, dtype=np.int32)[::3], numbers[:0]):
        for gaps in (True, False):
            expected = pa.array(values, from_pandas=gaps)
            made = files._numbers(values, gaps=gaps)
            assert (made.type, made.null_count) == (expected.type, expected.null_count)
            # As text, in which nan is equal to nan, and -0 not to 0.
            assert str(made.to_pylist()) == str(expected.to_pylist())
    places = np.array([0, -1, 2] * 7, np.int8)
    assert files._places(places).equals(pa.array(places, mask=places < 0))
    for words in ([], [""], ["anna", "", "café", "東京"]):
        assert files._texts(words).equals(pa.array(words, pa.string()))
    label = np.array(["12_3", "4"])
    assert files._numbers(label, gaps=True).equals(pa.array(["12_3", "4"]))


@pytest.mark.parametrize("format", ["parquet", "csv", "swf"])
def test_a_run_is_written_without_pandas(small: Path, tmp_path: Path, format: str) -> None:
    given = ["simulate", str(small), "--procs", "4", "--format", format]
    code = (
        "import sys; from sojourn.cli import main; "
        f"assert main({[*given, '--out', str(tmp_path / 'run')]!r}) == 0; "
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_keys_can_be_set_by_name(tmp_path, capsys):
    """As sweeps and comparisons take them: the same run as by the option of the key."""
    log, out = tmp_path / "log.swf", tmp_path / "run"
    sojourn.write_swf(sojourn.lublin(50, 16, load=0.9, seed=1), log)
    assert main(["simulate", str(log), "--procs", "16", "--policy", "fcfs", "--json"]) == 0
    fcfs = json.loads(capsys.readouterr().out)
    command = ["simulate", str(log), "--procs", "32", "--set", "cluster.procs=16", "--json"]
    assert main([*command, "--set", "policy.name=fcfs", "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["policy"], told["wait"]) == ("fcfs", fcfs["wait"])
    options = json.loads((out / "summary.json").read_text())["provenance"]["options"]
    assert options["set"] == ["cluster.procs=16", "policy.name=fcfs"]
    for wrong, words in (
        (["policy.nme=fcfs"], "did you mean 'policy.name'"),
        (["policy.name"], "write --set KEY=VALUE"),
        (["policy.name=fcfs", "policy.name=easy"], "is set twice"),
    ):
        assert main([*command, *(part for each in wrong for part in ("--set", each))]) == 2
        assert words in capsys.readouterr().err


def test_caps_of_several_sets_add_up(tmp_path, capsys):
    """Each is of a set of its own, be it a file; the scenario that is saved has them all."""
    (tmp_path / "log.csv").write_text("submit,runtime,procs,estimate\n0,100,1,100\n1,100,1,100\n")
    (tmp_path / "nodes.toml").write_text(
        '[[node]]\nname = "n[1-2]"\ncores = 1\nops = 1\nwatts = 200\nidle_watts = 100\n'
    )
    (tmp_path / "cap.csv").write_text("time,watts\n0,300\n")
    run = ["simulate", str(tmp_path / "log.csv"), "--cluster", str(tmp_path / "nodes.toml")]
    caps = ["--cap", str(tmp_path / "cap.csv"), "--cap", "n1=200"]
    saved = tmp_path / "saved.toml"
    assert main([*run, *caps, "--json", "--save-scenario", str(saved)]) == 0
    caps = json.loads(capsys.readouterr().out)["caps"]
    assert {name: cap["watts"] for name, cap in caps.items()} == {"cluster": 300, "n1": 200}
    assert main(["run", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["caps"] == caps
