"""``sojourn compare``: one log under several policies, or several scenarios."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from json import loads as json_of
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError
from . import _completion
from ._options import AsJson, Chosen, option, takes
from ._results import print_json
from ._run import progress, say

if TYPE_CHECKING:
    from ..measures.entry import Measure
    from ..run.result import Result
    from ..run.scenario import Scenario
    from ..run.variants import Variant

_STANDARD = "fcfs,easy,conservative"
_NAMES = {"policy.name": "--policies", "policy.placement": "--placements"}


@takes(
    without=(
        *("log", "policy", "policy_file", "placement"),
        *("format", "trajectory", "plots", "debug"),
    )
)
def compare(
    chosen: Chosen,
    inputs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG|SCENARIO...", help="A job log; or scenario files (.toml)."),
    ],
    *,
    policies: Annotated[
        str | None,
        option(
            "NAME,NAME,...",
            "Policies as for simulate; changes are relative to the first. Default: "
            f"{_STANDARD} for a log where nothing else is varied.",
            "Scheduling",
            autocompletion=_completion.policy_lists,
        ),
    ] = None,
    policy_file: Annotated[
        list[str] | None,
        option(
            "FILE.py:NAME",
            "Your own order; --policies then knows NAME and NAME+BACKFILL.",
            "Scheduling",
        ),
    ] = None,
    placements: Annotated[
        str | None,
        option(
            "NAME,NAME,...",
            "Placements as for simulate; each policy is run with each of them.",
            "Nodes",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        option(
            "KEY=V,V,...",
            "Values of a key of a scenario, such as cluster.procs=64,84, each run in turn; "
            "may be repeated.",
            flag="--set",
        ),
    ] = None,
    json: AsJson = False,
    csv: Annotated[Path | None, option("FILE", "Write the table as CSV too.")] = None,
    out: Annotated[
        Path | None,
        option("DIR", "Folder for the runs, each in one of its own; see sojourn report."),
    ] = None,
) -> None:
    """Run one log under several policies, or any scenarios, and print one table.

    Example: sojourn compare log.swf --policies fcfs,easy,conservative,sjf+easy
    """
    from ..run.carry_out import digests_ahead, origin_of
    from ..run.folder import check_file, check_folder, write_rows
    from ..run.variants import runs_of

    variants = _variants(chosen, inputs, policies, policy_file or [], placements, vary or [])
    first = variants[0].scenario
    classes = list(first.keys.run.by or ())
    if out is not None:
        check_folder(out)
        if classes:
            check_file(out / "classes.csv")
    for variant in variants:
        variant.scenario.check_parts()
    files = _files(variants)
    digests = digests_ahead(files)
    jobs = first.read_jobs(say)
    system = first.cluster_for(jobs)
    if csv is not None:
        check_file(csv)

    options = {"inputs": inputs, "policies": policies or _STANDARD, "policy_file": policy_file}
    options |= {**chosen.options, "placements": placements or "first-fit", "set": vary}
    origin = origin_of(first, jobs, files, digests.wait(), "compare", options)
    compared = _Compared(classes={name: [] for name in classes})
    with progress("simulating") as report, _keeping(out, compared, origin) as keep:
        runs = runs_of(
            variants,
            lambda scenario: jobs if scenario is first else scenario.read_jobs(),
            record=out is not None,
            progress=report,
        )
        for variant, result, seconds in runs:
            keep(result, compared.add(variant, result, seconds))
        compared.about = {
            "procs": system.procs,
            "jobs": len(jobs),
            "power_model": system.power_model,
            "cleaning": jobs.report.as_dict(),
        }
    if csv is not None:
        write_rows(csv, [{name: row[name] for name in compared.common} for row in compared.rows])
    if json:
        print_json(compared.as_dict())
        return
    _show(compared)
    if out is not None:
        print(f"\neach run in a folder of {out}, and compare.json")


@dataclass
class _Compared:
    """What is known of several runs.

    Parameters
    ----------
    classes : measures of the classes of jobs of each run, by what they are classed by.
    rows : the measures of each run, with what the table calls it.
    measures : that some run has, by name.
    recorded : recorded beside simulated waits, by run.
    not_modelled : what runs take no notice of, each once.
    about : the machine, the jobs, and what cleaning did.
    unaccepted : jobs that never fit, by run.
    currencies : in which the costs of the runs are.
    """

    classes: dict[str, list[dict[str, Any]]]
    rows: list[dict[str, Any]] = field(default_factory=list)
    measures: dict[str, Measure] = field(default_factory=dict)
    recorded: dict[str, Any] = field(default_factory=dict)
    not_modelled: dict[str, None] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    unaccepted: dict[str, int] = field(default_factory=dict)
    currencies: set[str] = field(default_factory=set)

    def add(self, variant: Variant, result: Result, seconds: float) -> dict[str, Any]:
        """Take up a run, which took so long, and return its row."""
        from ..run.classes import class_rows
        from ..run.compare import Outcome, measures_of

        named = {"run": variant.label, **variant.about} if variant.label else {}
        row = named | Outcome(str(variant.scenario.policy), result, seconds).row()
        self.rows.append(row)
        settings = vars(result.options) | {"rate": variant.scenario.control}
        self.measures |= {what.name: what for what in measures_of(result.cluster, settings)}
        for by, part in self.classes.items():
            part += [{"run": _label(row), **measured} for measured in class_rows(result.by(by))]
        if "recorded" in result.summary:
            self.recorded[_label(row)] = result.summary["recorded"]
        self.not_modelled |= dict.fromkeys(result.summary["not_modelled"])
        self.unaccepted[_label(row)] = result.summary["unaccepted"]
        self.currencies.add(str(result.summary.get("energy", {}).get("currency") or ""))
        return row

    @property
    def currency(self) -> str:
        """The currency of all costs; empty where runs have several."""
        return next(iter(self.currencies)) if len(self.currencies) == 1 else ""

    @property
    def common(self) -> list[str]:
        """Names of the columns that all runs have."""
        return [name for name in self.rows[0] if all(name in row for row in self.rows)]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            **self.about,
            "rows": self.rows,
            "recorded": self.recorded,
            "not_modelled": list(self.not_modelled),
            **({"classes": self.classes} if self.classes else {}),
        }


def _show(compared: _Compared) -> None:
    from ..report.text import (
        Terminal,
        show_compared_classes,
        show_comparison,
        show_not_acted_on,
        show_report,
    )

    show_report(compared.about["cleaning"])
    show_not_acted_on(Terminal(), list(compared.not_modelled))
    common = set(compared.common)
    show_comparison(
        compared.rows,
        [measure for name, measure in compared.measures.items() if name in common],
        assumed=compared.about["power_model"] or "",
        recorded=compared.recorded,
        unaccepted=compared.unaccepted,
        currency=compared.currency,
    )
    show_compared_classes(Terminal(), compared.classes)


def _variants(
    chosen: Chosen,
    inputs: Sequence[Path],
    policies: str | None,
    policy_files: Sequence[str],
    placements: str | None,
    vary: Sequence[str],
) -> list[Variant]:
    """Return what is to be run, from a log or from scenarios."""
    from ..run.command import CommandLine
    from ..run.scenario import Scenario, read_scenario
    from ..run.variants import policies_of, variants_of
    from ..study.grid import parse_axis

    axes = [parse_axis(text) for text in vary]
    places = [name.strip().lower() for name in (placements or "").split(",") if name.strip()]
    if placements is not None and not places:
        raise OptionError("--placements names none; give for example first-fit,lowest-energy")
    bases: dict[str, Scenario] = {}
    if all(path.suffix.lower() == ".toml" for path in inputs):
        for path in inputs:
            name = path.stem if path.stem not in bases else str(path)
            bases[name] = _under_options(read_scenario(path), chosen)
    elif len(inputs) > 1:
        raise OptionError(f"{inputs[1]}: give one log, or scenarios in TOML (.toml)")
    else:
        from ..run.command import merged

        given = merged({"workload": {"log": str(inputs[0])}}, chosen.given)
        bases["log"] = Scenario.from_mapping(given, source=CommandLine(renamed=_NAMES))
        if policies is None and not any(key.startswith("policy.") for key, _ in axes):
            policies = "easy" if axes else _STANDARD
    names = [] if policies is None else policies_of(policies, policy_files)
    if policies is not None and not names:
        raise OptionError("--policies names none; give for example fcfs,easy,conservative")
    return variants_of(bases, axes, places, names)


def _under_options(scenario: Scenario, chosen: Chosen) -> Scenario:
    """Return a scenario of a file, over which options win."""
    if not chosen.given:
        return scenario
    from ..run.command import merged
    from ..run.inputs import moved
    from ..run.scenario import Scenario

    given = moved(chosen.given, Path(), scenario.folder)
    changed = scenario.source.changed()
    return Scenario.from_mapping(merged(scenario.as_mapping(), given), scenario.folder, changed)


def _files(variants: Sequence[Variant]) -> dict[str, str]:
    """Return the files that runs depend on, by what they are; others of a kind are numbered."""
    files: dict[str, str] = {}
    for variant in variants:
        for name, path in variant.scenario.files.items():
            of_kind = [key for key in files if key == name or re.fullmatch(rf"{name} \d+", key)]
            if path not in (files[key] for key in of_kind):
                files[f"{name} {len(of_kind) + 1}" if of_kind else name] = path
    return files


@contextmanager
def _keeping(
    out: Path | None, compared: _Compared, origin: dict[str, Any]
) -> Iterator[Callable[[Result, dict[str, Any]], None]]:
    """Yield what keeps a run; all of them get their places at the end, or none."""
    if out is None:
        yield lambda result, row: None
        return
    from ..run.folder import as_json, put_rows, staged, write_run

    folders: list[str] = []
    with staged(out) as stage:

        def keep(result: Result, row: dict[str, Any]) -> None:
            folders.append(_folder(row, folders))
            write_run(result, stage, folders[-1], by=list(compared.classes), origin=origin)

        yield keep
        if compared.classes:
            every = compared.classes.items()
            put_rows(
                stage("classes.csv"), [{"by": by, **row} for by, part in every for row in part]
            )
        elif _has_classes(out):
            stage.remove("classes.csv")
        text = as_json({**compared.as_dict(), "folders": folders, "provenance": origin})
        stage("compare.json").write_text(text + "\n", encoding="utf-8")


def _has_classes(out: Path) -> bool:
    """Whether a former comparison left measures of classes there."""
    try:
        return "classes" in json_of((out / "compare.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _label(row: dict[str, Any]) -> str:
    if "run" in row:
        return str(row["run"])
    return " ".join(str(row[key]) for key in ("policy", "placement") if key in row)


def _folder(row: dict[str, Any], taken: list[str]) -> str:
    """Return a name for the folder of a run, which no other run has."""
    name = re.sub(r"[^\w+.:-]+", "-", _label(row)).strip("-.") or "run"
    return name if name not in taken else f"{name}-{len(taken) + 1}"
