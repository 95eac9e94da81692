"""What is wrong with a scenario is said of the right key, in words that a file can have."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

import sojourn
from sojourn.cli import main
from sojourn.policy import POLICIES
from sojourn.study import Scenario, read_scenario, run_scenario, scenario_schema

LOG = '[workload]\nlog = "log.swf"\n'
POISSON = '[workload]\nmodel = "poisson"\njobs = 20\n'


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where a log of 20 jobs for 4 processors is."""
    monkeypatch.chdir(tmp_path)
    sojourn.write_swf(sojourn.lublin(20, 4, seed=1), "log.swf")
    return tmp_path


def refusal(text: str) -> str:
    Path("s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(sojourn.OptionError) as caught:
        run_scenario(read_scenario("s.toml"))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{LOG}[policy]\nprocs = 4\n",
            "s.toml, line 4, key 'policy.procs': is not known; did you mean 'cluster.procs' or "
            "'failures.procs' or 'maintenance.procs'?",
        ),
        (
            f"{POISSON}[policy]\nprocs = 4\n",
            "s.toml, line 5, key 'policy.procs': is not known; did you mean 'cluster.procs' or "
            "'workload.procs' or 'failures.procs' or 'maintenance.procs'?",
        ),
        (
            f"{LOG}[cluster]\nestimates = 2\n",
            "s.toml, line 4, key 'cluster.estimates': is not known; did you mean "
            "'policy.estimates' or 'workload.estimates'?",
        ),
        (
            f"{LOG}[cluster]\njobs = 2\n",
            "s.toml, line 4, key 'cluster.jobs': is not known; did you mean 'workload.jobs'?",
        ),
        (
            f"{LOG}[run]\ndebug = true\n",
            "s.toml, line 4, key 'run.debug': is not known; did you mean 'run.decisions'?",
        ),
        (
            f'{LOG}[policy]\npolicy_file = "a.py:x"\n',
            "s.toml, line 4, key 'policy.policy_file': is not known; did you mean 'policy.order'?",
        ),
        (
            f"{LOG}[power]\nwatts-busy = 3\n",
            "s.toml, line 4, key 'power.watts-busy': is not known; did you mean 'power.busy'?",
        ),
        (
            f"{LOG}[policy]\nmemory = 3\n",
            "s.toml, line 4, key 'policy.memory': is not known; did you mean "
            "'policy.constraints.memory_per_core'?",
        ),
        (
            f'{LOG}policy = "easy"\n',
            "s.toml, line 3, key 'workload.policy': is not known; did you mean 'policy.name'?",
        ),
        (
            f'{LOG}[workload.policy]\norder = "sjf"\n',
            "s.toml, line 3, key 'workload.policy': is not known; did you mean 'policy'?",
        ),
        (
            f'{LOG}[policy]\nconstraints.feature = {{ que = {{ 3 = "gpu" }} }}\n',
            "s.toml, line 4, key 'policy.constraints.feature': 'que' is not 'user', 'group', "
            "'queue' or 'partition'; did you mean 'queue'?",
        ),
        (
            f'{LOG}[policy]\nconstraints.feature = {{ queue = {{ big = "gpu" }} }}\n',
            "s.toml, line 4, key 'policy.constraints.feature': 'big' is not a whole number",
        ),
        (
            f'{LOG}since = "30 hours"\n',
            "s.toml, line 3, key 'workload.since': '30 hours': 'hours' is no unit of a length of "
            "time; did you mean 'h'?",
        ),
        (
            f'{LOG}[power]\nbusy = "3 Kilowatts"\n',
            "s.toml, line 4, key 'power.busy': '3 Kilowatts': 'Kilowatts' is no unit of a power; "
            "did you mean 'kW'?",
        ),
        (
            f"{LOG}since = 2011-05-01\n",
            "s.toml, line 3, key 'workload.since': 2011-05-01 is not a number of seconds, or",
        ),
        (
            f"{LOG}[cluster]\nnodes = [true, {{ a = 1.5 }}]\n",
            "s.toml, line 4, key 'cluster.nodes': [true, { a = 1.5 }] is not a SPECpower table",
        ),
        (
            f"{LOG}[power]\nstarts = 7\n",
            "s.toml, line 4, key 'power.starts': 7 is not a time such as 2011-05-01T00:00:00+09:00",
        ),
        (
            f"{LOG}[cluster]\nprocs = 1099511627776\n",
            "s.toml, line 4, key 'cluster.procs': 1099511627776 is too large; give at most "
            "2147483647",
        ),
        (
            '[workload]\nmodel = "lublin"\njobs = 99999999999999999999\n[cluster]\nprocs = 4\n',
            "s.toml, line 3, key 'workload.jobs': 99999999999999999999 is too large; give at most "
            "1000000000",
        ),
        (
            '[workload]\nmodel = "lublin"\nprocs = 2147483648\n',
            "s.toml, line 3, key 'workload.procs': 2147483648 is too large; give at most 214748",
        ),
        (
            f"{LOG}first = 1000000001\n",
            "s.toml, line 3, key 'workload.first': 1000000001 is too large; give at most",
        ),
        (
            f"{LOG}[run]\nseed = 9223372036854775808\n",
            "s.toml, line 4, key 'run.seed': 9223372036854775808 is too large; give less than",
        ),
        (
            f"{LOG}first = {'9' * 5000}\n",
            "s.toml, line 3: a number of so many digits; give a smaller one",
        ),
        (
            f"{LOG}first = 0x{'f' * 5000}\n",
            "s.toml, line 3, key 'workload.first': a number of so many digits is too large; give",
        ),
        (
            f'{LOG}[control]\nkind = "random"\nrates = [1]\np_low = 1\np_high = 1\n',
            "s.toml, line 5, key 'control.rates': rate control: 1 rates; a random control has 2",
        ),
        (
            f'{LOG}[control]\nkind = "threshold"\nrates = [1, 2, 3]\nk = 1\n',
            "s.toml, line 6, key 'control.k': rate control: 3 rates need 2 threshold(s)",
        ),
        (
            f'{POISSON}interarrival = "erlang::4"\n[cluster]\nprocs = 4\n',
            "s.toml, line 4, key 'workload.interarrival': has no mean; give load, or a mean",
        ),
    ],
)
def test_the_key_that_was_meant(folder, text, message):
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[workload]\nlog = "a"\n\n[run]\nseed = 1\n[workload]\nfirst = 3\n',
            "line 6, key 'workload': is given twice, on line 1 too; leave one of them out",
        ),
        (
            'workload.log = "a"\npolicy.name = "easy"\nworkload.log = """\nb\n"""\n',
            "key 'workload.log': is given twice, on line 1 too; leave one of them out",
        ),
        (
            'workload = { log = "a" }\n[workload]\nfirst = 3\n',
            "line 2, key 'workload': is given twice, on line 1 too; leave one of them out",
        ),
        (
            'workload = { log = "a" }\nworkload.first = 3\nrules = [\n',
            "line 2, key 'workload.first': 'workload' stands on line 1 already; put the two",
        ),
        (
            'workload.log = "a"\n[workload]\nfirst = 3\n',
            "line 2, key 'workload': 'workload.log' stands on line 1 already; put the two",
        ),
        ('workload = { log = "a", log = "b" }\n', "line 1, key 'workload': 'log' is given twice"),
        ('log = "a"\nlog = "b" x = [1, }\n', "line 2, key 'log': is given twice, on line 1 too"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_is_given_twice(folder, text, message, newline):
    assert message in refusal(text.replace("\n", newline))


def test_numbers_too_long_for_a_message():
    scenario = Scenario.from_mapping({"workload": {"log": "x.swf"}})
    with pytest.raises(sojourn.OptionError, match=r"key 'cluster\.procs': a number of so many"):
        scenario.with_value("cluster.procs", 10 ** (sys.get_int_max_str_digits() + 1))


def test_load_gives_the_mean_between_arrivals(folder):
    told = tomllib.loads(f"{POISSON}load = 0.5\n[cluster]\nprocs = 4\n")
    jobs = [
        Scenario.from_mapping(told).with_value("workload.interarrival", text).workload()
        for text in ("exponential:60", "exponential")
    ]
    assert jobs[0].submit.tolist() == jobs[1].submit.tolist()
    del told["workload"]["load"]
    bare = Scenario.from_mapping(told | {"workload": {**told["workload"], "interarrival": "60"}})
    assert len(bare.workload()) == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[workload]\nlog = "no.swf"\n', "line 2, key 'workload.log': no.swf: no such file"),
        (f'{LOG}events = "no.csv"\n', "line 3, key 'workload.events': no.csv: no such file"),
        (f'{LOG}columns = ["a"]\n', "line 3, key 'workload.columns': a log in swf has no such key"),
        (
            '[workload]\nlog = "log.csv"\nwidth = "max"\n',
            "line 3, key 'workload.width': a log in csv has no such key; leave it out",
        ),
        (f"{LOG}warmup = 99\n", "line 3, key 'workload.warmup': warmup 99: there are"),
        (f'{LOG}resample = "week"\n', "line 3, key 'workload.resample': by = 'week': the log has"),
        (
            f'{POISSON}load = 0.5\nwidths = "9"\n[cluster]\nprocs = 4\n',
            "line 5, key 'workload.widths': a width of 9 was drawn for 4 servers",
        ),
        (
            f'{LOG}[cluster]\nnodes = "no.csv"\n',
            "line 4, key 'cluster.nodes': no.csv: no such file",
        ),
        (
            f'{LOG}[cluster]\nnodes = "4 x X567"\n',
            "line 4, key 'cluster.nodes': no server is called 'X567'",
        ),
        (
            f'{LOG}[cluster]\nnodes = "4 x X5670"\nwhere = "cores > 900"\n',
            "line 5, key 'cluster.where': cluster: no node is left",
        ),
        (
            f'{LOG}[policy]\norder = "no.py:x"\n',
            "line 4, key 'policy.order': no.py: no such file",
        ),
        (
            f'{LOG}[policy]\nbackfill_order = "no.py:x"\n',
            "line 4, key 'policy.backfill_order': no.py: no such file",
        ),
        (
            f'{LOG}[cluster]\nnodes = "2 x X5670"\n[policy]\nplacement = "no.py:x"\n',
            "line 6, key 'policy.placement': no.py: no such file",
        ),
        (f'{LOG}[power]\ncarbon = "no.csv"\n', "line 4, key 'power.carbon': no.csv: no such file"),
        (
            f'{LOG}[power]\ncarbon = "300g"\n',
            "line 4, key 'power.carbon': carbon '300g' is neither a number of g per kWh",
        ),
        (
            f"{LOG}[power]\nlevels = [{{ rate = 2, busy = 1, idle = 1 }}]\n",
            "line 4, key 'power.levels': power: no watts for rate 1",
        ),
    ],
)
def test_the_key_of_what_a_run_cannot_use(folder, text, message):
    sojourn.write_csv(sojourn.read_log("log.swf"), "log.csv")
    assert refusal(text).startswith(f"s.toml, {message}")


@pytest.mark.parametrize("key", ["plots", "decisions"])
def test_what_needs_a_folder(folder, key, capsys):
    nodes = '[cluster]\nnodes = "1 x X5670"\n'
    Path("s.toml").write_text(f"{LOG}{nodes}[run]\n{key} = true\n")
    assert main(["run", "s.toml"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert f"s.toml, line 6, key 'run.{key}': " in told.err
    assert told.err.endswith("give --out\n")
    assert main(["run", "s.toml", "--out", "run"]) == 0


def test_a_carbon_file_whose_name_is_a_number(folder):
    Path("300").write_text("time,g_per_kwh\n0,1000\n9e9,1000\n")
    (folder / "deep").mkdir()
    told = {"workload": {"log": "log.swf"}, "power": {"carbon": "./300"}}
    scenario = Scenario.from_mapping(told)
    assert tomllib.loads(scenario.as_toml())["power"] == {"carbon": "./300"}
    assert tomllib.loads(scenario.as_toml("deep"))["power"] == {"carbon": "../300"}
    bill = run_scenario(scenario)["energy"]
    assert bill["carbon_kg"] == pytest.approx(bill["total_kwh"])
    command = ["simulate", "log.swf", "--carbon", "./300", "--save-scenario", "s.toml"]
    assert main(command) == 0
    assert read_scenario("s.toml").files["carbon"] == "./300"
    assert read_scenario("s.toml").digest == scenario.digest


def test_schema_completes_policies_and_tells_of_times():
    tables = scenario_schema()["$defs"]
    names, anything = tables["PolicyKeys"]["properties"]["name"]["anyOf"]
    assert set(POLICIES) <= set(names["enum"])
    assert {"easy", "conservative", "sjf"} <= set(names["enum"])
    assert anything == {"type": "string"}
    assert tables["PolicyKeys"]["properties"]["name"]["default"] == "easy"
    assert "date-time of TOML" in tables["PowerKeys"]["properties"]["starts"]["description"]
    assert tables["ClusterKeys"]["properties"]["procs"]["maximum"] == 2**31 - 1
    json.dumps(tables)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f"{LOG}[cluster]\nprocs = 0\n", "cluster.procs"),
        (f'{LOG}[control]\nkind = "threshold"\nrates = [2, 1]\nk = 1\n', "control.rates"),
        (f'{LOG}[policy]\nname = "fcfs"\nreservations = 3\n', "policy.reservations"),
        (f'{LOG}timezone = "Mars"\n', "workload.timezone"),
        (f'{LOG}delimiter = ";"\n', "workload.delimiter"),
        ('[workload]\nlog = "no.swf"\n', "workload.log"),
        (f'{LOG}[power]\ncarbon = "no.csv"\n', "power.carbon"),
        (f"{LOG}warmup = 99\n", "workload.warmup"),
    ],
)
def test_errors_carry_their_key(folder, text, key):
    Path("s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(sojourn.OptionError) as caught:
        run_scenario(read_scenario("s.toml"))
    assert caught.value.key == key
    assert f"key '{key}'" in str(caught.value)


def test_an_error_names_the_option_that_was_typed(folder, capsys):
    for words, told in [
        (["--timezone", "Mars"], "--timezone: only for logs of"),
        (["--warmup", "99"], "--warmup 99: there are"),
        (["--rate", "threshold:2,1:1"], "--rate: rate control: rates 2, 1; give at least two"),
        (["--watts", "2:3:1"], "--watts: power: no watts for rate 1"),
        (["--procs", "4", "--cluster", "1 x X5670"], "--procs: --cluster says how many"),
        (["--whole-nodes"], "--whole-nodes: processors are only counted; give --cluster"),
        (["--watts", "1:2:3", "--watts-busy", "3"], "--watts-busy: --watts says the watts"),
        (["--cluster", "4 x X5670", "--where", "cores > 900"], "--where: cluster: no node is"),
        (["--by", "colour"], "--by: class 'colour': choose from"),
    ]:
        assert main(["simulate", "log.swf", *words]) == 2
        assert capsys.readouterr().err.startswith(f"sojourn: error: {told}")
