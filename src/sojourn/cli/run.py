"""``sojourn run``: a scenario from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import AsJson, Chosen, RunFolder, option, takes
from ._run import run_chosen, show


@takes(
    *("seed", "by"),
    seed=option("S", "Seed in place of that of the scenario."),
)
def run(
    chosen: Chosen,
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="Scenario file (.toml); see sojourn schema.")
    ],
    out: RunFolder = None,
    json: AsJson = False,
) -> None:
    """Run what a scenario file describes, as simulate does with the same options.

    Writes to DIR what simulate writes, and prints a summary.

    Example: sojourn run scenario.toml --out run
    """
    from ..run.scenario import read_scenario

    described = read_scenario(scenario)
    over = {f"run.{name}": value for name, value in chosen.given.get("run", {}).items()}
    if over:
        described = described.with_values(over)
    show(run_chosen("run", described, None, out, json=json), out, json=json)
