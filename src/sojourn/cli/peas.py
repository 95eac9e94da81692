"""``sojourn peas``: a workload, a cluster and a configuration in; metrics and schedule out."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from . import _options as o
from ._groups import flat, grouped, is_given
from ._machine import Machine
from ._options import CostOptions, CountedOptions, NodeOptions, Placement, Results
from ._run import Plan, carry_out

_Group = TypeVar("_Group", o.RunOptions, NodeOptions, CostOptions, o.LogOptions)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="peas")(peas)


@grouped
def peas(
    context: typer.Context,
    log: o.Log,
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="CLUSTER",
            help="SPECpower table or description of the cluster (.csv, .toml, also .gz, .xz), or "
            "counts such as '64 x X5670'.",
        ),
    ],
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Configuration; options on the command line win over it.",
        ),
    ] = None,
    policy: o.PolicyName = "easy",
    policy_file: o.PolicyFile = None,
    running: o.RunOptions,
    placement: Placement = "first-fit",
    nodes: NodeOptions,
    cost: CostOptions,
    reading: o.LogOptions,
    results: Results,
) -> None:
    """Schedule the jobs of a log on a cluster of named nodes: waits, responses, energy.

    Writes DIR/jobs.parquet, DIR/schedule.parquet, DIR/nodes.csv, DIR/trajectory.parquet and
    DIR/summary.json, with --debug also DIR/decisions.log, and prints a summary.

    Example: sojourn peas log.swf cluster.csv --policy easy --placement lowest-energy --out run
    """
    said = _said_by(config, context)
    policy, placement = said.get("policy", policy), said.get("placement", placement)
    running, nodes = _with(running, said), _with(nodes, said)
    cost, reading = _with(cost, said), _with(reading, said)
    given = {
        "log": log,
        "cluster": cluster,
        "config": config,
        "policy": policy,
        "policy_file": policy_file,
        "placement": placement,
        **flat(running, nodes, cost, reading, results),
    }
    del given["json"]
    told = carry_out(
        Plan(
            "peas",
            given,
            log,
            o.chosen_policy(policy, policy_file),
            placement,
            reading,
            running,
            Machine(cluster, CountedOptions(), nodes, cost, reading.strict),
            results,
            config,
        )
    )
    if results.json:
        from ..output import as_json

        print(as_json(told))
        return
    from ._tables import show_peas

    show_peas(told, results.out)


def _said_by(config: Path | None, context: typer.Context) -> dict[str, Any]:
    """Options that the configuration says, and the command line does not."""
    if config is None:
        return {}
    from ..peas import read_config

    said = read_config(config).options()
    return {name: value for name, value in said.items() if not is_given(context, name)}


def _with(group: _Group, said: dict[str, Any]) -> _Group:
    names = {each.name for each in fields(group)}
    return replace(group, **{name: value for name, value in said.items() if name in names})
