"""``sojourn run``: a scenario from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as o


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="run")(run)


def run(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="Scenario file (.toml); see sojourn schema.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for the results; a run that is there is replaced."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="S", min=0, help="Seed in place of that of the scenario."),
    ] = None,
    by: o.By = None,
    json: o.AsJson = False,
) -> None:
    """Run what a scenario file describes, as simulate does with the same options.

    Writes to DIR what simulate writes, and prints a summary.

    Example: sojourn run scenario.toml --out run
    """
    from ..study import read_scenario, run_scenario
    from ._pictures import overview_of
    from ._progress import progress

    chosen = read_scenario(scenario)
    if seed is not None:
        chosen = chosen.with_value("run.seed", seed)
    if by is not None:
        from ..classes import CLASSES
        from ..workload.classes import listed_classes

        chosen = chosen.with_value("run.by", listed_classes(by, CLASSES))
    with progress(str(scenario)) as report:
        told = run_scenario(chosen, out, pictures=overview_of, progress=report)
    if json:
        from ..output import as_json

        print(as_json(told))
        return
    from ._tables import show_summary

    show_summary(told, out)
