"""``sojourn simulate``: one log under one policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import OptionError
from . import _options as o
from ._groups import flat, grouped
from ._machine import Machine
from ._options import ClusterName, CostOptions, CountedOptions, NodeOptions, Placement, Results
from ._run import Plan, carry_out


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
    if save_scenario is not None:
        from ..output import check_folder

        check_folder(save_scenario.parent)
        if save_scenario.is_dir():
            raise OptionError(f"--save-scenario {save_scenario}: is a folder; name a file")
    told = carry_out(plan)
    if save_scenario is not None:
        from ..study import save_options

        save_options(given, save_scenario)
    if results.json:
        from ..output import as_json

        print(as_json(told))
        return
    from ._tables import show_summary

    show_summary(told, results.out)
