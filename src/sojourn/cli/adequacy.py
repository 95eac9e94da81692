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
    from ..adequacy import Adequacy

_STREAM = "SWF, sacct -P, jobcomp, PBS accounting, jobs.parquet, or CSV with id, submit, start, end"


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
    from ..report.text.adequacy import show_adequacy
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
    show = partial(show_adequacy, measured, ideal, verdict, numbers)
    hand_over(numbers, show, files, json=json, out=out)


def waits_of(measured: Adequacy) -> dict[str, Any]:
    """Return the distributions of real and modelled waits (s) of the same jobs."""
    from ..measures import formulas

    pair = measured.pair
    return {
        name: formulas.describe(stream.start - stream.submit)
        for name, stream in (("real", pair.real), ("model", pair.model))
    }


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
