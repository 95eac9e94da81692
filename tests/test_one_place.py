"""What is added in one place is there everywhere: an option of a run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The only edit: one more key among those of the policy.
HOME = "run/keys/policy.py"
BESIDE = "    constraints: Annotated[\n        ConstraintKeys,"
ADDED = """\
    patience: Annotated[
        Literal["short", "long"],
        Key(
            "How long a job is waited for.",
            "short or long",
            Option("Scheduling", "short|long"),
            Keyword(),
        ),
    ] = "short"
"""
ASK = """\
import inspect, json, runpy, sys
import sojourn
from sojourn.cli import main
from sojourn.errors import OptionError
from sojourn.run.options import Options
from sojourn.run.command import TYPED, keys_of
from sojourn.run.scenario import Scenario, read_scenario
from sojourn.study import scenario_schema

def refusal(ask):
    try:
        ask()
    except OptionError as error:
        return str(error)

def read(text):
    open("s.toml", "w").write('[workload]\\nlog = "log.swf"\\n[policy]\\npatience = ' + text)
    return read_scenario("s.toml")

typed = Scenario.from_mapping(keys_of({"log": "log.swf", "patience": "long"}), source=TYPED)
jobs = sojourn.lublin(10, 4, seed=1)
parameter = inspect.signature(sojourn.simulate).parameters["patience"]
sys.stdout = open("help.txt", "w")
main(["simulate", "--help"])
sys.stdout = sys.__stdout__
print(json.dumps({
    "toml": read('"long"').keys.policy.patience,
    "wrong toml": refusal(lambda: read('"lnog"')),
    "typed": typed.value("policy.patience"),
    "saved": typed.as_toml(),
    "wrong option": refusal(
        lambda: Scenario.from_mapping({**typed.given, "policy": {"patience": "x"}}, source=TYPED)
    ),
    "given to the run": typed.options(jobs)["patience"],
    "default": parameter.default,
    "meaning": "patience : How long a job is waited for: short or long."
    in sojourn.simulate.__doc__,
    "python": Options(patience="long").patience,
    "wrong keyword": refusal(lambda: sojourn.simulate(jobs, 4, patience="x")),
    "schema": scenario_schema()["$defs"]["PolicyKeys"]["properties"]["patience"],
    "scenario page": runpy.run_path(sys.argv[1] + "/make_scenario.py")["text"](),
    "command page": runpy.run_path(sys.argv[1] + "/make_cli.py")["text"](),
}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the package says of itself after one edit of its sources."""
    folder = tmp_path_factory.mktemp("edited")
    package = folder / "src" / "sojourn"
    shutil.copytree(ROOT / "src" / "sojourn", package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (package / HOME).read_text(encoding="utf-8")
    assert text.count(BESIDE) == 1
    (package / HOME).write_text(text.replace(BESIDE, ADDED + BESIDE), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(ROOT / "docs" / "reference")],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "", "HOME": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return {**told, "help": (folder / "help.txt").read_text(encoding="utf-8")}


def test_an_option_is_on_the_command_line(answers) -> None:
    line = next(line for line in answers["help"].splitlines() if "--patience" in line)
    assert "short|long" in line
    assert "How long a job is waited for." in line
    assert answers["typed"] == "long"
    assert answers["wrong option"] == "--patience 'x': choose short or long"


def test_an_option_is_a_key_of_scenarios(answers) -> None:
    assert answers["toml"] == "long"
    assert answers["wrong toml"] == (
        "s.toml, line 4, key 'policy.patience': 'lnog' is not short or long; did you mean 'long'?"
    )
    assert 'patience = "long"' in answers["saved"]
    assert answers["schema"] == {
        "enum": ["short", "long"],
        "type": "string",
        "default": "short",
        "description": "How long a job is waited for. Holds short or long.",
    }


def test_an_option_is_a_keyword_of_simulate(answers) -> None:
    assert answers["default"] == "short"
    assert answers["meaning"] is True
    assert answers["python"] == answers["given to the run"] == "long"
    assert answers["wrong keyword"] == "patience 'x': choose short or long"


def test_an_option_is_in_the_reference(answers) -> None:
    row = (
        '| `patience` | How long a job is waited for. *short or long* | `"short"` | `--patience` |'
    )
    assert row in answers["scenario page"]
    options = answers["command page"].partition("## sojourn simulate\n")[2].partition("\n## ")[0]
    assert "| `--patience` | `short\\|long` | `short` | How long a job is waited for. |" in options
