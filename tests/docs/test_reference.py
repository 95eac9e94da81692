"""Reference pages list everything there is: no option, column, key, rule or name is forgotten."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from snippets import ROOT, blocks

import sojourn
from sojourn.cli import main
from sojourn.engine.happenings import KINDS
from sojourn.jobs import RULES
from sojourn.jobs.log import FORMATS
from sojourn.jobs.schema import STORED, SWF_FIELDS
from sojourn.policy import BACKFILLS, CONTROLS, ORDERS, POLICIES
from sojourn.run.classes import CLASSES
from sojourn.run.result import WHO

DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(text: str) -> list[str]:
    """Names in backticks in the first cell of every table row."""
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture(scope="module")
def result():
    jobs = sojourn.lublin(300, 64, load=0.9, seed=3, estimates="tsafrir")
    jobs = jobs.replace(wait=[0.0] * 300)
    machine = sojourn.Cluster.homogeneous(64, power=sojourn.ConstantPower(41, 18))
    return sojourn.simulate(jobs, machine, "easy", record=True)


def test_command_line_page_is_written_from_the_commands():
    place = DOCS / "reference" / "make_cli.py"
    spec = importlib.util.spec_from_file_location("make_cli", place)
    make_cli = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_cli)
    told = page("reference/cli.md")
    for name, command in make_cli.verbs():
        section = told.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert section, f"{name} is not on the page"
        for option in command.params:
            if option.param_type_name == "option":
                assert make_cli.flags(option) in section, f"{name} {option.opts}"
    assert told == make_cli.text(), "run python docs/reference/make_cli.py"


def test_pages_of_measures_are_written_from_their_catalogue():
    place = DOCS / "reference" / "make_measures.py"
    spec = importlib.util.spec_from_file_location("make_measures", place)
    make_measures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_measures)
    written = page("reference/measures.md"), page("reference/summary.md")
    made = make_measures.page(), make_measures.summary_page()
    assert written == made, "run python docs/reference/make_measures.py"


def test_columns_of_the_job_table(result):
    text = page("reference/jobs.md").partition("## ")[0]
    assert [*first_cells(text), "queue"] == list(result.jobs.columns)
    names = page("reference/jobs.md").partition("## Whose they are")[2].partition("\n## ")[0]
    assert first_cells(names) == [*WHO, "label"]


def test_columns_of_a_workload():
    told = page("reference/jobs.md").partition("## Columns of a workload")[2].partition("\n## ")[0]
    assert set(first_cells(told)) - set(SWF_FIELDS) == set(STORED) - set(SWF_FIELDS)
    assert all(f"| `{name}`" in told for name in ("gpu_type", "licences", "features", "after"))


def test_columns_of_classes(result):
    text = page("reference/jobs.md").partition("## Classes")[2]
    assert all(f"`{what}`" in text for what in CLASSES)
    assert first_cells(text) == list(result.by("width").columns)


def test_columns_of_the_trajectory(result):
    assert first_cells(page("reference/trajectory.md")) == list(result.trajectory.columns)


def test_keys_of_the_summary(result):
    told = first_cells(page("reference/summary.md"))
    keys = result.after_warmup(1).summary
    later = sojourn.Jobs({"submit": [0], "begin": [60], "runtime": [9], "procs": [1]})
    keys |= sojourn.simulate(later, result.cluster, "easy").summary
    held = sojourn.simulate(later, 8, price="0.1, 8:0.2", carbon=300, defer="window:9h").summary
    keys |= {name: held[name] for name in ("deferred", "others")}
    for name in (*held["deferred"], *held["others"]):
        assert f"`{name}`" in page("reference/summary.md"), name
    assert set(told) == {*keys, "caps", "domains", "provenance", *keys["energy"]}
    power = sojourn.ConstantPower(40, 10)
    capped = sojourn.simulate(later, sojourn.Cluster.homogeneous(8, power=power), cap="1kW")
    for name in capped.summary["caps"]["cluster"]:
        assert f"`{name}`" in page("reference/summary.md"), name
    node = sojourn.Node("one", sojourn.Server("made", cores=8, ops=1e6))
    parted = sojourn.simulate(later, sojourn.Cluster.of([node]), rate={"one": 2})
    for name in parted.summary["domains"]["one"]:
        assert f"`{name}`" in page("reference/summary.md"), name
    for name in (*result.summary["wait"], *result.summary["cleaning"]):
        assert f"`{name}`" in page("reference/summary.md")


def test_keys_of_the_provenance(tmp_path):
    sojourn.write_swf(sojourn.lublin(20, 8, seed=1), tmp_path / "log.swf")
    assert main(["simulate", str(tmp_path / "log.swf"), "--out", str(tmp_path / "run")]) == 0
    told = json.loads((tmp_path / "run" / "summary.json").read_text())["provenance"]
    for name in (*told, *told["input"], *told["seconds"]):
        assert f"`{name}`" in page("reference/summary.md"), name


def test_files_of_a_study(tmp_path):
    """Every file, key and column that a sweep of a log and a search of a model write."""
    sojourn.write_swf(sojourn.lublin(60, 8, seed=1), tmp_path / "log.swf")
    log = {"workload": {"log": str(tmp_path / "log.swf")}, "cluster": {"procs": 8}}
    sojourn.study.sweep(log, {"policy.name": ["fcfs"]}, 2, out=tmp_path / "sweep", workers=1)
    model = {"workload": {"model": "lublin", "jobs": 60}, "cluster": {"procs": 8}}
    sojourn.study.optimise(
        model, {"policy.name": "fcfs,easy"}, ["wait_mean", "energy_kwh"],
        population=4, generations=1, replications=2, out=tmp_path / "search", workers=1,
    )  # fmt: skip
    parts = page("reference/study-files.md").split("\n## ")
    files, runs, study, front = (set(first_cells(part)) for part in parts)
    for folder in ("sweep", "search"):
        written = {path.name for path in (tmp_path / folder).iterdir()} - {".lock"}
        assert written == files - ({"front.json"} if folder == "sweep" else set())
    keys = {
        name
        for folder in ("sweep", "search")
        for name in json.loads((tmp_path / folder / "study.json").read_text())
    }
    assert keys == study
    assert set(json.loads((tmp_path / "search" / "front.json").read_text())) == front
    columns = sojourn.study.read_runs(tmp_path / "search").column_names
    measured = set(columns) - runs
    assert runs <= set(columns)
    assert {"policy.name", "wait_mean", "bounded_slowdown_p95"} <= measured


def test_fields_of_the_standard_workload_format():
    rows = [line for line in page("reference/swf.md").splitlines() if re.match(r"\| \d+ \|", line)]
    assert [row.split("|")[3].strip(" `") for row in rows] == list(SWF_FIELDS)


def test_orders_backfills_and_policies():
    told = first_cells(page("guides/policies.md"))
    assert {*ORDERS, *BACKFILLS, *POLICIES} <= set(told)
    for name, long in POLICIES.items():
        assert f"| `{name}` | `{long}` |" in page("guides/policies.md")


def test_cleaning_rules():
    text = page("guides/logs.md").partition("## Cleaning")[2]
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| `")]
    told = [(a.strip(" `"), b.strip() == "yes", c.strip()) for a, b, c in rows]
    assert told == [(rule.name, rule.standard, rule.action) for rule in RULES.values()]


def test_formats():
    text = page("guides/logs.md").partition("## Cleaning")[0]
    for name, entry in FORMATS.items():
        assert f"| `{entry.suffix}` |" in text or f"--log-format {name}" in text, name


def test_controls():
    told = " ".join(first_cells(page("guides/rates.md")))
    kinds = [name for name in CONTROLS if name != "constant"]  # Which is a number.
    assert [name for name in kinds if f"{name}:" not in told] == []


def test_kinds_of_events():
    table = page("guides/events.md").partition("## The table")[2].partition("## The events")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    assert told == set(KINDS)
    for name, kind in KINDS.items():
        takes = {cell for row in rows if f"`{name}`" in row[1] for cell in row[2].split("`")[1::2]}
        assert takes >= {*kind.about, *kind.takes}, name


def test_public_names():
    text = page("reference/api.md")
    for name in sojourn.__all__:
        assert f"sojourn.{name}" in text, f"{name} is not on the page"


@pytest.mark.parametrize(
    "package",
    [sojourn.theory, sojourn.theory.fit, sojourn.capacity, sojourn.adequacy, sojourn.study],
)
def test_public_names_of_packages(package):
    entry = re.compile(rf"^\.\. auto\w+:: {package.__name__}\.(\w+)$", re.MULTILINE)
    told = entry.findall(page("reference/api.md"))
    # What a package hands on to the one above it is told there.
    above = sojourn.theory.__all__ if package is sojourn.theory.fit else ["fit"]
    assert sorted(told) == sorted(set(package.__all__) - set(above))


def test_errors_are_the_tree_of_the_module():
    tree = sojourn.errors.__doc__.split("::\n\n")[1].split("\n\nEvery")[0]
    names = re.findall(r"\w+Error", tree)
    told = page("reference/errors.md")
    assert names == re.findall(r"\w+Error", told.partition("```\n")[2].partition("```")[0])


@pytest.mark.parametrize(
    ("name", "heading", "count"),
    [
        ("background/model.md", "## Errata", 14),
        ("background/theory.md", "### rumyantsev2014", 4),
        ("background/theory.md", "### mminf2023", 5),
        ("background/adequacy.md", "### baranov2019", 1),
    ],
)
def test_every_erratum_is_listed_where_it_is_implemented(name, heading, count):
    text = page(name).partition(f"{heading}\n")[2].partition("\n###")[0]
    rows = [line.split("|") for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(row[1]) for row in rows] == list(range(1, count + 1))
    for row in rows:
        for path in re.findall(r"`([\w/]+\.py)`", row[-2]):
            places = [ROOT / "src" / "sojourn" / path, ROOT / path]
            assert any(place.is_file() for place in places), path
        for path, names in re.findall(r"`([\w/]+\.py)` \(([^)]*)\)", row[-2]):
            code = (ROOT / "src" / "sojourn" / path).read_text(encoding="utf-8")
            for name in re.findall(r"`(\w+)`", names):
                assert f"def {name}(" in code, f"{path} has no {name}"


def test_every_citation_is_in_the_bibliography():
    keys = set(re.findall(r"\*\*\[(\w+)\]\*\*", page("background/bibliography.md")))
    cited = set()
    for path in (*(ROOT / "src").rglob("*.py"), *DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for group in re.findall(r"\[([^\]\[\n]*)\]", text):
            cited |= set(re.findall(r"\b([a-z]{3,}(?:19|20)\d\d)\b", group))
    assert cited <= keys, cited - keys


def modules_with_examples() -> list[str]:
    sources = {path: path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*.py")}
    return sorted(
        ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        for path, place in sources.items()
        if ">>> " in path.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_own_policy_is_short_and_runs_at_compiled_speed(tmp_path):
    source = next(
        block.text
        for block in blocks(DOCS / "guides" / "own-policy.md")
        if block.text.startswith("# hurry.py")
    )
    assert len(source.strip().splitlines()) < 15
    (tmp_path / "hurry.py").write_text(source, encoding="utf-8")
    score = sojourn.policy.load_score(f"{tmp_path / 'hurry.py'}:hurry")
    jobs = sojourn.lublin(20_000, 256, load=0.7, seed=4)

    def best_time(policy) -> float:
        times = []
        for _ in range(4):
            begun = time.process_time()
            sojourn.simulate(jobs, 256, policy)
            times.append(time.process_time() - begun)
        return min(times)

    # WFP3 reads the clock too. Plain Python would take hundreds of times as long.
    own = best_time(sojourn.Policy(order=score, backfill="easy"))
    assert own < 4 * best_time("wfp3+easy")


def _added(name: str) -> str:
    found = [
        block.text
        for block in blocks(ROOT / "CONTRIBUTING.md")
        if block.language == "python" and block.text.startswith(f"# src/sojourn/{name}\n")
    ]
    assert len(found) == 1
    return found[0]


def _add(name: str, folder: Path) -> dict[str, Any]:
    """Run a walk-through as if it stood at the end of its module, and return the names then."""
    module = importlib.import_module("sojourn." + name.removesuffix(".py").replace("/", "."))
    # Compiled code is kept only for functions that stand in a file.
    file = folder / Path(name).name
    file.write_text(_added(name), encoding="utf-8")
    namespace = dict(vars(module))
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    return namespace


def test_walk_through_a_cleaning_rule(tmp_path):
    _add("jobs/clean.py", tmp_path)
    try:
        jobs = sojourn.lublin(4, 16, load=0.9, seed=2).replace(status=[1, 5, 1, 5])
        left = sojourn.clean(jobs, rules=["cancelled"])
        assert left.status.tolist() == [1, 1]
        assert left.report.count("cancelled") == 2
    finally:
        del RULES["cancelled"]


def test_make_targets_of_contributing():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = [name.removeprefix("make ") for name in first_cells(text) if name.startswith("make ")]
    assert set(told) <= set(targets)
    assert {"demo", "test", "check", "bench", "docs"} <= set(told)


def test_citation_has_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {sojourn.__version__}\n" in text
    assert f"## {sojourn.__version__} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
