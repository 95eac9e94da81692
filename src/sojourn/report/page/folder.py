"""Runs, comparisons and studies as they are on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ...files.staging import interrupted
from ...measures import formulas
from ...run.result import WHO
from .shape import (
    COMPARISON,
    FRONT,
    STUDY,
    SUMMARY,
    Shape,
    check_document,
    check_jobs,
    check_nodes,
    check_own,
    check_runs,
    check_schedule,
    check_trajectory,
)
from .subjects import Columns, ComparisonFolder, RunFolder, StudyFolder

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_SUMMARY, _STUDY, _RUNS, _COMPARE = "summary.json", "study.json", "runs", "compare.json"
_PARTS = "part-*.parquet"


def read_folder(folder: str | os.PathLike[str]) -> RunFolder | ComparisonFolder | StudyFolder:
    """Read what a folder holds: a study, a run, or several runs in folders of their own."""
    path = Path(folder)
    if not path.is_dir():
        raise OptionError(f"{folder}: no such folder; give one that sweep, run or compare wrote")
    _check_whole(path)
    if (path / _STUDY).is_file() or any((path / _RUNS).glob(_PARTS)):
        return _read_study(path)
    if (path / _SUMMARY).is_file():
        return read_run(path)
    facts = _read_json(path / _COMPARE, COMPARISON)
    names = list(facts.get("folders") or [])
    listed = bool(names)
    if not listed:
        names = sorted(part.parent.name for part in path.glob(f"*/{_SUMMARY}"))
    if not names:
        if interrupted(path):
            raise OptionError(f"{folder}: the run for this folder was interrupted; run it again")
        raise OptionError(
            f"{folder}: neither a study nor a run (no {_STUDY}, {_RUNS} or {_SUMMARY}); "
            "give a folder that sweep, run, simulate or compare wrote"
        )
    runs = tuple(read_run(path / name, name) for name in names)
    if not listed:
        _check_alike(path, runs)
    return ComparisonFolder(path, runs, facts) if len(runs) > 1 else runs[0]


def _check_whole(folder: Path) -> None:
    """Raise OptionError for a folder of which a killed process has replaced a part."""
    if interrupted(folder) == "placing":
        raise OptionError(
            f"{folder}: was interrupted while results were put in place, and holds only a part of "
            "them; run it again"
        )


def _check_alike(folder: Path, runs: Sequence[RunFolder]) -> None:
    """Raise OptionError for runs that happen to be in one folder, but not of the same jobs."""
    first, *others = runs
    for run in others:
        what = _unlike(first, run)
        if what:
            raise OptionError(
                f"{folder}: {first.name} and {run.name} cannot be compared, they differ in {what}; "
                "report on each of them alone"
            )


def _unlike(one: RunFolder, other: RunFolder) -> str:
    """What two runs differ in that a comparison must share; nothing where it is all the same."""
    origins = [run.summary.get("provenance", {}) for run in (one, other)]
    logs, clusters = (
        [origin.get(name, {}).get("sha256") for origin in origins] for name in ("input", "cluster")
    )
    sizes = [int(run.summary.get("jobs", run.jobs["job"].size)) for run in (one, other)]
    if all(logs) and logs[0] != logs[1]:
        return "their logs (by SHA-256)"
    if sizes[0] != sizes[1]:
        return f"their jobs ({sizes[0]:,} and {sizes[1]:,})"
    if not all(logs) and not _same_submits(one, other):
        return "when their jobs were submitted"
    if one.procs != other.procs:
        return f"their processors ({one.procs:,} and {other.procs:,})"
    if clusters[0] != clusters[1] or one.summary.get("nodes") != other.summary.get("nodes"):
        return "their clusters"
    return ""


def _same_submits(one: RunFolder, other: RunFolder) -> bool:
    """Whether jobs came at the same times, to the second that all job tables keep."""
    here, there = (np.asarray(run.jobs["submit"], np.float64) for run in (one, other))
    return here.shape == there.shape and bool(np.all(np.abs(here - there) <= 1.0))


def read_run(folder: Path, name: str | None = None) -> RunFolder:
    """Read one run; its name defaults to its policy."""
    _check_whole(folder)
    if not (folder / _SUMMARY).is_file():
        raise OptionError(f"{folder / _SUMMARY}: no such file; run it again")
    summary = _read_json(folder / _SUMMARY, SUMMARY)
    check_own(folder / _SUMMARY, summary)
    path = _table_path(folder, "jobs")
    if path is None and (folder / "jobs.swf").is_file():
        path = folder / "jobs.swf"
    if path is None:
        raise OptionError(f"{folder}: no job table (jobs.parquet, .csv or .swf); run it again")
    jobs = _read_log(path) if path.suffix == ".swf" else _read_table(path)
    check_jobs(path, jobs, summary)
    tables = {"jobs": jobs}
    for table in ("trajectory", "nodes", "schedule"):
        path = _table_path(folder, table)
        if path is not None:
            tables[table] = columns = _read_table(path)
            if table == "trajectory":
                check_trajectory(path, columns)
            elif table == "nodes":
                check_nodes(path, columns, int(summary["procs"]))
            else:
                check_schedule(path, columns, jobs, tables.get("nodes"))
    return RunFolder(name if name is not None else summary["policy"], folder, summary, **tables)


def _read_log(log: Path) -> Columns:
    from ...jobs import read_swf

    jobs = read_swf(log)
    ran = jobs.wait >= 0
    wait = np.where(ran, jobs.wait, np.nan)
    service = np.where(ran, jobs.runtime, np.nan)
    return {
        "job": jobs.job,
        "submit": jobs.submit,
        "start": jobs.submit + wait,
        "end": jobs.submit + wait + service,
        "wait": wait,
        "service": service,
        "slowdown": formulas.slowdown(wait + service, service),
        "bounded_slowdown": formulas.bounded_slowdown(wait + service, service),
        "procs": jobs.procs,
        **{name: jobs.labels(name) for name in WHO if name in jobs.names},
    }


def _table_path(folder: Path, stem: str) -> Path | None:
    """Return where a table of a run is; None if it is not there."""
    paths = (folder / f"{stem}.{suffix}" for suffix in ("parquet", "csv"))
    return next((path for path in paths if path.is_file()), None)


def _read_table(path: Path) -> Columns:
    """Return the columns of a table of a run."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    try:
        with open(path, "rb") as file:
            if path.suffix == ".parquet":
                table = pq.ParquetFile(file).read()
            else:
                # A user may be called 7, or nan.
                texts = pc.ConvertOptions(column_types=dict.fromkeys(WHO, pa.string()))
                table = pc.read_csv(file, convert_options=texts)
        names = table.column_names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise OptionError(f"{path}, column '{twice}': is there twice; run it again")
        return {name: _as_array(table[name]) for name in names}
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise OptionError(f"{path}: cannot be read ({reason}); run it again") from None


def _as_array(column: pa.ChunkedArray) -> NDArray[Any]:
    import pyarrow as pa

    # Of a column of empty fields a reader cannot know that they are numbers.
    known = column.cast(pa.float64()) if pa.types.is_null(column.type) else column
    return np.asarray(known.to_numpy())


def _read_study(folder: Path) -> StudyFolder:
    import pandas as pd

    from ...study.rows import ABOUT
    from ...study.store import read_runs

    facts = _read_json(folder / _STUDY, STUDY)
    table = read_runs(folder)
    check_runs(folder / _RUNS, table)
    runs: pd.DataFrame = table.to_pandas()
    names = [str(name) for name in runs.columns]
    keys = tuple(key for key in facts.get("keys") or () if key in names)
    if not keys:
        # Without word of them: what stands between the name of a run and its replication.
        keys = tuple(names[names.index("run_id") + 1 : names.index("replication")])
    measures = tuple(
        name
        for name in names
        if name not in (*ABOUT, *keys) and pd.api.types.is_numeric_dtype(runs[name])
    )
    return StudyFolder(
        folder,
        runs,
        keys,
        measures,
        facts,
        _read_text(folder / "scenario.toml"),
        _read_json(folder / "front.json", FRONT),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise OptionError(f"{path}: cannot be read ({error.strerror}); run it again") from None


def _read_json(path: Path, shape: Shape) -> dict[str, Any]:
    """Return a document, which has a shape; an empty one if it is not there."""
    if not path.is_file():
        return {}
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"{path}: cannot be read as JSON ({reason}); run it again") from None
    if not isinstance(document, dict):
        raise OptionError(f"{path}: is not an object of JSON; run it again")
    check_document(path, document, shape)
    return document
