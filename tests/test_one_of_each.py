"""What is added in one place is there everywhere: one of each, as CONTRIBUTING says.

Each recipe there is one edit of one file. They are made in a copy of the sources, and what they add
is used through the verbs that take it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]

ASK = """\
import contextlib, io, json, os, runpy, subprocess, sys
from pathlib import Path
import sojourn
from sojourn.cli import _completion, main

jobs = sojourn.lublin(60, 16, load=1.2, seed=3)
sojourn.write_swf(jobs, "log.swf")
plain = ["submit", "runtime", "procs", "estimate"]
rows = zip(*(jobs[name].tolist() for name in plain))
lines = ["\\t".join(plain), *("\\t".join(map(str, row)) for row in rows)]
Path("log.tsv").write_text("\\n".join(lines) + "\\n")

def ask(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return [code, out.getvalue(), err.getvalue()]

def measured(*words):
    code, out, err = ask(*words, "--json")
    if code:
        raise SystemExit(f"{words}: {err}")
    return json.loads(out)

def scenario(name, text, **workload):
    log = {"log": "log.swf", **workload}
    head = "\\n".join(f'{key} = "{value}"' for key, value in log.items())
    machine = "" if "[cluster]" in text else "[cluster]\\nprocs = 16\\n"
    Path(name).write_text(f"[workload]\\n{head}\\n{machine}{text}\\n")
    return name

def wait(summary):
    return summary["wait"]["mean"]

def swept(file, *keys):
    # A study of one point: that of the file, or of the value that is set.
    out = Path(file).stem
    code, _, err = ask("sweep", file, *keys, "--replications", 1, "--workers", 1, "--out", out)
    if code:
        raise SystemExit(err)
    return sojourn.study.read_runs(out)["wait_mean"].to_pylist()

def everywhere(name, options, text):
    # The mean wait by verbs that run a scenario.
    file = scenario(f"{name}.toml", text)
    saved = ["--save-scenario", f"{name}-saved.toml"]
    return {
        "simulate": wait(measured("simulate", "log.swf", "--procs", 16, *options, *saved)),
        "run": wait(measured("run", file)),
        "saved": wait(measured("run", saved[1])),
        "sweep": swept(file, "--set", "policy.passes=instant")[0],
    }

def searched(file, key, *values, by="wait_mean"):
    # What a search finds for two values: the best, and where more is better the other one.
    vary = ["--vary", f"{key}={','.join(values)}", "--population", 4, "--generations", 1]
    once = [*vary, "--replications", 1, "--workers", 1]
    fronts = (measured("optimise", file, *once, end, by) for end in ("--minimise", "--maximise"))
    points = [point for front in fronts for point in front["points"]]
    return {str(point["values"][key]): point["objectives"][by]["estimate"] for point in points}

def apart(one, other, log="log.swf"):
    # Mean waits of both sides of a comparison, and which lines differ.
    sides = measured("diff", one, other, "--log", log, "--draws", 2)
    (waits,) = [row for row in sides["measures"] if row["measure"] == "mean wait"]
    return [waits["a"], waits["b"], [line["name"] for line in sides["lines"]]]

exec(Path(sys.argv[1]).read_text())
"""


def _recipes() -> dict[str, str]:
    """The blocks of CONTRIBUTING that are a file of the sources, or its end."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n# src/sojourn/(\S+)\n(.*?)```", text, re.DOTALL)
    return dict(blocks)


def _answers(folder: Path, files: list[str], questions: str, *, own_kernels: bool) -> Any:
    """What the package says after its recipes for some files."""
    package = folder / "src" / "sojourn"
    shutil.copytree(ROOT / "src" / "sojourn", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in files:
        path = package / name
        before = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
        path.write_text(before + _recipes()[name], encoding="utf-8")
    (folder / "questions.py").write_text(questions, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    if own_kernels:
        env["SOJOURN_CACHE_DIR"] = str(folder / "kernels")
    done = subprocess.run(
        [sys.executable, "-c", ASK, "questions.py", str(ROOT / "docs" / "reference")],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Of the policy and the log: the engine, and its compiled code, stay what they are.
WITHOUT_ENGINE = """\
same = ["--set", "policy.passes=instant"]

def sleepy():
    node = "[[node]]\\ncount = 16\\ncores = 1\\nops = 1\\nidle_watts = 90\\nwatts = 190\\n"
    rest = 'name = "off"\\nwatts = 10\\nleave = 60\\nleave_watts = 100\\n'
    Path("sleepy.toml").write_text(f"{node}[[node.sleep]]\\n{rest}")
    return "sleepy.toml"

two = "1 x X5670, 1 x L5420"
nodes = ["--cluster", two]
plain = scenario("plain.toml", "")
def asleep(policy):
    return f'[cluster]\\nnodes = "{sleepy()}"\\n[policy]\\nsleep = "{policy}"'

on_nodes = '[cluster]\\nnodes = "1 x X5670, 1 x L5420"\\n[policy]\\nplacement = '
control = '[control]\\nkind = "queue"\\nrates = [1.0, 2.0]\\ncrowd = 3'
print(json.dumps({
    "order": everywhere(
        "order", ["--policy", "thinnest+easy"], '[policy]\\nname = "thinnest+easy"'
    ),
    "compare": measured("compare", "log.swf", "--procs", 16, "--policies", "easy,thinnest+easy"),
    "order of a backfill": str(sojourn.simulate(jobs, 16, "fcfs+easy@thinnest").policy),
    "completed": _completion.policies("thin"),
    "plan": ask("plan", "log.swf", "--policy", "thinnest+easy", "--target-wait", "mean=99d")[0],
    "stability": ask("stability", "log.swf", "--policy", "thinnest", "--batch", 200)[0],
    "order searched": searched(plain, "policy.name", "easy", "thinnest+easy"),
    "order apart": apart(plain, "order.toml"),
    "order of peas": [
        wait(measured("peas", "log.swf", two, "--policy", "thinnest+easy")),
        wait(measured("simulate", "log.swf", *nodes, "--policy", "thinnest+easy")),
    ],
    "control": everywhere("control", ["--rate", "queue:1.0,2.0:3"], control),
    "control by hand": wait(sojourn.simulate(jobs, 16, "easy", rate="queue:1,2:3").summary),
    "without": wait(sojourn.simulate(jobs, 16, "easy").summary),
    "wrong control": ask("simulate", "log.swf", "--rate", "queue:1.0,2.0")[2],
    "wrong key": ask("run", scenario("w.toml", control + "\\nk = 1"))[2],
    "control searched": searched(scenario("s.toml", control), "control.crowd", "3", "1000"),
    "control apart": apart(plain, "control.toml"),
    "control of peas": [
        wait(measured("peas", "log.swf", two, "--rate", "queue:1.0,2.0:3")),
        wait(measured("simulate", "log.swf", *nodes, "--rate", "queue:1.0,2.0:3")),
    ],
    "swept control": swept(scenario("c.toml", control), "--set", "control.crowd=0,3,1000"),
    "placement": [
        wait(measured("simulate", "log.swf", *nodes, "--placement", "emptiest")),
        wait(measured("run", scenario("p.toml", on_nodes + '"emptiest"'))),
        swept(scenario("q.toml", on_nodes + '"emptiest"'), *same)[0],
    ],
    "placements": measured(
        "compare", "log.swf", *nodes, "--policies", "easy", "--placements", "first-fit,emptiest"
    ),
    "placement searched": searched("p.toml", "policy.placement", "first-fit", "emptiest"),
    "placement apart": apart(scenario("first.toml", on_nodes + '"first-fit"'), "p.toml"),
    "placement of peas": wait(measured("peas", "log.swf", two, "--placement", "emptiest")),
    "completed placement": _completion.placements("emp"),
    "wrong placement": ask("simulate", "log.swf", *nodes, "--placement", "emptyest")[2],
    "sleep": [
        measured("simulate", "log.swf", "--cluster", sleepy(), "--sleep", policy)["sleep"]["boots"]
        for policy in ("idle:60", "share:0.0:60", "share:9:60")
    ],
    "sleep searched": searched(
        scenario("z.toml", f'[cluster]\\nnodes = "{sleepy()}"'),
        *("policy.sleep", "never", "share:9:60"),
        by="energy_kwh",
    ),
    "sleep apart": apart("z.toml", scenario("y.toml", asleep("share:9:60"))),
    "sleep by verbs": [
        measured(verb, "log.swf", *machine, "--sleep", "share:9:60")["energy"]["total_kwh"]
        for verb, machine in (("simulate", ["--cluster", sleepy()]), ("peas", [sleepy()]))
    ],
    "wrong sleep": ask("simulate", "log.swf", "--cluster", sleepy(), "--sleep", "shore:1")[2],
    "format": [
        wait(measured("simulate", "log.tsv", "--procs", 16)),
        wait(measured("simulate", "log.swf", "--procs", 16)),
        wait(measured("run", scenario("f.toml", "", log="log.tsv"))),
        swept(scenario("g.toml", "", log="log.tsv", format="tsv"), *same)[0],
    ],
    "format searched": searched("f.toml", "policy.name", "easy", "fcfs"),
    "format apart": [apart(plain, "order.toml", log) for log in ("log.swf", "log.tsv")],
    "format of peas": [wait(measured("peas", log, two)) for log in ("log.swf", "log.tsv")],
    "formats": measured("compare", "log.tsv", "--procs", 16, "--policies", "easy"),
    "converted": ask("convert", "log.tsv", "out.swf")[0],
    "inspected": ask("inspect", "log.tsv")[0],
    "schema": sojourn.study.scenario_schema()["$defs"],
    "commands": runpy.run_path(sys.argv[2] + "/make_cli.py")["text"](),
    "scenarios": runpy.run_path(sys.argv[2] + "/make_scenario.py")["text"](),
}))
"""


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the package says with one more order, control, placement, sleep policy and format."""
    files = ["policy/orders.py", "policy/control.py", "policy/placement.py", "jobs/log.py"]
    files += ["policy/sleep.py"]
    folder = tmp_path_factory.mktemp("each")
    answers: dict[str, Any] = _answers(folder, files, WITHOUT_ENGINE, own_kernels=False)
    return answers


def _row(compared: dict[str, Any], name: str) -> float:
    (row,) = [row for row in compared["rows"] if name in row.values()]
    return float(row["wait_mean"])


def test_an_order(added: dict[str, Any]) -> None:
    waits = set(added["order"].values())
    assert len(waits) == 1
    assert _row(added["compare"], "thinnest+easy") in waits
    assert _row(added["compare"], "easy") not in waits
    assert added["order of a backfill"] == "fcfs+easy@thinnest"
    assert added["completed"] == ["thinnest"]
    assert added["plan"] == added["stability"] == 0
    assert added["order searched"]["thinnest+easy"] in waits
    assert added["order searched"]["easy"] == added["without"]
    assert added["order apart"] == [added["without"], *waits, ["policy.name"]]
    assert len(set(added["order of peas"])) == 1
    keys = added["schema"]["PolicyKeys"]["properties"]
    assert "thinnest" in keys["name"]["anyOf"][0]["enum"]
    assert "thinnest" in keys["order"]["anyOf"][0]["enum"]
    assert "unicef, thinnest)" in added["commands"]
    assert "unicef, thinnest)" in added["scenarios"]


def test_a_control(added: dict[str, Any]) -> None:
    assert set(added["control"].values()) == {added["control by hand"]}
    never, some, always = reversed(added["swept control"])
    assert never == added["without"]
    assert some == added["control by hand"]
    assert always < some < never
    assert added["control searched"] == {"3": some, "1000": never}
    assert added["control apart"][:2] == [never, some]
    assert "control.crowd" in added["control apart"][2]
    assert len(set(added["control of peas"])) == 1
    assert "queue:2.0,2.66:5" in added["wrong control"]
    assert "a control of kind 'queue' has no such key; it has rates, crowd" in added["wrong key"]
    keys = added["schema"]["ControlKeys"]["properties"]
    assert "queue" in keys["kind"]["enum"]
    assert keys["crowd"]["description"].startswith("Faster while more jobs wait than this.")
    assert "cap:0.6,0.8,1 or queue:2.0,2.66:5" in added["commands"]
    assert "| `crowd` | Faster while more jobs wait than this." in added["scenarios"]


def test_a_placement(added: dict[str, Any]) -> None:
    (wait,) = set(added["placement"])
    assert _row(added["placements"], "emptiest") == wait
    assert _row(added["placements"], "first-fit") != wait
    assert added["placement searched"]["emptiest"] == added["placement of peas"] == wait
    assert added["placement apart"][1:] == [wait, ["policy.placement"]]
    assert added["placement apart"][0] == _row(added["placements"], "first-fit")
    assert added["completed placement"] == ["emptiest"]
    assert "did you mean 'emptiest'" in added["wrong placement"]
    placements = added["schema"]["PolicyKeys"]["properties"]["placement"]["anyOf"][0]["enum"]
    assert placements[-1] == "emptiest"
    assert "random or emptiest;" in added["commands"]
    assert "random or emptiest;" in added["scenarios"]


def test_a_sleep_policy(added: dict[str, Any]) -> None:
    idle, none, many = added["sleep"]
    assert idle == none > many
    (energy,) = set(added["sleep by verbs"])
    assert added["sleep searched"]["share:9:60"] == energy < added["sleep searched"]["never"]
    assert added["sleep apart"][2] == ["policy.sleep"]
    assert "did you mean 'share'" in added["wrong sleep"]
    assert "share:0.1:600" in added["commands"]
    assert "share:0.1:600" in added["scenarios"]


def test_a_format(added: dict[str, Any]) -> None:
    (wait,) = set(added["format"])
    assert _row(added["formats"], "easy") == wait
    assert added["format searched"]["easy"] == wait
    (apart, same) = added["format apart"]
    assert apart == same
    assert len(set(added["format of peas"])) == 1
    assert added["converted"] == added["inspected"] == 0
    assert added["schema"]["WorkloadKeys"]["properties"]["format"]["enum"][-1] == "tsv"
    assert "sacct or tsv." in added["commands"]
    assert "sacct or tsv." in added["scenarios"]


# One kernel serves both: that of the new rule, which has a calendar of events.
OF_ENGINE = """\
Path("purge.csv").write_text("time,kind\\n40000,purge\\n")
Path("wrong.csv").write_text("time,kind,job\\n40000,purge,1\\n")
rule = '[policy]\\nname = "fcfs+widest"'
nodes = "16 x (1 cores)"

def interpreted(*words):
    # The kernels of nodes take long to compile, and the log is short.
    command = [sys.executable, "-m", "sojourn", *words, "--json"]
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)

ran = sojourn.simulate(jobs, 16, "fcfs+widest")
purged = sojourn.simulate(jobs, 16, "fcfs+widest", events=[{"time": 40000, "kind": "purge"}])
print(json.dumps({
    "backfill": everywhere("rule", ["--policy", "fcfs+widest"], rule),
    "by hand": wait(ran.summary),
    "schedule": [ran.submit.tolist(), ran.start.tolist(), ran.end.tolist(), jobs.procs.tolist()],
    "key": wait(measured("run", scenario("k.toml", '[policy]\\nbackfill = "widest"'))),
    "apart": apart("rule.toml", "k.toml"),
    "compare": measured("compare", "log.swf", "--procs", 16, "--policies", "fcfs+widest"),
    "swept": swept(scenario("b.toml", ""), "--set", "policy.name=fcfs+widest")[0],
    "plan": ask("plan", "log.swf", "--policy", "fcfs+widest", "--target-wait", "mean=99d")[0],
    "stability": ask("stability", "log.swf", "--policy", "fcfs+widest", "--batch", 200)[0],
    "decisions": len(sojourn.simulate(jobs, 16, "fcfs+widest", decisions=True).decisions),
    "searched": searched("rule.toml", "workload.growth", "1", "2"),
    "peas": wait(interpreted("peas", "log.swf", nodes, "--policy", "fcfs+widest")),
    "report": [
        ask("simulate", "log.swf", "--policy", "fcfs+widest", "--out", "run")[0],
        ask("report", "run", "--out", "page.html")[0],
    ],
    "completed": _completion.policies("fcfs+w"),
    "wrong": ask("simulate", "log.swf", "--policy", "fcfs+widets")[2],
    "with reservations": ask("simulate", "log.swf", "--policy", "fcfs+widest:2")[2],
    "event": {
        "python": purged.summary["events"],
        "simulate": measured(
            "simulate", "log.swf", "--policy", "fcfs+widest", "--events", "purge.csv"
        )["events"],
        "run": measured("run", scenario("e.toml", rule, events="purge.csv"))["events"],
        "peas": interpreted(
            "peas", "log.swf", nodes, "--policy", "fcfs+widest", "--events", "purge.csv"
        )["events"],
    },
    "events searched": searched("e.toml", "workload.growth", "1", "2", by="cancelled"),
    "events apart": apart("rule.toml", "e.toml"),
    "events compared": measured(
        "compare", "log.swf", "--policies", "fcfs+widest", "--events", "purge.csv"
    ),
    "cancelled": [
        purged.jobs["submit"].tolist(), ran.start.tolist(), purged.jobs["status"].tolist()
    ],
    "wrong event": ask("simulate", "log.swf", "--events", "wrong.csv")[2],
    "schema": sojourn.study.scenario_schema()["$defs"],
    "commands": runpy.run_path(sys.argv[2] + "/make_cli.py")["text"](),
    "scenarios": runpy.run_path(sys.argv[2] + "/make_scenario.py")["text"](),
}))
"""


@pytest.fixture(scope="module")
def in_engine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the package says with one more backfill and one more kind of event."""
    files = ["engine/backfills/widest.py", "engine/happenings.py"]
    folder = tmp_path_factory.mktemp("engine")
    answers: dict[str, Any] = _answers(folder, files, OF_ENGINE, own_kernels=True)
    return answers


def test_a_backfill(in_engine: dict[str, Any]) -> None:
    (wait,) = {*in_engine["backfill"].values(), in_engine["by hand"], in_engine["key"]}
    assert _row(in_engine["compare"], "fcfs+widest") == in_engine["swept"] == wait
    assert wait in in_engine["searched"].values()
    assert in_engine["peas"] == wait
    assert in_engine["apart"][:2] == [wait, wait]
    assert in_engine["plan"] == in_engine["stability"] == 0
    assert in_engine["report"] == [0, 0]
    assert in_engine["decisions"] == len(in_engine["schedule"][0])
    assert in_engine["completed"] == ["fcfs+widest"]
    assert "did you mean 'widest'" in in_engine["wrong"]
    assert "only easy takes reservations, not 'widest'" in in_engine["with reservations"]
    assert "widest" in in_engine["schema"]["PolicyKeys"]["properties"]["backfill"]["enum"]
    assert "remaining, widest)" in in_engine["commands"]
    assert (
        "*conservative, easy, first-fit, none, preempt, remaining, widest*"
        in (in_engine["scenarios"])
    )


def test_the_backfill_does_what_it_says(in_engine: dict[str, Any]) -> None:
    """Nobody waits who would fit; who starts is as wide as any that waits and fits."""
    jobs = list(zip(*in_engine["schedule"], strict=True))
    for now in {start for _, start, _, _ in jobs}:
        free = 16 - sum(job[3] for job in jobs if job[1] < now < job[2])
        present = [job for job in jobs if job[0] <= now <= job[1]]
        expected = []
        while fitting := [job for job in present if job[3] <= free and job not in expected]:
            widest = max(fitting, key=lambda job: job[3])
            expected.append(widest)
            free -= widest[3]
        assert sorted(expected) == sorted(job for job in present if job[1] == now)


def test_a_kind_of_event(in_engine: dict[str, Any]) -> None:
    submit, start, status = in_engine["cancelled"]
    waiting = [a < 40000 < b for a, b in zip(submit, start, strict=True)]
    assert any(waiting)
    assert [word == "cancelled" for word in status] == waiting
    events = in_engine["event"]
    assert events["python"] == events["simulate"] == events["run"] == events["peas"]
    assert events["python"]["cancelled"] == sum(waiting)
    assert sum(waiting) in in_engine["events searched"].values()
    assert in_engine["events apart"][2] == ["workload.events"]
    (row,) = in_engine["events compared"]["rows"]
    assert row["cancelled"] == sum(waiting)
    assert "wrong.csv, line 2, field 'job': 'purge' takes no job" in in_engine["wrong event"]


def test_each_is_one_edit_of_one_file() -> None:
    files = [
        *("policy/orders.py", "engine/backfills/widest.py", "policy/control.py"),
        *("policy/placement.py", "jobs/log.py", "engine/happenings.py", "run/keys/policy.py"),
        "policy/sleep.py",
    ]
    assert set(files) <= set(_recipes())
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(text.count(f"\n# src/sojourn/{name}\n") == 1 for name in files)
