"""``sojourn simulate``: one log under one policy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import OptionError
from . import _options as o
from ._groups import flat, grouped
from ._machine import Machine
from ._options import ClusterName, CostOptions, CountedOptions, NodeOptions, Placement, Results
from ._run import Plan, carry_out

if TYPE_CHECKING:
    from ..study import Scenario


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="simulate")(simulate)


@grouped
def simulate(
    log: o.Log,
    *,
    counted: CountedOptions,
    policy: o.PolicyName = "easy",
    policy_file: o.PolicyFile = None,
    running: o.RunOptions,
    cluster: ClusterName = None,
    placement: Placement = "first-fit",
    nodes: NodeOptions,
    cost: CostOptions,
    reading: o.LogOptions,
    results: Results,
    save_scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Write these options as a scenario too, for sojourn run.",
            rich_help_panel="Results",
        ),
    ] = None,
) -> None:
    """Schedule the jobs of a log and write what came of each.

    Writes DIR/jobs.parquet, DIR/trajectory.parquet and DIR/summary.json, with --cluster also
    DIR/schedule.parquet and DIR/nodes.csv, and prints a summary.

    Example: sojourn simulate log.swf.gz --procs 100 --policy easy --estimates exact --out run
    """
    given = {
        "log": log,
        "policy": policy,
        "policy_file": policy_file,
        "cluster": cluster,
        "placement": placement,
        **flat(counted, running, nodes, cost, reading, results),
    }
    del given["json"]
    plan = Plan(
        "simulate",
        given,
        log,
        o.chosen_policy(policy, policy_file),
        placement,
        reading,
        running,
        Machine(cluster, counted, nodes, cost, reading.strict),
        results,
    )
    scenario = None if save_scenario is None else _scenario(plan, save_scenario)
    told = carry_out(plan)
    if scenario is not None and save_scenario is not None:
        from ..study import save_scenario as save

        save(scenario, save_scenario)
    if results.json:
        from ..output import as_json

        print(as_json(told))
        return
    from ._tables import show_summary

    show_summary(told, results.out)


def _scenario(plan: Plan, path: Path) -> Scenario:
    """Return the options as a scenario that can be saved there; OptionError before the run."""
    option = f"--save-scenario {path}"
    if path.is_dir():
        raise OptionError(f"{option}: is a folder; name a file")
    if path.suffix.lower() != ".toml":
        raise OptionError(f"{option}: a scenario is a file in TOML; name it FILE.toml")
    out = plan.results.out
    if out is not None and os.path.abspath(out) == os.path.abspath(path):
        raise OptionError(f"{option}: is the folder of the results; name another file")
    # What is wrong with an option is said as without a scenario.
    plan.results.check()
    plan.options()

    from ..policy import parse_control
    from ..study._problems import Source
    from ..study.saving import check_saving, scenario_of

    parse_control(plan.running.rate)
    _ = plan.machine.power
    scenario = scenario_of(plan.given, path.parent, Source(option))
    try:
        check_saving(scenario, path)
    except OptionError as error:
        raise OptionError(f"--save-scenario {error}") from None
    return scenario
