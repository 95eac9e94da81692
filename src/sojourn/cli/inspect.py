"""``sojourn inspect``: what a log holds."""

from __future__ import annotations

import typer

from . import _options as o
from ._machine import say_size


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(name="inspect")(inspect)


def inspect(
    log: o.Log,
    procs: o.Procs = None,
    json: o.AsJson = False,
    strict: o.Strict = False,
    width: o.Width = None,
    log_format: o.LogFormat = None,
    columns: o.Columns = None,
) -> None:
    """Describe a log: header, cleaning, span, load, distributions, users, estimates, day.

    The load is that offered to a machine of P processors, or of MaxProcs of the log's header.

    Example: sojourn inspect log.swf.gz --procs 128
    """
    from ..output import as_json
    from ..workload import STANDARD
    from ..workload.facts import facts
    from ..workload.intake import cleaned

    jobs = o.read_jobs(log, log_format, columns=columns, strict=strict, width=width)
    size = procs if procs is not None else jobs.max_procs
    say_size(jobs, procs)
    left = cleaned(jobs, size, STANDARD, strict=strict)
    told = {**facts(left, size), "cleaning": left.report.as_dict()}
    if json:
        print(as_json(told))
        return
    from ._tables import show_facts

    show_facts(told)
