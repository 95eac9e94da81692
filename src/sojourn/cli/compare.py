"""``sojourn compare``: one log under several policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _options as o


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="compare")(compare)


def compare(
    log: o.Log,
    policies: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME,...",
            help="Policies as for simulate; changes are told against the first.",
            rich_help_panel="Scheduling",
        ),
    ] = "fcfs,easy,conservative",
    procs: o.Procs = None,
    estimates: o.Estimates = "user",
    rate: o.Rate = None,
    json: o.AsJson = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table as CSV too.")
    ] = None,
    policy_file: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="Your own order; --policies then knows NAME and NAME+BACKFILL.",
            rich_help_panel="Scheduling",
        ),
    ] = None,
    over_limit: o.OverLimit = "kill",
    passes: o.Passes = "instant",
    reference_rate: o.ReferenceRate = 1.0,
    watts_busy: o.WattsBusy = None,
    watts_idle: o.WattsIdle = None,
    watts: o.Watts = None,
    seed: o.Seed = 0,
    strict: o.Strict = False,
    keep_zero: o.KeepZero = False,
    rules: o.Rules = None,
    width: o.Width = None,
    log_format: o.LogFormat = None,
    columns: o.Columns = None,
) -> None:
    """Run one log under several policies and print one table.

    Example: sojourn compare log.swf --policies fcfs,easy,conservative,sjf+easy
    """
    jobs = o.read_jobs(log, log_format, columns=columns, strict=strict, width=width)
    size = o.machine_size(jobs, procs)
    jobs = o.cleaned(jobs, size, o.chosen_rules(rules, keep_zero), strict=strict)
    chosen = o.chosen_policies(policies, policy_file or [])

    from ..cluster import Cluster
    from ..compare import compare as run
    from ..output import as_json, write_rows
    from ._progress import progress

    cluster = Cluster.homogeneous(size, power=o.chosen_power(watts_busy, watts_idle, watts))
    rows = []
    with progress("simulating") as report:
        for outcome in run(
            jobs,
            cluster,
            chosen,
            rate=rate,
            progress=report,
            estimates=o.number_or_text(estimates),
            over_limit=over_limit,
            passes=passes,
            reference_rate=reference_rate,
            seed=seed,
            clean=(),
        ):
            rows.append(outcome.row())
    if csv is not None:
        write_rows(csv, rows)
    cleaning = jobs.report.as_dict()
    if json:
        told = {"procs": size, "jobs": len(jobs), "rows": rows, "cleaning": cleaning}
        print(as_json(told))
        return
    from ._tables import show_comparison, show_report

    show_report(cleaning)
    show_comparison(rows)
