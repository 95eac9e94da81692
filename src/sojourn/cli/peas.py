"""``sojourn peas``: a workload, a cluster and a configuration in; metrics and schedule out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import AsJson, Chosen, RunFolder, option, takes
from ._run import run_chosen, show


@takes(
    without=("procs", "watts_busy", "watts_idle", "watts"),
    cluster=typer.Argument(
        metavar="CLUSTER",
        help="SPECpower table or description of the cluster (.csv, .toml, also .gz, .xz), or "
        "counts such as '64 x X5670'.",
    ),
)
def peas(
    chosen: Chosen,
    *,
    config: Annotated[
        Path | None, option("FILE.toml", "Configuration; options on the command line win over it.")
    ] = None,
    out: RunFolder = None,
    json: AsJson = False,
) -> None:
    """Schedule the jobs of a log on a cluster of named nodes: waits, responses, energy.

    Writes DIR/jobs.parquet, DIR/schedule.parquet, DIR/nodes.csv, DIR/trajectory.parquet and
    DIR/summary.json, with --debug also DIR/decisions.log, and prints a summary.

    Example: sojourn peas log.swf cluster.csv --policy easy --placement lowest-energy --out run
    """
    configured: dict[str, Any] = {}
    if config is not None:
        from ..run.peas import read_config

        configured = read_config(config)
    summary = run_chosen(
        "peas",
        chosen.over(configured),
        {**chosen.options_over(configured), "config": config},
        out,
        json=json,
        more_files={} if config is None else {"config": str(config)},
    )
    show(summary, out, json=json, peas=True)
