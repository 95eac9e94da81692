"""``sojourn simulate``: one log under one policy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError
from . import _options as o

_OUTPUT = "Results"


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="simulate")(simulate)


def simulate(
    log: o.Log,
    procs: o.Procs = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME|ORDER[+BACKFILL]",
            help="fcfs, lcfs-pr, lpf, spf, easy, easy-sjbf, conservative, first-fit, or an order "
            "(sjf, ljf, saf, wfp3, ...) with a backfill (easy, easy:K, conservative, first-fit).",
            rich_help_panel="Scheduling",
        ),
    ] = "easy",
    estimates: o.Estimates = "user",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder for the results; a run that is there is replaced.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    json: o.AsJson = False,
    policy_file: o.PolicyFile = None,
    over_limit: o.OverLimit = "kill",
    passes: o.Passes = "instant",
    rate: o.Rate = None,
    reference_rate: o.ReferenceRate = 1.0,
    watts_busy: o.WattsBusy = None,
    watts_idle: o.WattsIdle = None,
    watts: o.Watts = None,
    seed: o.Seed = 0,
    format: Annotated[
        str,
        typer.Option(
            metavar="parquet|csv|swf",
            help="Format of the job table; swf is the log with the simulated waits in it.",
            rich_help_panel=_OUTPUT,
        ),
    ] = "parquet",
    trajectory: Annotated[
        bool,
        typer.Option(
            "--trajectory/--no-trajectory",
            help="Record and write the trajectory.",
            rich_help_panel=_OUTPUT,
        ),
    ] = True,
    plots: Annotated[
        bool,
        typer.Option("--plots", help="Draw overview.png too.", rich_help_panel=_OUTPUT),
    ] = False,
    strict: o.Strict = False,
    keep_zero: o.KeepZero = False,
    rules: o.Rules = None,
    width: o.Width = None,
    log_format: o.LogFormat = None,
    columns: o.Columns = None,
) -> None:
    """Schedule the jobs of a log and write what came of each.

    Writes DIR/jobs.parquet, DIR/trajectory.parquet and DIR/summary.json, and prints a summary.

    Example: sojourn simulate log.swf.gz --procs 100 --policy easy --estimates exact --out run
    """
    given: dict[str, Any] = {key: value for key, value in locals().items() if key != "json"}
    from ..output import FORMATS, Digest, as_json, check_folder, provenance, write_run
    from ._ahead import Ahead, reader_is_loaded
    from ._pictures import overview_of

    if format not in FORMATS:
        raise OptionError(f"--format {format}: choose {', '.join(FORMATS)}")
    if out is not None:
        check_folder(out)
    elif plots:
        raise OptionError("--plots draws into the folder of the results; give --out")
    chosen = o.chosen_policy(policy, policy_file)
    power = o.chosen_power(watts_busy, watts_idle, watts)
    digest = Digest(log)
    engine = Ahead(lambda: o.load_engine(chosen, rate), reader_is_loaded)
    clock = [time.perf_counter()]
    jobs = o.read_jobs(log, log_format, columns=columns, strict=strict, width=width)
    size = o.machine_size(jobs, procs)
    jobs = o.cleaned(jobs, size, o.chosen_rules(rules, keep_zero), strict=strict)
    if format != "swf":
        jobs = jobs.only(o.SIMULATED)
    clock.append(time.perf_counter())
    engine.wait()

    from ..cluster import Cluster
    from ..simulation import simulate as run
    from ._progress import progress

    writers = Ahead(lambda: o.load_writers(files=out is not None, tables=not json))
    with progress(policy) as report:
        result = run(
            jobs,
            Cluster.homogeneous(size, power=power),
            chosen,
            rate=rate,
            progress=report,
            estimates=o.number_or_text(estimates),
            over_limit=over_limit,
            passes=passes,
            reference_rate=reference_rate,
            record=trajectory and out is not None,
            seed=seed,
            clean=(),
        )
    clock.append(time.perf_counter())
    writers.wait()

    origin = provenance("simulate", given, seed) | {
        "input": {"path": str(log), "sha256": digest.hexdigest(), "jobs": jobs.report.read},
        "seconds": {"read": clock[1] - clock[0], "simulate": clock[2] - clock[1]},
    }
    if out is None:
        told = {**result.summary, "provenance": origin}
    else:
        extras = overview_of(result) if plots else {}
        told = write_run(
            result, out, format=format, trajectory=trajectory, extras=extras, origin=origin
        )
    if json:
        print(as_json(told))
        return
    from ._tables import show_summary

    show_summary(told, out)
