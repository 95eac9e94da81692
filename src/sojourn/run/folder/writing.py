"""The files of a run."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...__about__ import __version__
from ...errors import OptionError
from ...files.access import check_outputs
from ...files.staging import Stage
from ..classes import class_rows
from .files import as_cell, as_json, provenance, put_rows, staged, write_table

if TYPE_CHECKING:
    from ..result import Result

FORMATS = ("parquet", "csv", "swf")
"""What the job table can be written as."""

_SUMMARY, _NODES, _DECISIONS = "summary.json", "nodes.csv", "decisions.log"
_CLASSES, _LEDGER = "classes.csv", "ledger.csv"
_OURS = {
    _SUMMARY,
    _NODES,
    _DECISIONS,
    _CLASSES,
    _LEDGER,
    "overview.png",
    "fragmentation.png",
    "node-states.png",
    "clean-hours.png",
    "power.png",
    *(f"{table}.{suffix}" for table in ("trajectory", "schedule") for suffix in ("parquet", "csv")),
    *(f"jobs.{suffix}" for suffix in FORMATS),
}

Write = Callable[[Path], object]
_Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def write_run(
    result: Result,
    folder: str | os.PathLike[str] | Stage,
    name: str = "",
    *,
    format: str = "parquet",
    trajectory: bool = True,
    by: Sequence[str] = (),
    extras: Mapping[str, Write] | None = None,
    origin: Mapping[str, Any] | None = None,
    measure: Callable[[], Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Write a run to a folder, all of it or nothing.

    A run on named nodes has the whole schedule and its nodes too, and its decisions if they were
    kept.

    Parameters
    ----------
    result : the run.
    folder : made if it is not there. A run that is there is replaced. Or a stage, as of `staged`,
        for a run that gets its place together with other files.
    name : of the run's folder within that one; empty: that folder itself.
    format : of the job table; with ``swf`` it is the log with the simulated waits in it.
    trajectory : write the trajectory too (like the schedule as CSV beside a job table in CSV, else
        as Parquet).
    by : classes of jobs, as `Result.by` takes them: their measures go to ``classes.csv``, and where
        energy is stated their ledgers to ``ledger.csv``; both into the summary.
    extras : further files by name, such as ``overview.png``, and what writes each to a path.
    origin : provenance to put into the summary, as from `provenance`.
    measure : returns the summary of the run, while its tables are written; default: as it is.

    Returns
    -------
    dict
        What was written as ``summary.json``.
    """
    if format not in FORMATS:
        raise OptionError(f"format '{format}' is unknown; choose {', '.join(FORMATS)}")
    within = f"{name}/" if name else ""
    with contextlib.nullcontext(folder) if isinstance(folder, Stage) else staged(folder) as stage:
        tables = _tables(result, format, trajectory)
        classes, ledgers = class_tables(result, by), ledger_tables(result, by)
        later = {**_texts(result, classes, ledgers), **(extras or {})}
        files = [*tables, *later, _SUMMARY]
        if result.cluster.is_named:
            # All of them need the energy bill, and some what was held: made once, before they go
            # different ways.
            result.power_steps  # noqa: B018
            if trajectory:
                result.fragmentation  # noqa: B018
        # Compression lets go of the interpreter lock: two tables and the summary at a time.
        with ThreadPoolExecutor(2) as pool:
            tasks = [pool.submit(write, stage(within + file)) for file, write in tables.items()]
            summary = {
                **(measure() if measure else result.summary),
                **({"classes": classes} if classes else {}),
                **({"ledger": ledgers} if ledgers else {}),
            }
            summary["provenance"] = {**(origin or provenance("", {})), "files": files}
            for task in tasks:
                task.result()
        for file, write in later.items():
            write(stage(within + file))
        for file in _files_of_former_run(stage.folder / name) - set(files):
            stage.remove(within + file)
        # Last: it gets its place when all that it speaks of is there.
        stage(within + _SUMMARY).write_text(as_json(summary) + "\n", encoding="utf-8")
        return summary


def class_tables(result: Result, by: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the measures of each class of jobs as rows, by what jobs are classed by."""
    return {name: class_rows(result.by(name)) for name in by}


def ledger_tables(result: Result, by: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the ledgers of a run as rows, by what they are by; none where no energy is stated.

    Whoever asks for some on a cluster of several partitions gets that by partition too.
    """
    if not by or not result.states_energy:
        return {}
    parts = ["partition"] if len(result.cluster.partitions) > 1 else []
    return {name: class_rows(result.ledger(name)) for name in dict.fromkeys([*by, *parts])}


def check_run(
    folder: str | os.PathLike[str],
    *,
    format: str,
    trajectory: bool,
    named: bool,
    classes: bool = False,
) -> None:
    """Raise OptionError, before the work is done, if a run would replace what the command reads.

    Parameters
    ----------
    folder, format, trajectory : as for `write_run`.
    named : whether it is a run on named nodes.
    classes : whether measures of classes of jobs are written.
    """
    files = {_SUMMARY, *_table_names(format, trajectory, named)}
    files |= {_NODES} if named else set()
    files |= {_CLASSES, _LEDGER} if classes else set()
    check_outputs(Path(folder) / file for file in files | _files_of_former_run(Path(folder)))


def _table_names(format: str, trajectory: bool, named: bool) -> list[str]:
    suffix = "csv" if format == "csv" else "parquet"
    names = [f"jobs.{format}"]
    names += [f"schedule.{suffix}"] if named else []
    return names + ([f"trajectory.{suffix}"] if trajectory else [])


def _tables(result: Result, format: str, trajectory: bool) -> dict[str, Write]:
    """The large tables of a run by name, and what writes each."""
    writers: dict[str, Write] = {
        "jobs": lambda path: _write_jobs(result, path, format),
        "schedule": lambda path: _write_schedule(result, path),
        "trajectory": lambda path: _write_trajectory(result, path),
    }
    names = _table_names(format, trajectory, result.cluster.is_named)
    return {name: writers[name.partition(".")[0]] for name in names}


def _texts(result: Result, classes: _Rows, ledgers: _Rows) -> dict[str, Write]:
    """The small tables and the texts of a run by name, and what writes each."""
    texts: dict[str, Write] = {}
    if result.cluster.is_named:
        texts[_NODES] = lambda path: _write_nodes(result, path)
    if result.options.decisions:
        texts[_DECISIONS] = lambda path: _write_lines(path, result.decisions.lines())
    for name, tables in ((_CLASSES, classes), (_LEDGER, ledgers)):
        if tables:
            rows = [{"by": by, **row} for by, part in tables.items() for row in part]
            texts[name] = partial(put_rows, rows=rows)
    return texts


def _write_nodes(result: Result, path: Path) -> None:
    texts = {name: result.nodes[name].map(as_cell) for name in ("node", "model")}
    result.nodes.assign(**texts).to_csv(path, index=False, lineterminator="\n")


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _files_of_former_run(folder: Path) -> set[str]:
    """Names of the files that a run left here, so that none of them outlives its summary."""
    try:
        summary = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
        return {name for name in summary["provenance"]["files"] if name in _OURS}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def _write_jobs(result: Result, path: Path, format: str) -> None:
    if format == "swf":
        from ...jobs import write_swf

        jobs, note = result.as_log(), f"waits simulated by sojourn {__version__}: {result.policy}"
        write_swf(jobs, path, header=[*jobs.header, f"; Note: {note}"])
        return
    write_table(path, len(result), result.job_columns, result.categories)


def _write_trajectory(result: Result, path: Path) -> None:
    write_table(path, result.instants, result.trajectory_columns, {})


def _write_schedule(result: Result, path: Path) -> None:
    columns = result.allocation_columns()
    names = {"node": [node.name for node in result.cluster.nodes]}

    def rows(first: int, last: int) -> Mapping[str, Any]:
        return {name: values[first:last] for name, values in columns.items()}

    write_table(path, len(columns["job"]), rows, names)
