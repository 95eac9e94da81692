"""``sojourn peas``, and the other verbs on clusters: what they write, print and refuse."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import sojourn
from sojourn.cli import main
from sojourn.run import folder as output
from sojourn.run.keys import described
from sojourn.run.peas import KEYS, read_config

from .conftest import SMALL, Run

Refused = Callable[..., str]

# Average core: 1500 operations/s. Runtimes are 0.75 and 1.5 of the recorded ones.
CLUSTER = """\
name,cores,memory,ops,watts,idle_watts,features
fast,4,8,8000,100,40,gpu
slow,4,4,4000,60,20,
"""
FILES = {"jobs.parquet", "schedule.parquet", "trajectory.parquet", "nodes.csv", "summary.json"}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.csv"
    path.write_text(CLUSTER)
    return path


def test_numbers_computed_by_hand(run: Run, small: Path, cluster: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    told = run("peas", small, cluster, "--policy", "fcfs", "--out", out)
    assert (told.code, told.err) == (0, "")
    assert names(out) == FILES
    schedule = pd.read_parquet(out / "schedule.parquet")
    assert schedule.to_numpy().tolist() == [
        [1, "fast", 3, 0.0, 7.5],
        [2, "fast", 1, 1.0, 8.5],
        [2, "slow", 3, 1.0, 8.5],
        [3, "slow", 1, 2.0, 14.0],
    ]
    jobs = pd.read_parquet(out / "jobs.parquet")
    assert jobs["slowness"].tolist() == [0.75, 1.5, 1.5]
    assert jobs["nodes"].tolist() == [1, 2, 1]
    # [gomez2012, eq. 5]: 25 and 15 W per core at full load.
    assert jobs["peas_energy"].tolist() == [3 * 25 * 7.5, (25 + 3 * 15) * 7.5, 15 * 12]
    energy = json.loads((out / "summary.json").read_text())["energy"]
    assert energy["peas_kwh"] == pytest.approx(1267.5 / 3.6e6, rel=1e-12)
    # 40 + 15 W per busy core of fast, 20 + 10 W of slow, from 0 to 14 s.
    fast = 1 * 85 + 6.5 * 100 + 1 * 55 + 5.5 * 40
    slow = 1 * 20 + 1 * 50 + 6.5 * 60 + 5.5 * 30
    assert energy["total_joules"] == pytest.approx(fast + slow, rel=1e-12)
    nodes = pd.read_csv(out / "nodes.csv", index_col="node")
    bill = (nodes["busy_energy"] + nodes["idle_energy"]).to_dict()
    assert bill == pytest.approx({"fast": fast, "slow": slow}, rel=1e-12)


def test_files_have_what_the_result_has(run: Run, cluster: Path, tmp_path: Path) -> None:
    log, out = tmp_path / "log.swf", tmp_path / "run"
    sojourn.write_swf(sojourn.lublin(80, 16, load=0.9, seed=2, estimates="tsafrir"), log)
    told = run(
        *("peas", log, cluster, "--policy", "conservative", "--placement", "worst-fit"),
        *("--memory-per-node", 1, "--price", 0.2, "--out", out, "--debug"),
    )
    assert (told.code, told.err) == (0, "")
    assert names(out) == FILES | {"decisions.log"}
    result = sojourn.simulate(
        sojourn.read_swf(log),
        sojourn.read_cluster(cluster),
        "conservative",
        placement="worst-fit",
        constraints=sojourn.Constraints(memory_per_node=1.0),
        price=0.2,
        record=True,
        decisions=True,
    )
    assert {"processors"} == set(result.jobs["reason"][result.jobs["status"] == "unaccepted"])
    for name, expected in (
        ("jobs", result.jobs),
        ("schedule", result.allocations),
        ("trajectory", result.trajectory),
    ):
        found = pd.read_parquet(out / f"{name}.parquet")
        pd.testing.assert_frame_equal(found, expected, check_categorical=False)
    nodes = pd.read_csv(out / "nodes.csv")
    pd.testing.assert_frame_equal(nodes, result.nodes, check_dtype=False, rtol=1e-12)
    assert (out / "decisions.log").read_text().splitlines() == list(result.decisions.lines())
    summary = json.loads((out / "summary.json").read_text())
    origin = summary.pop("provenance")
    del summary["cleaning"], result.summary["cleaning"]
    assert summary == json.loads(output.as_json(result.summary))
    assert set(origin["files"]) == names(out)


def test_csv_has_the_same_numbers(run: Run, small: Path, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.csv"
    cluster.write_text(CLUSTER.replace("fast,", '"rack 1, ""the fast""",'))
    for format, folder in (("parquet", "a"), ("csv", "b"), ("swf", "c")):
        run("peas", small, cluster, "--format", format, "--out", tmp_path / folder)
    expected = pd.read_parquet(tmp_path / "a/schedule.parquet")
    assert expected["node"][0] == 'rack 1, "the fast"'
    found = pd.read_csv(tmp_path / "b/schedule.csv")
    expected["node"] = expected["node"].astype(found["node"].dtype)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert pd.read_csv(tmp_path / "b/nodes.csv")["node"][0] == 'rack 1, "the fast"'
    assert names(tmp_path / "b") == {
        *("jobs.csv", "schedule.csv", "trajectory.csv", "nodes.csv", "summary.json")
    }
    assert names(tmp_path / "c") == FILES - {"jobs.parquet"} | {"jobs.swf"}
    assert sojourn.read_swf(tmp_path / "c/jobs.swf").runtime.tolist() == [7.5, 7.5, 12]


def test_json_is_alone_on_stdout_and_equals_the_file(
    run: Run, small: Path, cluster: Path, tmp_path: Path
) -> None:
    told = run("peas", small, cluster, "--out", tmp_path / "run", "--json")
    summary = json.loads(told.out)
    assert told.err == ""
    assert summary == json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["wait"]["mean"] == 0
    assert summary["sojourn"]["mean"] == 9
    assert summary["mean_slowness"] == 1.25
    assert summary["unaccepted_reasons"] == {}
    assert (summary["nodes"], summary["procs"], summary["processor"]) == (2, 8, "core")
    assert (summary["placement"], summary["foresight"]) == ("first-fit", "nodes")
    assert summary["constraints"] == "none"
    for key in ("peas_kwh", "busy_joules", "idle_joules", "total_kwh", "idle_known"):
        assert key in summary["energy"]
    assert not {"cost", "carbon_kg"} & set(summary["energy"])


def test_the_table_for_people(run: Run, small: Path, cluster: Path, tmp_path: Path) -> None:
    options = ["--price", "720 EUR", "--carbon", "1e6", "--whole-nodes", "--out", tmp_path / "run"]
    out = run("peas", small, cluster, "--policy", "fcfs", "--where", "cores == 4", *options).out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == "fcfs, first-fit on 2 nodes (8 cores), simulated"
    assert "estimates user, foresight nodes; whole_node=True" in lines
    # Jobs 1 and 2 have a node each; job 3 waits from 2 to 7.5 for the fast one.
    assert "AWT 1.833 s (0.0005 h), the average time that jobs would wait" in lines
    response = "their average response time, from submit to end"
    assert f"ART 8.833 s (0.0025 h), {response}" in lines
    energy = json.loads((tmp_path / "run/summary.json").read_text())["energy"]
    assert any(line.startswith("energy of jobs 0.0") for line in lines)
    assert any(line.startswith("full bill 0.0") and "idle 0.0" in line for line in lines)
    (peak,) = [line.split() for line in lines if line.startswith("peak power")]
    assert float(peak[2]) == pytest.approx(energy["power_peak"] / 1e3, rel=1e-3)
    assert "assumed" not in out
    (cost,) = [line.split() for line in lines if line.startswith("cost")]
    assert cost[:3] == ["cost", "of", "energy"]
    assert cost[4] == "EUR"
    assert float(cost[3]) == pytest.approx(720 * energy["total_kwh"], abs=1e-3)
    assert any(line.startswith("carbon dioxide") and line.endswith(" kg") for line in lines)
    assert "accepted 3 of 3 jobs: 3 completed, 0 killed at their limit" in lines
    for start in ("utilisation", "makespan", "mean slowness"):
        assert any(line.startswith(start) for line in lines)
    assert lines[-1].startswith(f"results in {tmp_path / 'run'}: jobs.parquet, schedule.parquet")
    assert "idle watts" not in out


def test_unknown_idle_watts_are_told_in_one_line(run: Run, small: Path, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.csv"
    cluster.write_text("name,cores,ops,watts\na,4,1000,100\n")
    told = run("peas", small, cluster)
    assert [line for line in told.out.splitlines() if "idle watts" in line] == [
        "idle watts are not known of every node and count as 0: the bill is too low"
    ]
    summary = json.loads(run("peas", small, cluster, "--json").out)
    assert summary["energy"]["idle_known"] is False
    assert summary["energy"]["idle_joules"] == 0


def test_jobs_that_can_never_run(run: Run, write_log, cluster: Path, tmp_path: Path) -> None:
    log = write_log((1, 0, 10, 9, 10), (2, 0, 10, 7, 10), (3, 0, 10, 1, 10))
    told = run("peas", log, cluster, "--memory", 1.5, "--out", tmp_path / "run")
    # Of 8 and 4 GB, 4 and 2 cores can be used at 1.5 GB each.
    said = "2 never fit, for want of: processors 1, memory 1 (job 1, 2)"
    assert said in " ".join(told.out.split())
    assert "accepted 1 of 3 jobs" in " ".join(told.out.split())
    jobs = pd.read_parquet(tmp_path / "run/jobs.parquet")
    assert jobs["reason"].tolist() == ["processors", "memory", ""]
    told = run("peas", log, cluster, "--feature", "tape", "--out", tmp_path / "none", "--debug")
    assert (told.code, told.err) == (0, "")
    assert len((tmp_path / "none/decisions.log").read_text().splitlines()) == 3
    assert len(pd.read_parquet(tmp_path / "none/schedule.parquet")) == 0


def test_rows_that_were_repaired_are_told(run: Run, small: Path, tmp_path: Path) -> None:
    table = tmp_path / "ssj.csv"
    table.write_text(
        "Processor,# Cores,# Chips,# Cores Per Chip,Memory (GB),Result,"
        "ssj_ops @ 100% of target load,Average watts @ 100% of target load\n"
        "Intel Xeon X5570,8,2,4,8,500,800000,200\n"
        "Intel Xeon X5570,0,2,4,8,500,800000,200\n"
        "Intel Xeon X5570,8,2,4,8,0,800000,200\n"
    )
    told = run("peas", small, table)
    said = f"{table}: 3 rows read, 1 repaired, 1 refused; sojourn cluster inspect says which"
    assert said in told.out.splitlines()
    read = json.loads(run("peas", small, table, "--json").out)
    assert read["nodes"] == 2
    assert read["provenance"]["cluster"]["refused"] == 1
    kept = json.loads(run("peas", small, table, "--keep-noncompliant", "--json").out)
    assert kept["nodes"] == 3
    told = run("peas", small, table, "--strict")
    assert told.code == 2
    assert "line 3" in told.err


def test_provenance(run: Run, small: Path, cluster: Path, tmp_path: Path) -> None:
    config, carbon = tmp_path / "peas.toml", tmp_path / "carbon.csv"
    config.write_text('placement = "pack"\n[cost]\ncarbon = "carbon.csv"\n')
    carbon.write_text("time,g_per_kwh\n0,100\n1000,200\n")
    told = json.loads(run("peas", small, cluster, "--config", config, "--json").out)
    origin = told["provenance"]
    assert origin["command"] == "peas"
    for name, file in (
        ("input", small),
        ("cluster", cluster),
        ("config", config),
        ("carbon", carbon),
    ):
        assert origin[name]["path"] == str(file)
        assert origin[name]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert origin["options"]["placement"] == "pack"
    assert origin["options"]["policy"] == "easy"
    assert told["energy"]["carbon_kg"] == pytest.approx(0.1 * told["energy"]["total_kwh"])
    counts = json.loads(run("peas", small, "2 x X5670", "--json").out)["provenance"]["cluster"]
    assert (counts["path"], counts["sha256"]) == ("2 x X5670", None)


def test_a_run_replaces_the_one_before_it(
    run: Run, small: Path, cluster: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run("peas", small, cluster, "--out", out, "--debug")
    (out / "notes.txt").write_text("mine")
    run("simulate", small, "--out", out)
    assert names(out) == {"jobs.parquet", "trajectory.parquet", "summary.json", "notes.txt"}


@pytest.mark.parametrize("broken", ["_write_schedule", "_write_lines"])
def test_a_failed_write_leaves_the_former_run(
    refused: Refused, run: Run, small: Path, cluster: Path, tmp_path: Path, monkeypatch, broken: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    command = ("peas", small, cluster, "--debug", "--out")
    run(*command, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    monkeypatch.setattr(f"sojourn.run.folder.writing.{broken}", fail)
    refused(*command, tmp_path / "run", "--policy", "fcfs", code=1)
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    refused(*command, tmp_path / "new" / "run", code=1)
    assert not (tmp_path / "new").exists()


def test_an_interrupted_run_leaves_nothing(
    refused: Refused, small: Path, cluster: Path, tmp_path: Path, monkeypatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sojourn.engine.drive.Run.advance", interrupt)
    refused("peas", small, cluster, "--out", tmp_path / "run", code=130)
    assert not (tmp_path / "run").exists()


def test_constraints(run: Run, write_log, cluster: Path) -> None:
    # Queue 1 is the one of every job here.
    log = write_log((1, 0, 10, 1, 10), (2, 0, 10, 1, 10))

    def ends(*options: object) -> float:
        told = run("peas", log, cluster, "--placement", "slowest", *options, "--json")
        return float(json.loads(told.out)["makespan"])

    # The slow node takes 15 s, more than the limit, the fast one 7.5 s.
    assert ends() == 7.5
    assert ends("--memory", 5) == 15.0
    assert ends("--memory", 0, "--memory-per-node", 5) == 15.0
    assert ends("--whole-nodes") == 15.0
    assert ends("--feature", "gpu", "--whole-nodes") == 15.0
    assert ends("--feature", "queue:1=gpu") == ends("--feature", "queue:2=tape") == 7.5
    assert ends("--power-budget", 20) == 15.0
    assert ends("--processor", "node") == 15.0


def test_memory_of_the_log(run: Run, cluster: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    # 5 GB, in KB for each processor.
    log.write_text(
        "".join(f"{job} 0 -1 10 1 -1 -1 1 10 5242880 1 1 1 -1 1 -1 -1 -1\n" for job in (1, 2))
    )
    for memory, makespan in (("none", 7.5), ("log", 15.0)):
        told = json.loads(run("peas", log, cluster, "--memory", memory, "--json").out)
        assert told["makespan"] == makespan


def test_the_first_jobs(run: Run, write_log, cluster: Path) -> None:
    log = write_log((1, 0, 0, 1, 10), *SMALL[1:])
    told = json.loads(run("peas", log, cluster, "--first", 2, "--json").out)
    # The first is dropped by cleaning; the third does not take its place.
    assert (told["jobs"], told["cleaning"]["read"], told["cleaning"]["kept"]) == (1, 2, 1)
    assert told["provenance"]["input"]["jobs"] == 2
    assert json.loads(run("peas", log, cluster, "--first", 9, "--json").out)["jobs"] == 2


CONFIG = """\
policy = "sjf+easy"
placement = "random"
processor = "chip"
estimates = 2
first = 1
where = "cores >= 4"
seed = 7
foresight = "log"

[constraints]
memory_per_core = 1
whole_node = true
feature = {queue = {1 = "gpu"}}
power_budget = 500

[cost]
price = "0.15, 8:0.30 EUR"
carbon = 300
starts = 2011-05-01T12:00:00+09:00
"""


def test_every_key_of_the_configuration(run: Run, write_log, cluster: Path, tmp_path: Path) -> None:
    log, config = write_log((1, 0, 10, 1, 10), (2, 0, 10, 1, 10)), tmp_path / "peas.toml"
    config.write_text(CONFIG)
    told = json.loads(run("peas", log, cluster, "--config", config, "--json").out)
    for key, value in {
        "policy": "sjf+easy",
        "placement": "random",
        "processor": "chip",
        "estimates": 2.0,
        "jobs": 1,
        "seed": 7,
        "foresight": "log",
        "constraints": "memory_per_core=1.0, whole_node=True, feature={'queue': {1: 'gpu'}}, "
        "power_budget=500.0",
    }.items():
        assert told[key] == value
    assert told["energy"]["currency"] == "EUR"
    # It begins at noon, when a kWh is 0.30.
    kwh = told["energy"]["total_kwh"]
    assert told["energy"]["cost"] == pytest.approx(0.3 * kwh)
    assert told["energy"]["carbon_kg"] == pytest.approx(0.3 * kwh)
    assert told["provenance"]["options"]["where"] == "cores >= 4"
    # All but one key, which excludes another.
    said = read_config(config)
    for key in set(KEYS.values()) - {"policy.constraints.memory_per_node"}:
        value = said
        for step in key.split("."):
            value = value[step]
        assert value is not None


def test_the_command_line_wins_over_the_configuration(
    run: Run, small: Path, cluster: Path, tmp_path: Path
) -> None:
    config = tmp_path / "peas.toml"
    config.write_text(CONFIG)
    told = json.loads(
        run(
            *("peas", small, cluster, "--config", config, "--json"),
            # Some of these are defaults: they win nevertheless.
            *("--policy", "easy", "--placement", "first-fit", "--processor", "core"),
            *("--estimates", "user", "--first", 3, "--seed", 0, "--foresight", "nodes"),
            *("--memory", "none", "--no-whole-nodes", "--feature", "gpu"),
            *("--power-budget", "inf", "--price", "1 USD", "--carbon", 0),
            *("--where", "cores >= 1", "--starts", "2011-05-01"),
        ).out
    )
    for key, value in {
        "policy": "easy",
        "placement": "first-fit",
        "processor": "core",
        "estimates": "user",
        "jobs": 3,
        "seed": 0,
        "foresight": "nodes",
        "constraints": "feature=gpu",
    }.items():
        assert told[key] == value
    assert told["energy"]["currency"] == "USD"
    assert told["energy"]["carbon_kg"] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('polcy = "easy"', "key 'polcy': is not known; did you mean 'policy'?"),
        ("[constraints]\nmemory = 3", "key 'constraints.memory': is not known; did you mean 'mem"),
        ("[cots]\nprice = 3", "key 'cots': is not known; did you mean 'cost'?"),
        ("zzz = 1", "key 'zzz': is not known; choose from policy, placement"),
        ("price = 3", "key 'price': belongs into [cost]"),
        ('[cost]\nwhere = "x"', "key 'cost.where': belongs above all tables"),
        ('policy = "esay"', "key 'policy': unknown policy 'esay'"),
        ("policy = 3", "key 'policy': 3 is not a name such as easy"),
        (
            'placement = "bestfit"',
            "key 'placement': no placement is called 'bestfit'; did you mean",
        ),
        ('processor = "cpu"', "key 'processor': 'cpu' is not core, chip or node"),
        ('estimates = "guess"', "key 'estimates': 'guess' is not user, exact or"),
        ("estimates = -1", "key 'estimates': -1 is not"),
        ("first = 0", "key 'first': 0 is not a whole number, 1 or more"),
        ("first = 1.5", "key 'first': 1.5 is not"),
        ("first = true", "key 'first': true is not"),
        ('seed = "7"', "key 'seed': '7' is not a whole number"),
        ("seed = 99999999999999999999", "key 'seed': 99999999999999999999 is too large"),
        ('where = "coers > 3"', "key 'where': query '-->coers > 3'"),
        ('foresight = "far"', "key 'foresight': 'far' is not"),
        ("constraints = 3", "key 'constraints': 3 is not a table"),
        ("[[cost]]\nprice = 3", "key 'cost': [{'price': 3}] is not a table"),
        ("[constraints]\nmemory_per_core = -1", "key 'constraints.memory_per_core': -1 is not"),
        ("[constraints]\nmemory_per_core = nan", "key 'constraints.memory_per_core': nan is not"),
        ('[constraints]\nmemory_per_node = "log"', "key 'constraints.memory_per_node': 'log' is"),
        ("[constraints]\nmemory_per_node = 1e300", "key 'constraints.memory_per_node': 1e+300"),
        ("[constraints]\nwhole_node = 1", "key 'constraints.whole_node': 1 is not true or false"),
        ("[constraints]\nfeature = 3", "key 'constraints.feature': 3 is not a word"),
        (
            '[constraints]\nfeature.queu.3 = "gpu"',
            "key 'constraints.feature': 'queu' is not 'user'",
        ),
        (
            '[constraints]\nfeature.queue.x = "gpu"',
            "key 'constraints.feature': 'x' is not a whole number",
        ),
        ("[constraints]\npower_budget = inf", "key 'constraints.power_budget': inf is not"),
        ('[cost]\nprice = "cheap"', "key 'cost.price': tariff: 'cheap' is not"),
        ("[cost]\nprice = nan", "key 'cost.price': nan is not"),
        ("[cost]\ncarbon = -3", "key 'cost.carbon': -3 is not"),
        ('[cost]\nstarts = "soon"', "key 'cost.starts': start 'soon' is no ISO 8601 timestamp"),
        ("policy = ", "is not TOML"),
        ("[a]\n[a]", "line 2, key 'a': is given twice"),
        ("\udcff", "not a text in UTF-8"),
    ],
)
def test_configurations_that_cannot_be_used(
    refused: Refused, small: Path, cluster: Path, tmp_path: Path, text: str, said: str
) -> None:
    config = tmp_path / "peas.toml"
    config.write_bytes(text.encode(errors="surrogateescape"))
    line = refused("peas", small, cluster, "--config", config, "--out", tmp_path / "run")
    assert line.startswith(f"sojourn: error: {config}")
    assert said in line
    assert not (tmp_path / "run").exists()


def test_a_configuration_that_is_not_there(refused: Refused, small: Path, cluster: Path) -> None:
    folder = cluster.parent
    assert "no such file" in refused("peas", small, cluster, "--config", folder / "none.toml")
    assert "is a directory" in refused("peas", small, cluster, "--config", folder)
    (folder / "c.toml").write_text('[cost]\ncarbon = "none.csv"\n')
    line = refused("peas", small, cluster, "--config", folder / "c.toml")
    assert f"{folder / 'none.csv'}: no such file" in line


def test_every_key_is_one_of_a_scenario() -> None:
    assert set(KEYS.values()) <= set(described())


HEAD = "name,cores,ops,watts\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("colour,taste\nred,sweet\n", "is no cluster file"),
        ("name,ops,watts\na,1000,10\n", "field 'cores': is missing"),
        (HEAD + "a,many,1000,10\n", "field 'cores': 'many' is not a number"),
        (HEAD + "a,4,fast,10\n", "field 'ops': 'fast' is not a number"),
        (HEAD + "a,0,1000,10\n", "field 'cores': 0 is not above 0"),
        (HEAD + "a,4,1000,-10\n", "field 'watts': -10 W is below 0"),
        (HEAD + "a,4,1000,10\na,4,1000,10\n", "two nodes are called 'a'"),
        (HEAD + "a,4,1000,10,11\n", "5 cells"),
        (HEAD, "describes no node"),
        (HEAD + "a" * (1 << 21), "line 2"),
        ("\0\1\2" * 100, "cluster.csv"),
    ],
)
def test_clusters_that_cannot_be_used(
    refused: Refused, small: Path, tmp_path: Path, text: str, said: str
) -> None:
    cluster = tmp_path / "cluster.csv"
    cluster.write_text(text)
    for command in (
        ("peas", small, cluster),
        ("simulate", small, "--cluster", cluster),
    ):
        line = refused(*command, "--out", tmp_path / "run")
        assert str(cluster) in line
        assert said in line
        assert len(line) < 500
        assert not (tmp_path / "run").exists()


def test_a_cluster_that_is_no_file(refused: Refused, small: Path, tmp_path: Path) -> None:
    for name, said in ((tmp_path, "is a directory"), (tmp_path / "none.csv", "no such file")):
        assert said in refused("peas", small, name, "--out", tmp_path / "run")
    assert "X9999" in refused("peas", small, "4 x X9999", "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--placement", "bestfit"], "did you mean 'best-fit'"),
        (["--where", "coers > 3"], "did you mean 'cores'"),
        (["--where", "cores > 30"], "no node is left"),
        (["--processor", "cpu"], "choose core, chip or node"),
        (["--foresight", "far"], "choose nodes or log"),
        (["--memory", "much"], "choose none, log or a number of GB"),
        (["--memory", "-1"], "--memory -1"),
        (["--memory", "nan"], "--memory nan"),
        (["--memory", "1e300"], "--memory: 1e+300 is too large"),
        (["--memory-per-node", "-1"], "--memory-per-node -1"),
        (["--memory", "1", "--memory-per-node", "1"], "per core and per node"),
        (["--power-budget", "nan"], "--power-budget nan"),
        (["--feature", "queu:1=gpu"], "did you mean 'queue'"),
        (["--feature", "queue=gpu"], "queue:3=gpu"),
        (["--feature", "gpu", "--feature", "tape"], "one word"),
        (["--feature", "gpu", "--feature", "queue:1=gpu"], "one word"),
        (["--feature", ""], "--feature"),
        (["--price", "cheap"], "tariff: 'cheap'"),
        (["--carbon", "none.csv"], "none.csv: no such file"),
        (["--carbon", "-1"], "--carbon -1.0: give a number, 0 or more"),
        (["--starts", "soon"], "start 'soon'"),
        (["--first", "0"], "--first"),
        (["--seed", "99999999999999999999", "--placement", "random"], "--seed"),
        (["--format", "xml"], "--format 'xml'"),
        (["--procs", "4"], "see sojourn peas --help"),
    ],
)
def test_wrong_options(
    refused: Refused, small: Path, cluster: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    assert said in refused("peas", small, cluster, "--out", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


def test_the_log_of_decisions_needs_a_folder(refused: Refused, small: Path, cluster: Path) -> None:
    assert "--out" in refused("peas", small, cluster, "--debug")


def test_plots(run: Run, small: Path, cluster: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    told = run("peas", small, cluster, "--out", tmp_path / "run", "--plots")
    assert (told.code, told.err) == (0, "")
    assert (tmp_path / "run/overview.png").read_bytes().startswith(b"\x89PNG")


def test_simulate_on_a_cluster_is_the_same_run(
    run: Run, small: Path, cluster: Path, tmp_path: Path
) -> None:
    options = ("--placement", "fastest", "--policy", "fcfs", "--price", 1)
    one = run("peas", small, cluster, *options, "--out", tmp_path / "a")
    two = run("simulate", small, "--cluster", cluster, *options, "--out", tmp_path / "b")
    assert (one.code, two.code) == (0, 0)
    for name in FILES - {"summary.json"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    for said in ("fcfs, fastest on 2 nodes (8 cores)", "energy of jobs", "full bill", "cost"):
        assert said in two.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cluster", "X", "--procs", "4"], "--procs"),
        (["--cluster", "X", "--watts-busy", "4"], "--watts-busy"),
        (["--cluster", "X", "--watts-idle", "4"], "--watts-idle"),
        (["--cluster", "X", "--watts", "1:2:3"], "--watts"),
        (["--where", "cores > 3"], "--where"),
        (["--processor", "chip"], "--processor"),
        (["--memory", "3"], "--memory"),
        (["--whole-nodes"], "--whole-nodes"),
        (["--feature", "gpu"], "--feature"),
        (["--foresight", "log"], "--foresight"),
        (["--power-budget", "3"], "--power-budget"),
        (["--placement", "pack"], "--placement"),
    ],
)
def test_counted_or_named_but_not_both(
    refused: Refused, small: Path, cluster: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    chosen = [cluster if option == "X" else option for option in options]
    line = refused("simulate", small, *chosen, "--out", tmp_path / "run")
    assert said in line
    assert "cluster" in line
    assert not (tmp_path / "run").exists()


def test_costs_of_counted_processors(run: Run, small: Path) -> None:
    told = json.loads(run("simulate", small, "--price", "2 EUR", "--carbon", 500, "--json").out)
    energy = told["energy"]
    assert energy["cost"] == pytest.approx(2 * energy["total_kwh"])
    assert energy["carbon_kg"] == pytest.approx(0.5 * energy["total_kwh"])


def test_compare_placements(run: Run, small: Path, cluster: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    command = ["compare", small, "--cluster", cluster, "--policies", "fcfs,easy"]
    command += ["--placements", "first-fit, slowest", "--price", "1 EUR", "--carbon", 100]
    rows = json.loads(run(*command, "--csv", table, "--json").out)["rows"]
    assert [(row["policy"], row["placement"]) for row in rows] == [
        *(("fcfs", "first-fit"), ("easy", "first-fit"), ("fcfs", "slowest"), ("easy", "slowest"))
    ]
    for row in rows:
        options = ("--policy", row["policy"], "--placement", row["placement"], "--price", 1)
        alone = json.loads(run("peas", small, cluster, *options, "--json").out)
        assert row["wait_mean"] == alone["wait"]["mean"]
        assert row["sojourn_mean"] == alone["sojourn"]["mean"]
        assert row["energy_kwh"] == alone["energy"]["total_kwh"]
        assert row["peas_kwh"] == alone["energy"]["peas_kwh"]
        assert row["cost"] == alone["energy"]["cost"]
        assert row["carbon_kg"] == pytest.approx(0.1 * row["energy_kwh"])
    assert pd.read_csv(table)["placement"].tolist() == [row["placement"] for row in rows]
    lines = run(*command).out.splitlines()
    for row in rows:
        (line,) = [
            each for each in lines if each.startswith(f"{row['policy']}, {row['placement']}")
        ]
        assert "…" not in line
    assert {"energy", "cost", "CO2", "jobs'", "peak"} <= set(" ".join(lines[:2]).split())
    assert "* best; change against fcfs, first-fit" in lines


def test_compare_refuses(refused: Refused, small: Path, cluster: Path) -> None:
    assert "best-fit" in refused("compare", small, "--cluster", cluster, "--placements", "best")
    assert "--placements" in refused("compare", small, "--cluster", cluster, "--placements", ",")
    assert "--cluster" in refused("compare", small, "--placements", "pack")
    assert "--procs" in refused("compare", small, "--cluster", cluster, "--procs", 3)


def test_table_3_of_the_paper(run: Run, data_dir: Path, tmp_path: Path) -> None:
    # Table 2 of [gomez2012].
    table = tmp_path / "table2.csv"
    table.write_text(
        "Processor;#Chips;#Cores/Chip;RAM (GB);OPS@100%Load;Watts@100%Load\n"
        "Xeon X3360;1;4;4;165064;118\nXeon L5420;2;4;8;270621;170\n"
        "Xeon L5430;2;4;8;278927;173\nXeon X3470;1;4;8;309401;125\n"
        "Xeon E3-1260L;1;4;8;295443;58\nXeon X5670;2;6;12;898544;267\n"
        "Xeon X5670;2;6;12;897310;265\nXeon X3470;1;4;8;308318;124\n"
        "Xeon X5670;2;6;12;890144;272\n"
    )
    log = data_dir / "swf" / "LLNL-Thunder-2007-1.1-cln.first100.swf"
    options = ("--policy", "fcfs", "--estimates", "exact", "--first", 100, "--json")
    told = json.loads(run("peas", log, table, *options).out)
    assert told["wait"]["mean"] == pytest.approx(468456, rel=0.03)
    assert told["sojourn"]["mean"] == pytest.approx(480897, rel=0.03)
    assert told["energy"]["peas_kwh"] == pytest.approx(214.058, rel=0.025)


@pytest.mark.parametrize("verb", ["peas", "simulate"])
def test_nodes_without_watts_say_why_there_is_no_energy(tmp_path, capsys, verb):
    (tmp_path / "log.csv").write_text("submit,runtime,procs,estimate\n0,100,1,100\n")
    watts = "watts = 200\nidle_watts = 100\n"
    node = '[[node]]\nname = "{}"\ncores = 1\nops = 1\n{}'
    for power, said in (("", True), (watts, False)):
        nodes = tmp_path / "nodes.toml"
        nodes.write_text(node.format("a", watts) + node.format("b", power))
        log = str(tmp_path / "log.csv")
        machine = [str(nodes)] if verb == "peas" else ["--cluster", str(nodes)]
        assert main([verb, log, *machine]) == 0
        out = capsys.readouterr().out
        assert ("not known: not every node has watts; give watts and idle_watts" in out) == said
        assert ("full bill" in out) != said
