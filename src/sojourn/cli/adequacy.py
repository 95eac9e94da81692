"""``sojourn adequacy``: how far a model is from what it models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError
from ._options import AsJson, Chosen, option, takes
from ._results import as_file, hand_over, picture

if TYPE_CHECKING:
    from ..adequacy import Adequacy, Reference, Verdict

_STREAM = "SWF, sacct -P, jobcomp, PBS accounting, jobs.parquet, or CSV with id, submit, start, end"
_CLASSES_SHOWN = 12
_WORST_SHOWN = 5
P_IN_WORDS = "the root mean square difference of times in the system"


@takes("delimiter", "timezone", "wait_from")
def adequacy(
    chosen: Chosen,
    real: Annotated[
        Path, typer.Argument(metavar="REAL", help=f"What the real system did: {_STREAM}.")
    ],
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="What the model did, in any of these formats.")
    ],
    *,
    reference: Annotated[
        list[Path] | None,
        option(
            "REPEAT",
            "A repetition of REAL by the real system; may be repeated. P between REAL and "
            "its repetitions is the reference value.",
            "Verdict",
        ),
    ] = None,
    maximum: Annotated[
        float | None,
        option(
            "P",
            "Largest P (s) of an adequate model; default: the reference value.",
            "Verdict",
            flag="--max",
        ),
    ] = None,
    within: Annotated[
        float, option("SECONDS", "Waits that differ by no more count as equal.", "Comparison")
    ] = 0.0,
    submit_tolerance: Annotated[
        float | None,
        option(
            "SECONDS",
            "By how much submits may differ; default: 0 for whole seconds, 1 where a clock "
            "has fractions.",
            "Comparison",
        ),
    ] = None,
    match: Annotated[
        str,
        option(
            "auto|id|order",
            "Jobs are matched by their names, or in the order of submission.",
            "Comparison",
        ),
    ] = "auto",
    leave_out_unstarted: Annotated[
        bool,
        typer.Option(
            "--leave-out-unstarted",
            help="Leave out jobs that started in one stream only or have not ended, instead of "
            "failing.",
            rich_help_panel="Comparison",
        ),
    ] = False,
    common: Annotated[
        bool,
        typer.Option(
            "--common",
            help="Leave out jobs that are in one stream only, instead of failing.",
            rich_help_panel="Comparison",
        ),
    ] = False,
    nodes: Annotated[
        int | None,
        option(
            "N",
            "Nodes of the machine; default: the most that were busy at once.",
            "Comparison",
            min=1,
        ),
    ] = None,
    seed: Annotated[
        int, option("S", "Seed of the draws for the interval.", "Comparison", min=0)
    ] = 0,
    real_format: Annotated[
        str | None,
        option(
            "NAME",
            "Format of REAL and its repetitions where the file does not show it: swf, sacct, "
            "jobcomp, pbs, parquet or csv.",
            "Files",
        ),
    ] = None,
    model_format: Annotated[str | None, option("NAME", "Format of MODEL.", "Files")] = None,
    columns: Annotated[
        str | None,
        option(
            "OURS=THEIRS,...",
            "Columns of CSV and Parquet tables, such as start=start_ms,end=end_ms; names of "
            "the columns of sacct -n.",
            "Files",
        ),
    ] = None,
    out: Annotated[Path | None, option("DIR", "Folder for pictures and numbers.", "Files")] = None,
    json: AsJson = False,
) -> None:
    """Compare what a model did with what the real system did, job by job.

    P is the root mean square difference of the times that jobs spent in the system. It is defined
    for streams of the same jobs only: anything else is an error that names the first job to blame.

    Example: sojourn adequacy real.csv model.csv --reference again.csv --out DIR
    """
    from ..adequacy import compare_streams, judge, read_stream, reference_value
    from ..jobs.log import ACCOUNTING, format_of
    from ..run.folder import check_folder

    if out is not None:
        check_folder(out)
    if match not in ("auto", "id", "order"):
        raise OptionError(f"--match {match}: choose auto, id or order")

    given = chosen.options
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]

    def is_of_manager(path: Path, format: str | None) -> bool:
        return (format or format_of(path)) in ACCOUNTING

    if named and not (is_of_manager(real, real_format) or is_of_manager(model, model_format)):
        raise OptionError(f"{named[0]}: neither file is of {', '.join(ACCOUNTING)}; leave it out")

    def read(path: Path, format: str | None) -> Any:
        options = given if is_of_manager(path, format) else {}
        return read_stream(path, format=format, columns=_columns(columns), **options)

    truth = read(real, real_format)
    options: dict[str, Any] = {
        "within": within,
        "submit_tolerance": submit_tolerance,
        "match": match,
        "unstarted": "leave-out" if leave_out_unstarted else "error",
        "common": common,
        "nodes": nodes,
        "seed": seed,
    }
    measured = compare_streams(truth, read(model, model_format), **options)
    repeats = [read(path, real_format) for path in reference or []]
    ideal = reference_value([truth, *repeats], **options) if repeats else None
    verdict = judge(measured, ideal, maximum)
    numbers: dict[str, Any] = {
        **measured.as_dict(),
        "reference": None if ideal is None else ideal.as_dict(),
        "verdict": verdict.as_dict(),
        "waits": waits_of(measured),
    }
    limit = verdict.limit if verdict.adequate is not None else None
    files = {**drawn_streams(measured, limit), "adequacy.json": as_file(numbers)}
    show = partial(_show, measured, ideal, verdict, numbers)
    hand_over(numbers, show, files, json=json, out=out)


def waits_of(measured: Adequacy) -> dict[str, Any]:
    """Return the distributions of real and modelled waits (s) of the same jobs."""
    from ..measures import formulas

    pair = measured.pair
    return {
        name: formulas.describe(stream.start - stream.submit)
        for name, stream in (("real", pair.real), ("model", pair.model))
    }


def show_waits(console: Any, waits: dict[str, Any], jobs: int) -> None:
    """Print real and modelled waits side by side."""
    from ..report.text import as_number, new_table

    names = ("mean", "median", "95 %")
    table = new_table(f"waits of the same {jobs:,} jobs", *(f"{name} (s)" for name in names))
    for label, key in (("real: they waited", "real"), ("model: they would wait", "model")):
        table.add_row(label, *(as_number(waits[key][name]) for name in ("mean", "median", "p95")))
    console.print(table)


def _columns(text: str | None) -> dict[str, str] | list[str] | None:
    if text is None:
        return None
    from ..run.keys.typed import columns

    try:
        return columns(text)
    except ValueError as error:
        raise OptionError(f"--columns {error}") from None


def drawn_streams(measured: Adequacy, limit: float | None) -> dict[str, Callable[[Path], object]]:
    """Return what draws both streams, and their differences, by the names of the pictures."""
    from ..report.figures.adequacy import stream_differences, stream_pair

    pair, divergence = measured.pair, measured.divergence
    begin = float(pair.real.submit[0])
    tables = {
        name: {
            "submit": stream.submit - begin,
            "start": stream.start - begin,
            "end": stream.end - begin,
            "procs": pair.width,
        }
        for name, stream in (("real", pair.real), ("model", pair.model))
    }
    moments = {}
    capacity = 1
    if divergence is not None:
        capacity = divergence.capacity
        moments = {"real": divergence.real.time - begin, "model": divergence.model.time - begin}
    submit, gaps = tables["real"]["submit"], measured.differences
    return {
        "streams.png": picture(
            lambda: stream_pair(tables, capacity, within=measured.within, moments=moments)
        ),
        "differences.png": picture(lambda: stream_differences(submit, gaps, limit=limit)),
    }


def _show(
    measured: Adequacy, ideal: Reference | None, verdict: Verdict, numbers: dict[str, Any]
) -> None:

    from ..report.text import Terminal, as_number, as_seconds, new_table

    console = Terminal()
    heads = {True: "adequate", False: "not adequate", None: "no verdict"}
    style = {True: "bold green", False: "bold red", None: "bold"}[verdict.adequate]
    console.print(f"{heads[verdict.adequate]}: {verdict.because}", style=style, soft_wrap=True)
    console.print()
    low, high = measured.interval
    share = 100 * measured.different / measured.n
    rows = [
        ("P", f"{as_seconds(measured.P)}, {P_IN_WORDS}; 95 % interval {as_number(low)} to "
         f"{as_number(high)} s"),
        ("relative", f"{100 * measured.relative:.3g} % of the mean time in the system"
         f" {as_seconds(numbers['mean_residence'])}"),
        ("median", f"{as_seconds(measured.median_abs)}, of the absolute differences of times in "
         "the system"),
        ("different", f"{measured.different:,} of {measured.n:,} jobs ({share:.1f} %) would wait"
         f" another time; {measured.half:,} of them make half of P squared")
    ]  # fmt: skip
    if ideal is not None:
        values = ", ".join(f"{value:.4g}" for _, _, value in ideal.pairs)
        rows.append(("P_ideal", f"{as_seconds(ideal.ideal)}, P between the real system and its own "
                     f"repetitions (of pairs: {values} s)"))  # fmt: skip
    if measured.pair.matched == "order":
        rows.append(("matched", "in the order of submission: the jobs' names differ"))
    if measured.pair.shift:
        rows.append(("clocks", "count from different zeros: set to each other"))
    if measured.pair.unstarted.size:
        rows.append(
            ("left out", f"{measured.pair.unstarted.size:,} jobs that never started or ended")
        )
    if measured.pair.alone.size:
        rows.append(("left out", f"{measured.pair.alone.size:,} jobs that are in one stream only"))
    console.facts(rows)
    console.print()
    show_waits(console, numbers["waits"], measured.n)
    console.print()
    table = new_table("the first so many jobs", "P (s)", "different jobs")
    for prefix in measured.prefixes:
        table.add_row(f"{prefix.n:,}", as_number(prefix.P), f"{prefix.different:,}")
    console.print(table)
    if measured.classes:
        console.print()
        table = new_table("class", "", "jobs", "P (s)", "different", "mean time in system (s)")
        for row in measured.classes[:_CLASSES_SHOWN]:
            table.add_row(row.by, row.name, f"{row.n:,}", as_number(row.P),
                          f"{row.different:,}", as_number(row.residence))  # fmt: skip
        console.print(table)
        if len(measured.classes) > _CLASSES_SHOWN:
            left = len(measured.classes) - _CLASSES_SHOWN
            console.note(f"and {left:,} more classes (--json)")
    worst = numbers["worst"][:_WORST_SHOWN]
    if worst:
        console.print()
        resource = measured.pair.resource
        table = new_table("jobs that differ most", resource, "wait, real (s)", "wait, model (s)",
                          "difference (s)", "of P squared")  # fmt: skip
        for job in worst:
            table.add_row(job["job"], f"{job[resource]:,}", as_number(job["wait_real"]),
                          as_number(job["wait_model"]), _signed(job["difference"]),
                          f"{100 * job['share']:.1f} %")  # fmt: skip
        console.print(table)
    if measured.divergence is not None:
        console.print()
        _show_divergence(console, measured)


def _show_divergence(console: Any, measured: Adequacy) -> None:

    from ..report.text import as_number, new_table

    divergence = measured.divergence
    assert divergence is not None
    what = "other job" if divergence.kind == "order" else "same job, other time"
    console.print(f"first divergence: start number {divergence.decision:,}, {what}",
                       style="bold")  # fmt: skip
    table = new_table("", "real", "model")
    sides = (divergence.real, divergence.model)
    resource = measured.pair.resource
    table.add_row("time (s)", *(as_number(side.time, 12) for side in sides))
    table.add_row("starts job", *(f"{side.job} ({side.width:,} {resource})" for side in sides))
    if divergence.kind == "order":
        table.add_row("other's job at", *(as_number(side.other_start, 12) for side in sides))
    table.add_row("starts together", *(_few(side.started) for side in sides))
    table.add_row(f"free {resource}", *(f"{side.free:,} of {divergence.capacity:,}"
                                        for side in sides))  # fmt: skip
    table.add_row("running", *(f"{side.running:,} jobs" for side in sides))
    table.add_row("waiting", *(f"{side.queued:,} jobs" for side in sides))
    table.add_row("queue", *(_few([f"{job}({width})" for job, width in side.queue])
                             for side in sides))  # fmt: skip
    console.print(table)


def _few(names: Any, most: int = 4) -> str:
    shown = " ".join(names[:most])
    return f"{shown} ..." if len(names) > most else shown


def _signed(value: float) -> str:
    from ..report.text import as_number

    return f"+{as_number(value)}" if value > 0 else as_number(value)
