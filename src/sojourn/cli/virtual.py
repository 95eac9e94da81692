"""``sojourn virtual``: a real Slurm with virtual nodes, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import plural
from ._options import AsJson, Command, VerbGroup, option
from ._results import print_json
from ._run import progress

if TYPE_CHECKING:
    from ..adequacy.virtual import Need, StreamRun

_INTERRUPTED = 130


virtual = typer.Typer(
    name="virtual",
    cls=VerbGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Run a stream of jobs on a real Slurm with virtual nodes.\n\n"
    "Example: sojourn virtual run stream.csv --nodes 16 --mode model --repeat 2 --out DIR",
)


@virtual.command(cls=Command)
def check(json: AsJson = False) -> None:
    """List what is missing on this machine, and what to install. Installs nothing.

    Example: sojourn virtual check
    """
    from ..adequacy.virtual import MODES, advice, missing_for, remarks, slurm_version
    from ..adequacy.virtual import check as examine

    needs = examine()
    missing = [need for need in needs if need.path is None and need.modes]
    ready = {mode: not missing_for(mode) for mode in MODES}
    if json:
        from dataclasses import asdict

        rows = {
            "ready": ready,
            "slurm": slurm_version(),
            "needs": [asdict(need) for need in needs],
            "install": advice(missing) if missing else None,
            "remarks": remarks(),
        }
        print_json(rows)
        return
    _show_needs(needs)
    print()
    for mode, good in ready.items():
        print(f"{mode} time: {'ready' if good else 'not possible here'}")
    for line in remarks():
        print(f"note: {line}")
    if missing:
        print(f"\n{advice(missing)}")


def _show_needs(needs: list[Need]) -> None:
    from ..report.text import Terminal, new_table

    table = new_table("program", "found", "for")
    for need in needs:
        where = need.path or ("missing" if need.modes else "not there (an extra)")
        table.add_row(need.name, where, need.purpose)
    for column in table.columns:
        column.justify = "left"
    Terminal().print(table)


@virtual.command(cls=Command)
def run(
    stream: Annotated[
        Path,
        typer.Argument(
            metavar="STREAM", help="Table with columns id, submit, nodes, run, limit_min."
        ),
    ],
    out: Annotated[Path, option("DIR", "Folder for the results.")],
    nodes: Annotated[int, option("N", "Virtual nodes.", min=1)] = 16,
    mode: Annotated[
        str,
        option(
            "real|model",
            "real: jobs sleep for as long as they run; model: time is moved on when nothing "
            "is under way.",
        ),
    ] = "real",
    conf: Annotated[
        Path | None,
        option(
            "FILE", "A slurm.conf whose scheduling lines are taken over; default: Slurm's defaults."
        ),
    ] = None,
    repeat: Annotated[int, option("R", "Repetitions.", min=1)] = 1,
    auth: Annotated[
        str,
        option(
            "none|munge",
            "none: any local user can submit jobs while it lasts, and they run as you; "
            "munge: a munge daemon of its own keeps others out.",
        ),
    ] = "none",
    json: AsJson = False,
) -> None:
    """Send a stream of jobs through a real Slurm, and write when each was started and ended.

    Everything is started on the loopback in a temporary folder, and stopped at the end, also after
    Ctrl-C. Each repetition is written when it has ended.

    Example: sojourn virtual run stream.csv --nodes 16 --conf slurm.conf --repeat 2 --out DIR
    """
    from ..adequacy.virtual import check_plan, read_scheduling, read_stream, run_stream
    from ..run.folder import check_folder

    jobs = read_stream(stream)
    scheduling = read_scheduling(conf)
    check_plan(jobs, nodes, mode, auth)
    check_folder(out)
    if not json:
        _warn(auth, scheduling.left)
    rows = []
    try:
        for k in range(1, repeat + 1):
            with progress(f"repetition {k} of {repeat}") as report:
                done = run_stream(
                    jobs, nodes, mode=mode, conf=scheduling, auth=auth, progress=report
                )
            files = _write(done, out, k)
            rows.append({"repetition": k, **done.as_dict(), "files": files})
            if not json:
                _show(done, files, k)
    except KeyboardInterrupt:
        if not rows:
            raise
        print(f"interrupted; {len(rows)} of {repeat} repetitions are in {out}")
        raise SystemExit(_INTERRUPTED) from None
    if json:
        print_json({"nodes": nodes, "left_aside": scheduling.left, "repetitions": rows})
    elif repeat > 1:
        print(f"\nTry: sojourn adequacy {out / 'run-1.csv'} {out / 'run-2.csv'}")


def _warn(auth: str, left: tuple[str, ...]) -> None:
    from ..adequacy.virtual import exposure

    if auth == "none":
        print(f"note: {exposure()}")
    if left:
        print(f"note: left aside of the slurm.conf: {', '.join(left)}")


def _write(done: StreamRun, out: Path, k: int) -> list[str]:
    from ..run.folder import as_json, staged, write_rows

    names = [f"run-{k}.csv", f"run-{k}.json", f"run-{k}.slurm.conf", f"run-{k}.slurmctld.log.gz"]
    with staged(out) as place:
        write_rows(place(names[0]), done.rows)
        place(names[1]).write_text(as_json(done.as_dict()) + "\n", encoding="utf-8")
        place(names[2]).write_text(done.conf, encoding="utf-8")
        place(names[3]).write_bytes(done.log)
    return names


def _show(done: StreamRun, files: list[str], k: int) -> None:
    from ..report.text import as_seconds

    waits = [row["start"] - row["submit"] for row in done.rows if row["start"] != ""]
    mean = sum(waits) / max(len(waits), 1)
    print(
        f"repetition {k}: {plural(len(done.rows), 'job')}, mean wait {as_seconds(mean)}, "
        f"{as_seconds(done.span)} in {as_seconds(done.seconds)} (x {done.speed:.0f}), {files[0]}"
    )
