"""``sojourn simulate``: one log under one policy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import OptionError
from ._options import AsJson, Chosen, RunFolder, option, takes
from ._run import run_chosen, show

if TYPE_CHECKING:
    from ..run.scenario import Scenario


@takes()
def simulate(
    chosen: Chosen,
    *,
    out: RunFolder = None,
    json: AsJson = False,
    save_scenario: Annotated[
        Path | None,
        option("FILE.toml", "Write these options as a scenario too, for sojourn run.", "Results"),
    ] = None,
    change: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE",
            "Another value of a key of a scenario, such as slurm.SuspendTime=600; may be repeated.",
            flag="--set",
        ),
    ] = None,
) -> None:
    """Schedule the jobs of a log and write what came of each.

    Writes DIR/jobs.parquet, DIR/trajectory.parquet and DIR/summary.json, with --cluster also
    DIR/schedule.parquet and DIR/nodes.csv, and prints a summary.

    Example: sojourn simulate log.swf.gz --procs 100 --policy easy --estimates exact --out run
    """
    scenario, options = chosen.scenario, chosen.options
    if change:
        scenario = scenario.with_values(_changes(change))
        options = {**options, "set": change}
    if str(options.get("policy")).partition(":")[0] != "slurm":
        _check_sleep(scenario)
    _check_series(scenario)
    saved = None if save_scenario is None else _saved(scenario, save_scenario, out)
    summary = run_chosen("simulate", scenario, options, out, json=json)
    if saved is not None and save_scenario is not None:
        from ..run.command import save_scenario as save

        save(saved, save_scenario)
    show(summary, out, json=json)


_OF_SLEEP = ("sleep_rate", "wake_rate", "boot_failure", "boot_repair")


def _check_sleep(scenario: Scenario) -> None:
    """Refuse what only nodes that sleep have, where none does: it would be passed over."""
    policy = scenario.keys.policy
    given = next((key for key in _OF_SLEEP if key in policy.model_fields_set), None)
    if given is not None and policy.sleep == "never":
        raise OptionError(
            f"--{given.replace('_', '-')}: no node sleeps, so that none boots; give --sleep, or "
            "leave it out"
        )


def _check_series(scenario: Scenario) -> None:
    """Refuse to say how a series goes on where there is none."""
    power = scenario.keys.power
    if "series" in power.model_fields_set and power.carbon is None and power.price is None:
        raise OptionError("--series: there is none; give --carbon or --price, or leave it out")


def _changes(texts: list[str]) -> dict[str, str]:
    """Return values as they are typed, by key."""
    changes: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise OptionError(f"--set '{text[:40]}': write --set KEY=VALUE")
        if key in changes:
            raise OptionError(f"--set {key}: is set twice; give one value")
        changes[key] = value
    return changes


def _saved(scenario: Scenario, path: Path, out: Path | None) -> Scenario:
    """Return a scenario as it can be saved there; OptionError before the run."""
    option = f"--save-scenario {path}"
    if path.is_dir():
        raise OptionError(f"{option}: is a folder; name a file")
    if path.suffix.lower() != ".toml":
        raise OptionError(f"{option}: a scenario is a file in TOML; name it FILE.toml")
    if out is not None and os.path.abspath(out) == os.path.abspath(path):
        raise OptionError(f"{option}: is the folder of the results; name another file")
    from ..run.carry_out import check_results
    from ..run.command import check_saving, saved_form

    check_results(scenario, out)
    saved = saved_form(scenario, path.parent)
    try:
        check_saving(saved, path)
    except OptionError as error:
        raise OptionError(f"--save-scenario {error}") from None
    return saved
