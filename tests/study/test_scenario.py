"""Scenarios: their keys, units, messages, schema and digest."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn
from sojourn.run.keys import ScenarioKeys
from sojourn.study import Scenario, read_scenario, save_scenario, scenario_schema

LUBLIN: dict[str, Any] = {
    "workload": {"model": "lublin", "jobs": 200, "load": 0.9},
    "cluster": {"procs": 32},
}
THRESHOLD = {**LUBLIN, "control": {"kind": "threshold", "rates": [0.8, 1.0], "k": 1e5}}

FULL = """\
title = "A year of it"
question = "How much energy does a threshold save?"

[workload]
log = "logs/year.swf"
format = "swf"
width = "max"
since = "30 d"
until = "26 w"
first = 100
strict = false
keep_zero = true
rules = ["no-runtime", "rebase"]
resample = "day"
growth = 1.1
estimates = 2

[cluster]
procs = 64

[policy]
name = "easy"
order = "orders.py:mine"
theta = [1, 2.5]
reservations = 4
backfill_order = "sjf"
estimates = 1.5
over_limit = "run"
passes = "event"

[control]
kind = "workload"
rates = [0.8, 1.0]
low = "20 h"
high = 3e5
timer = false
reference_rate = 2.66

[power]
levels = [{ rate = 0.8, busy = "28 W", idle = 15 }, { rate = 1.0, busy = 41, idle = 18 }]
price = "0.15, 8:0.30, 20:0.15 EUR"
carbon = "carbon.csv"
starts = 2011-05-01T00:00:00+09:00

[run]
seed = 3
trajectory = false
format = "csv"
plots = true
"""


def written(folder: Path, text: str, name: str = "s.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    """The message for a text that is no scenario, without the folder."""
    with pytest.raises(sojourn.OptionError) as caught:
        read_scenario(written(folder, text))
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{folder}{os.sep}", "")


def test_all_sections(tmp_path):
    scenario = read_scenario(written(tmp_path, FULL))
    keys = scenario.keys
    assert (keys.workload.since, keys.workload.until) == (30 * 86400.0, 26 * 7 * 86400.0)
    assert (keys.control.low, keys.control.high) == (72000.0, 300000.0)
    assert keys.power.levels[0].busy == 28.0
    assert keys.power.starts == "2011-05-01T00:00:00+09:00"
    assert keys.workload.estimates == 2.0
    assert scenario.files == {
        "input": str(tmp_path / "logs/year.swf"),
        "order": str(tmp_path / "orders.py"),
        "carbon": str(tmp_path / "carbon.csv"),
    }
    assert scenario.value("control.low") == 72000.0
    assert scenario.value("control.rates.1") == 1.0
    assert scenario.value("cluster.processor") is None


def test_text_and_mapping_there_and_back(tmp_path):
    scenario = read_scenario(written(tmp_path, FULL))
    assert tomllib.loads(scenario.as_toml()) == tomllib.loads(FULL)
    assert scenario.as_toml().startswith("#:schema scenario.schema.json\n")
    assert Scenario.from_mapping(scenario.as_mapping(), tmp_path) == scenario
    again = read_scenario(written(tmp_path, scenario.as_toml(), "again.toml"))
    assert again == scenario
    assert again.digest == scenario.digest


def test_strings_that_need_care(tmp_path):
    title = 'quote " back \\ line \n tab \t del \x7f euro € 𝄞'
    scenario = Scenario.from_mapping({**LUBLIN, "title": title})
    assert read_scenario(written(tmp_path, scenario.as_toml())).keys.title == title


def test_a_mapping_is_not_shared():
    told = {name: dict(table) for name, table in LUBLIN.items()}
    scenario = Scenario.from_mapping(told)
    told["workload"]["jobs"] = 5
    scenario.as_mapping()["workload"]["jobs"] = 6
    assert scenario.as_mapping() == LUBLIN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[workload]\nmodel = "lublin"\n\n[contrl]\nk = 1\n',
            "s.toml, line 4, key 'contrl': is not known; did you mean 'control'?",
        ),
        (
            '[workload]\nmodel = "lublin"\n[control]\nkind = "threshold"\nrats = [1, 2]\n',
            "s.toml, line 5, key 'control.rats': is not known; did you mean 'control.rates'?",
        ),
        (
            'control = { kind = "threshold",\n rates = [\n 1, 2], kk = 3 }\n'.replace(",\n", ", "),
            "s.toml, line 2, key 'control.kk': is not known; did you mean 'control.k'?",
        ),
        (
            'workload.model = "lublin"\npolicy.ordr = "sjf"\n',
            "s.toml, line 2, key 'policy.ordr': is not known; did you mean 'policy.order'?",
        ),
        (
            '[workload]\nlog = "x.swf"\nseed = 3\n',
            "s.toml, line 3, key 'workload.seed': is not known; did you mean 'failures.seed' or "
            "'run.seed'?",
        ),
        (
            '[workload]\nlog = "x.swf"\nqwertz = 3\n[run]\nqwertz = 1\n',
            "s.toml, line 3, key 'workload.qwertz': is not known; choose from log, format, ",
        ),
        (
            '[workload]\nlog = "x.swf"\nsince = "5 hr"\n',
            "s.toml, line 3, key 'workload.since': '5 hr': 'hr' is no unit of a length of time; "
            "did you mean 'h'?",
        ),
        (
            '[workload]\nlog = "x.swf"\nsince = "soon"\n',
            "s.toml, line 3, key 'workload.since': 'soon' is not a length of time; write a number "
            "of s, or '30 min'",
        ),
        (
            '[workload]\nlog = "x"\n[power]\nbusy = "3 kw"\n',
            "s.toml, line 4, key 'power.busy': '3 kw': 'kw' is no unit of a power; did you mean "
            "'kW'?",
        ),
        (
            '[workload]\nlog = "x"\n[power]\nlevels = [\n  { rate = 1, busy = 1, idle = 1 },\n'
            '  { rate = 2, busy = "1 GB", idle = 1 },\n]\n',
            "s.toml, line 6, key 'power.levels.1.busy': '1 GB': 'GB' is no unit of a power; choose "
            "from W, kW, MW",
        ),
        (
            '[workload]\nlog = "x"\n[power]\nlevels = [\n  { rate = 1, busy = 1 },\n]\n',
            "s.toml, line 5, key 'power.levels.0': has no 'idle'; give it",
        ),
        (
            '[workload]\nlog = "x"\n[cluster]\nprocs = 0\n',
            "s.toml, line 4, key 'cluster.procs': 0 is not a whole number, 1 or more; correct it",
        ),
        (
            '[workload]\nlog = "x"\n[cluster]\nprocs = true\n',
            "s.toml, line 4, key 'cluster.procs': true is not a whole number, 1 or more; correct",
        ),
        (
            '[workload]\nlog = "x"\nrules = ["no-runtme"]\n',
            "s.toml, line 3, key 'workload.rules.0': no cleaning rule is called 'no-runtme'; did "
            "you mean 'no-runtime'?",
        ),
        (
            '[workload]\nlog = "x"\nwidth = "alocated"\n',
            "s.toml, line 3, key 'workload.width': 'alocated' is not requested (default), "
            "allocated or max; did you mean 'allocated'?",
        ),
        (
            '[workload]\nlog = "x"\n[policy]\norder = "sjv"\n',
            "s.toml, line 4, key 'policy.order': no order is called 'sjv'; did you mean 'sjf'?",
        ),
        (
            '[workload]\nlog = "x"\n[policy]\nname = "easyy"\n',
            "s.toml, line 4, key 'policy.name': unknown policy 'easyy': did you mean 'easy'?",
        ),
        (
            '[workload]\nlog = "x"\n[policy]\nbackfill = "preempt"\norder = "wfp3"\n',
            "s.toml, line 4, key 'policy.backfill': policy: preempt needs an order that is fixed",
        ),
        (
            '[workload]\nlog = "x"\n[control]\nkind = "threshold"\nrates = [1, 2]\n',
            "s.toml, line 3, key 'control.k': a control of kind 'threshold' needs it; give it",
        ),
        (
            '[workload]\nlog = "x"\n[control]\nkind = "count"\nrates = [1, 2]\nlow = 1\nhigh = 2\n'
            "k = 1\n",
            "s.toml, line 8, key 'control.k': a control of kind 'count' has no such key; it has "
            "rates, low, high",
        ),
        (
            '[workload]\nlog = "x"\n[control]\nkind = "count"\nrates = [1, 2]\nlow = "1 h"\n'
            "high = 2\n",
            "s.toml, line 6, key 'control.low': jobs are counted; give a number without a unit",
        ),
        (
            '[workload]\nlog = "x"\n[control]\nkind = "threshold"\nrates = [2, 1]\nk = 1\n',
            "s.toml, line 5, key 'control.rates': rate control: rates 2, 1; give at least two, in",
        ),
        (
            '[workload]\nlog = "x"\n[power]\nbusy = 1\nstatic = 2\n',
            "s.toml, line 4, key 'power.busy': power.static says the watts; leave one of them out",
        ),
        (
            '[workload]\nlog = "x"\n[power]\nprice = "cheap"\n',
            "s.toml, line 4, key 'power.price': tariff: 'cheap' is not [DAYS] [HOUR[:MINUTES]:]",
        ),
        (
            '[workload]\nlog = "x"\nload = 0.5\n',
            "s.toml, line 3, key 'workload.load': a log has no such key; leave it out",
        ),
        (
            '[workload]\nmodel = "lublin"\nlog = "x"\n',
            "s.toml, line 2, key 'workload.model': there is a log too; leave one of them out",
        ),
        ("[run]\nseed = 1\n", "s.toml, key 'workload': no jobs: give log or model"),
        (
            '[workload]\nmodel = "lublin"\nfirst = 3\n[cluster]\nprocs = 4\n',
            "s.toml, line 3, key 'workload.first': 'lublin' has no such key; leave it out",
        ),
        (
            '[workload]\nmodel = "poisson"\n[cluster]\nprocs = 4\n',
            "s.toml, line 1, key 'workload.interarrival': has no mean; give load, or a mean as in",
        ),
        (
            '[workload]\nmodel = "lublin"\n',
            "s.toml, key 'cluster.procs': 'lublin' does not tell it; give it",
        ),
        (
            '[workload]\nlog = "x"\nsince = "2 d"\nuntil = "1 d"\n',
            "s.toml, line 4, key 'workload.until': 86400 s is not after since, 172800 s; correct",
        ),
        (
            '[workload]\nlog = "x"\n[policy]\nplacement = "fastest"\n',
            "s.toml, line 4, key 'policy.placement': processors are only counted; give cluster",
        ),
        (
            '[workload]\nlog = "x"\n[cluster]\nnodes = "4 x X5670"\n[power]\nbusy = 4\n',
            "s.toml, line 6, key 'power.busy': cluster.nodes says how many watts; leave one of",
        ),
        (
            '[workload]\nlog = "x"\n[policy]\ntheta = [1]\n',
            "s.toml, line 4, key 'policy.theta': only an order of one's own has parameters; give",
        ),
        (
            'workload = "x"\n',
            "s.toml, line 1, key 'workload': 'x' is not a table; write [workload]",
        ),
        ("[workload]\nlog = x\n", "s.toml, line 2: is not TOML: Invalid value; correct it"),
        (
            "[workload]\nlog = 'x'\nlog = 'y'\n",
            "s.toml, line 3, key 'workload.log': is given twice, on line 2 too; leave one of them",
        ),
        (
            "[workload",
            "s.toml: is not TOML: Expected ']' at the end of a table declaration (at end",
        ),
    ],
)
def test_what_is_wrong_and_where(tmp_path, text, message):
    assert refusal(tmp_path, text).startswith(message)


def test_the_first_problem_in_the_file_is_told(tmp_path):
    text = '[run]\nsede = 1\n[workload]\nlgo = "x"\n'
    assert refusal(tmp_path, text).startswith("s.toml, line 2, key 'run.sede'")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(sojourn.OptionError, match="no such file"):
        read_scenario(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"title = '\xe9'\n")
    with pytest.raises(sojourn.OptionError, match="not a text in UTF-8"):
        read_scenario(tmp_path / "latin.toml")


def test_values_as_people_and_sweeps_give_them():
    scenario = Scenario.from_mapping(THRESHOLD)
    for value, wanted in [(2e5, 2e5), ("2e5", 2e5), ("2 h", 7200.0), (np.float64(3), 3.0), (7, 7)]:
        assert scenario.with_value("control.k", value).keys.control.k == wanted
    for value in (64, 64.0, "64", np.int64(64)):
        procs = scenario.with_value("cluster.procs", value).keys.cluster.procs
        assert procs == 64
        assert type(procs) is int
    assert scenario.with_value("control.rates.0", 0.5).keys.control.rates == [0.5, 1.0]
    assert scenario.with_value("control.rates[1]", "1.5").keys.control.rates == [0.8, 1.5]
    assert scenario.with_value("policy.order", "sjf").keys.policy.order == "sjf"
    named = scenario.with_value("cluster", {"nodes": "2 x X5670"})
    asks = named.with_value("policy.constraints.feature", {"queue": {"3": "gpu"}})
    assert asks.with_value("policy.constraints.feature.queue.3", "big").value(
        "policy.constraints.feature"
    ) == {"queue": {"3": "big"}}
    power = {"levels": [{"rate": 0.8, "busy": 1, "idle": 1}, {"rate": 1, "busy": 1, "idle": 1}]}
    level = scenario.with_value("power", power).with_value("power.levels.1.busy", "2 kW")
    assert level.keys.power.levels[1].busy == 2000.0
    assert scenario.with_value("policy.estimates", "2").keys.policy.estimates == 2.0
    assert scenario.with_value("run.trajectory", "false").keys.run.trajectory is False
    assert scenario.with_value("policy.reservations", "inf").keys.policy.reservations == np.inf
    poisson = scenario.with_values(
        {"workload": {"model": "poisson", "jobs": 10, "load": 0.5}, "workload.widths": 4.0}
    )
    assert poisson.keys.workload.widths == "4"
    assert scenario.as_mapping() == THRESHOLD


def test_several_values_are_checked_together():
    scenario = Scenario.from_mapping(
        {**LUBLIN, "control": {"kind": "workload", "rates": [1, 2], "low": 10, "high": 20}}
    )
    with pytest.raises(sojourn.OptionError, match="k_L = 30 above k_H = 20"):
        scenario.with_value("control.low", 30)
    control = scenario.with_values({"control.low": 30, "control.high": 40}).keys.control
    assert (control.low, control.high) == (30, 40)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("control.kk", 1, "key 'control.kk': is not known; did you mean 'control.k'"),
        ("order", "sjf", "key 'order': is not known; did you mean 'policy.order'"),
        ("control.k", "5 kg", "key 'control.k': '5 kg': 'kg' is no unit of a length of time"),
        ("control.k.x", 1, "key 'control.k': .* is not seconds of work"),
        ("control.rates.2", 1, "key 'control.rates.2': the list has 2 elements, from 0 on"),
        ("policy.theta.0", 1, "key 'policy.theta.0': there is no list; set it first"),
        ("0", 1, "key '0': is not known"),
        ("", 1, "key '': is not known; choose from title"),
        ("control.0", 1, "key 'control.0': is not known"),
        ("cluster.procs", 1.5, "key 'cluster.procs': 1.5 is not a whole number, 1 or more"),
        ("policy.order", 1, "key 'policy.order': 1 is not a name such as sjf"),
    ],
)
def test_values_that_cannot_be_set(key, value, message):
    with pytest.raises(sojourn.OptionError, match=message):
        Scenario.from_mapping(THRESHOLD).with_value(key, value)


def test_digest_goes_by_meaning(tmp_path):
    scenario = Scenario.from_mapping(THRESHOLD)
    same = [
        Scenario.from_mapping({**THRESHOLD, "title": "x", "run": {"seed": 5, "plots": True}}),
        scenario.with_value("control.k", 100_000),
        scenario.with_value("policy.over_limit", "kill"),
        Scenario.from_mapping(THRESHOLD, tmp_path),
    ]
    assert {each.digest for each in same} == {scenario.digest}
    others = [
        scenario.with_value("control.k", 100_001),
        scenario.with_value("policy.order", "sjf"),
        scenario.with_value("workload.load", 0.8),
        scenario.with_value("cluster.procs", 33),
        scenario.with_value("control.k", "inf"),
    ]
    assert len({scenario.digest, *(each.digest for each in others)}) == 1 + len(others)
    assert len(scenario.digest) == 64


def test_digest_goes_by_contents_of_files(tmp_path):
    def with_log(folder: str, text: str) -> Scenario:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.swf").write_text(text)
        told = {"workload": {"log": "log.swf"}, "policy": {"order": "o.py:f"}}
        return Scenario.from_mapping(told, tmp_path / folder)

    one, two, other = with_log("a", "1"), with_log("b", "1"), with_log("c", "2")
    assert one.digest == two.digest != other.digest
    assert one.workload_digest == two.workload_digest != other.workload_digest
    before = one.digest
    (tmp_path / "a" / "o.py").write_text("f = 1")
    after = Scenario.from_mapping(one.as_mapping(), one.folder)
    assert after.digest != before
    assert after.workload_digest == one.workload_digest
    assert after.with_value("policy.order", "o.py:g").digest != after.digest


def test_digest_follows_the_servers_of_a_description(tmp_path):
    (tmp_path / "c.toml").write_text('servers = "s.csv"\n[[node]]\nserver = "A"\n')
    (tmp_path / "s.csv").write_text("model,cores,ops,watts\nA,4,1e5,100\n")
    told = {"workload": {"log": "x.swf"}, "cluster": {"nodes": "c.toml"}}
    scenario = Scenario.from_mapping(told, tmp_path)
    assert scenario.files["servers"] == str(tmp_path / "s.csv")
    before = scenario.digest
    (tmp_path / "s.csv").write_text("model,cores,ops,watts\nA,8,1e5,100\n")
    assert Scenario.from_mapping(told, tmp_path).digest != before


def test_jobs_depend_on_the_workload_alone():
    scenario = Scenario.from_mapping(THRESHOLD)
    assert scenario.with_value("control.k", 5).workload_digest == scenario.workload_digest
    assert scenario.with_value("cluster.procs", 64).workload_digest != scenario.workload_digest
    log = Scenario.from_mapping({"workload": {"log": "x"}, "cluster": {"procs": 4}})
    assert log.with_value("cluster.procs", 64).workload_digest == log.workload_digest
    wide = log.with_value("workload.rules", ["too-wide"])
    assert wide.with_value("cluster.procs", 64).workload_digest != wide.workload_digest


def test_paths_in_another_folder(tmp_path):
    scenario = read_scenario(written(tmp_path, FULL))
    (tmp_path / "deep" / "er").mkdir(parents=True)
    target = tmp_path / "deep" / "er" / "moved.toml"
    save_scenario(scenario, target)
    told = tomllib.loads(target.read_text())
    assert told["workload"]["log"] == "../../logs/year.swf"
    assert told["policy"]["order"] == "../../orders.py:mine"
    assert told["power"]["carbon"] == "../../carbon.csv"
    assert read_scenario(target).files == scenario.files
    assert read_scenario(target).digest == scenario.digest


def test_absolute_paths_counts_and_numbers_stay(tmp_path):
    told = {
        "workload": {"log": str(tmp_path / "log.swf")},
        "cluster": {"nodes": "4 x X5670"},
        "policy": {"placement": "fastest"},
        "power": {"carbon": 300},
    }
    scenario = Scenario.from_mapping(told, tmp_path)
    assert tomllib.loads(scenario.as_toml(tmp_path / "deep")) == told
    assert scenario.files == {"input": str(tmp_path / "log.swf")}


def test_pickle_is_small_and_leads_to_the_same_files(tmp_path, monkeypatch):
    written(tmp_path, FULL)
    monkeypatch.chdir(tmp_path)
    scenario = read_scenario("s.toml")
    assert scenario.files["input"] == "logs/year.swf"
    jobs = sojourn.lublin(1000, 8, seed=1)
    packed = pickle.dumps(scenario.with_log(jobs))
    assert len(packed) < 20_000
    monkeypatch.chdir("/")
    again = pickle.loads(packed)
    assert again.files["input"] == str(tmp_path / "logs/year.swf")
    assert again.given_log is None
    assert again.keys == scenario.keys


def test_schema_lists_every_key_with_its_meaning():
    schema = scenario_schema()
    json.dumps(schema)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert list(schema["properties"]) == list(ScenarioKeys.model_fields)
    tables = schema["$defs"]
    assert len(tables) == 13
    for table in tables.values():
        assert table["additionalProperties"] is False
        for name, key in table["properties"].items():
            assert key["description"].endswith("."), name
    assert '"null"' not in json.dumps(schema)
    control = tables["ControlKeys"]["properties"]
    kinds = ["constant", "random", "count", "workload", "threshold", "cap"]
    assert control["kind"]["enum"] == kinds
    assert "sjf" in tables["PolicyKeys"]["properties"]["order"]["anyOf"][0]["enum"]
    assert tables["ClusterKeys"]["properties"]["procs"]["minimum"] == 1


def _conforms(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether a value is as a schema says; what the schema of a scenario uses, and no more."""
    if "$ref" in schema:
        return _conforms(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return any(_conforms(value, each, root) for each in schema["anyOf"])
    kinds = {
        "object": lambda v: isinstance(v, dict),
        "array": lambda v: isinstance(v, list),
        "string": lambda v: isinstance(v, str),
        "boolean": lambda v: isinstance(v, bool),
        "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
        "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    }
    if "type" in schema and not kinds[schema["type"]](value):
        return False
    if isinstance(value, dict) and "properties" in schema:
        inner = schema["properties"]
        return set(schema.get("required", [])) <= set(value) <= set(inner) and all(
            _conforms(each, inner[name], root) for name, each in value.items()
        )
    if isinstance(value, list):
        return all(_conforms(each, schema.get("items", {}), root) for each in value)
    return (
        value in schema.get("enum", [value])
        and ("pattern" not in schema or re.search(schema["pattern"], value) is not None)
        and not (value < schema["minimum"] if "minimum" in schema else False)
        and not (value <= schema["exclusiveMinimum"] if "exclusiveMinimum" in schema else False)
    )


def test_schema_takes_what_is_taken_and_refuses_what_is_refused():
    schema = scenario_schema()
    told = tomllib.loads(FULL)
    told["power"]["starts"] = "2011-05-01T00:00:00+09:00"
    assert _conforms(told, schema, schema)
    for key, value in [
        (("control", "low"), "5 kg"),
        (("control", "kind"), "thresh"),
        (("control", "kk"), 1),
        (("policy", "order"), "sjff"),
        (("cluster", "procs"), 0),
        (("power", "levels"), [{"rate": 1}]),
        (("workload", "first"), 1.5),
    ]:
        wrong = {**told, key[0]: {**told.get(key[0], {}), key[1]: value}}
        assert not _conforms(wrong, schema, schema), key


def _all_keys() -> list[str]:
    found = []
    for section, field in ScenarioKeys.model_fields.items():
        inner = getattr(field.annotation, "model_fields", {})
        found += [f"{section}.{name}" for name in inner] or [section]
    return [*found, "policy.constraints.feature", "power.levels.0.busy", "control.nothing", "x"]


VALUES: list[Any] = [
    *(0, 1, 2, -1, 0.5, 10**30, 10**400, float("inf"), float("nan"), True, False, ""),
    *("x", "1 h", "5 kW", "2 GB", "sjf", "lublin", "poisson", "log", "count", "random", "swf"),
    *("threshold", "workload", "easy", "conservative", "preempt", "fastest", "a.py:b", "4 x X5670"),
    *([], [1, 2], [1.0, "2 h"], ["rebase"], [[1]], {}, {"a": 1}, {"queue": {"3": "gpu"}}),
    *([{"rate": 1, "busy": 1, "idle": 1}], "geometric:0.5", "erlang:3:2", "\x00", "é" * 200),
]


def test_whatever_is_set_is_a_scenario_or_one_line(tmp_path):
    rng = random.Random(5)
    keys, made, told = _all_keys(), 0, []
    bases = [{"workload": {"log": "x.swf"}}, THRESHOLD]
    starts = [Scenario.from_mapping(told, tmp_path) for told in bases]
    for _ in range(2500):
        start = rng.choice(starts)
        values = {rng.choice(keys): rng.choice(VALUES) for _ in range(rng.choice([1, 1, 2]))}
        try:
            scenario = start.with_values(values)
        except sojourn.OptionError as error:
            told.append(str(error))
            continue
        made += 1
        again = read_scenario(written(tmp_path, scenario.as_toml()))
        assert again.keys == scenario.keys, values
        assert again.digest == scenario.digest, values
    assert made > 80
    assert not any("\n" in message for message in told)
