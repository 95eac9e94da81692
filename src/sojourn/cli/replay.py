"""``sojourn replay``: a log or stream through the model of its own manager."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError, plural
from ._options import AsJson, Chosen, option, takes
from ._results import as_file, hand_over
from ._run import progress
from .adequacy import drawn_streams, waits_of

if TYPE_CHECKING:
    from ..adequacy import Replay


@takes("delimiter", "timezone", "wait_from")
def replay(
    chosen: Chosen,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="sacct -P, jobcomp or SWF, which the model is compared with; or a stream, CSV "
            "with id, submit, nodes, run, limit_min.",
        ),
    ],
    slurm_conf: Annotated[Path, option("FILE", "The manager's slurm.conf.", flag="--slurm-conf")],
    nodes: Annotated[
        int | None,
        option("N", "Equal nodes with one job each, in place of those of the slurm.conf.", min=1),
    ] = None,
    requests: Annotated[
        Path | None,
        option(
            "FILE",
            "Submit commands or a stream with what the log does not record: features, memory, "
            "GPUs.",
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "Another value of a scheduler parameter or a line of the slurm.conf; may be repeated.",
            flag="--set",
        ),
    ] = None,
    calibrate: Annotated[
        Path | None,
        option(
            "RUN.csv",
            "Another run of the manager, as sojourn virtual run writes it, that shows how "
            "fast its controller is.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        option(
            "K",
            "Runs of the model whose loops begin at other moments; the most typical is "
            "reported, with the mean times of those that agree. Default: 16, fewer for more than "
            "4,000 jobs.",
            min=1,
        ),
    ] = None,
    format: Annotated[str | None, option("NAME", "stream, events, sacct, jobcomp or swf.")] = None,
    columns: Annotated[
        str | None, option("NAME,...", "Names of the columns of sacct -n.", "Jobs")
    ] = None,
    seed: Annotated[int, option("S", "Of random overheads.", min=0)] = 0,
    out: Annotated[Path | None, option("DIR", "Folder for jobs, numbers and pictures.")] = None,
    json: AsJson = False,
) -> None:
    """Model what Slurm would do with the jobs of a log, and measure how near that comes.

    Example: sojourn replay sacct.txt --slurm-conf /etc/slurm/slurm.conf --out DIR
    """
    from ..adequacy import CALIBRATED
    from ..adequacy import calibrate as measure
    from ..adequacy import replay as run
    from ..run.folder import check_folder, write_rows

    if out is not None:
        check_folder(out)
    changes: dict[str, str] = {}
    for text in change or []:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise OptionError(f"--set '{text}': write --set NAME=VALUE")
        changes[name.strip()] = value.strip()
    with progress("modelling") as report:
        done = run(
            log,
            slurm_conf,
            nodes=nodes,
            complement=requests,
            changes=changes,
            calibration=CALIBRATED if calibrate is None else measure(calibrate),
            members=members,
            format=format,
            seed=seed,
            progress=report,
            columns=None if columns is None else [name.strip() for name in columns.split(",")],
            **chosen.options,
        )
    numbers = done.as_dict()
    if done.adequacy is not None:
        numbers["waits"] = waits_of(done.adequacy)
    files: dict[str, Any] = {
        "jobs.csv": lambda path: write_rows(path, done.rows()),
        "replay.json": as_file(numbers),
        **({} if done.adequacy is None else drawn_streams(done.adequacy, None)),
    }
    listed = {**numbers, "files": [] if out is None else list(files)}
    hand_over(listed, lambda: _show(done, numbers), files, json=json, out=out)
    if out is not None and done.adequacy is None and not json:
        print(f"Try: sojourn adequacy REAL.csv {out / 'jobs.csv'}")


def _show(done: Replay, numbers: dict[str, Any]) -> None:
    from ..report.text import Terminal, as_number, as_seconds
    from ..report.text.adequacy import P_IN_WORDS, show_waits

    compared = done.adequacy
    console = Terminal()
    share = 100 * numbers["by_backfill"] / max(numbers["jobs"], 1)
    rows = [
        ("jobs", f"{numbers['jobs']:,}; {share:.0f} % started by the backfill loop"),
        (
            "mean wait",
            f"jobs would wait {as_seconds(numbers['wait_mean'])}"
            if numbers["wait_mean"] is not None
            else "-",
        ),
    ]
    if done.members > 1:
        rows.append(
            ("P, model", f"{as_seconds(done.itself)} between runs of the model that begin at "
             f"other moments of its loops ({done.members} runs, median)")
        )  # fmt: skip
    if compared is not None:
        low, high = compared.interval
        rows += [
            ("P, log", f"{as_seconds(compared.P)} between model and log; 95 % interval "
             f"{as_number(low)} to {as_number(high)} s, over {plural(compared.n, 'job')}"),
            ("relative", f"{100 * compared.relative:.3g} % of the mean time in the system"),
            ("within 60 s", f"{100 * done.near:.1f} % of the jobs"),
            ("median", f"{as_seconds(compared.median_abs)}, of the absolute differences")
        ]  # fmt: skip
    for why, labels in numbers["refused_why"].items():
        shown = ", ".join(labels[:5]) + (", ..." if len(labels) > 5 else "")
        who = f"{len(labels):,} jobs {why}"
        if len(labels) == 1:
            who = f"1 job {why}".replace(" that ask ", " that asks ")
        rows.append(("refused", f"{who}: {shown}"))
    console.facts(rows)
    if done.members > 1 or compared is not None:
        console.print(f"P: {P_IN_WORDS}", style="dim")
    if compared is not None:
        console.print()
        show_waits(console, numbers["waits"], compared.n)
    for head, lines in (("not modelled", done.not_modelled), ("the log", done.requests.said)):
        if lines:
            print(f"\n{head}:")
            for line in lines:
                print(f"- {line}")
