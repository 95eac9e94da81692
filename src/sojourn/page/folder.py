"""Runs, comparisons and studies as they are on disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import measures
from ..errors import OptionError
from .subjects import Columns, Comparison, Run, Study

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_folder", "read_run"]

_SUMMARY, _STUDY, _RUNS, _COMPARE = "summary.json", "study.json", "runs", "compare.json"
_NEEDED = ("job", "submit", "start", "end", "wait", "procs", "bounded_slowdown")
_BESIDE = ("run_id", "replication", "seed", "status", "error")


def read_folder(folder: str | os.PathLike[str]) -> Run | Comparison | Study:
    """Read what a folder holds: a study, a run, or several runs in folders of their own.

    Raises
    ------
    OptionError
        When it holds none of them, or files that cannot be read.
    """
    path = Path(folder)
    if not path.is_dir():
        raise OptionError(f"{folder}: no such folder; give one that sweep, run or compare wrote")
    if (path / _STUDY).is_file() or (path / _RUNS).is_dir():
        return _read_study(path)
    if (path / _SUMMARY).is_file():
        return read_run(path)
    facts = _read_json(path / _COMPARE) if (path / _COMPARE).is_file() else {}
    names = [str(name) for name in facts.get("folders", [])]
    if not names:
        names = sorted(part.parent.name for part in path.glob(f"*/{_SUMMARY}"))
    if not names:
        raise OptionError(
            f"{folder}: neither a study nor a run (no {_STUDY}, {_RUNS} or {_SUMMARY}); "
            "give a folder that sweep, run, simulate or compare wrote"
        )
    runs = tuple(read_run(path / name, name) for name in names)
    return Comparison(path, runs, facts) if len(runs) > 1 else runs[0]


def read_run(folder: Path, name: str | None = None) -> Run:
    """Read one run; its name defaults to its policy."""
    summary = _read_json(folder / _SUMMARY)
    for key in ("procs", "policy", "wait"):
        if key not in summary:
            raise OptionError(f"{folder / _SUMMARY}, field '{key}': is missing; run it again")
    jobs = _read_jobs(folder)
    missing = [column for column in _NEEDED if column not in jobs]
    if missing:
        raise OptionError(f"{folder}: the job table has no column '{missing[0]}'; run it again")
    return Run(
        name if name is not None else str(summary["policy"]),
        folder,
        summary,
        jobs,
        _read_table(folder, "trajectory"),
        _read_table(folder, "schedule"),
        _read_table(folder, "nodes"),
    )


def _read_jobs(folder: Path) -> Columns:
    found = _read_table(folder, "jobs")
    if found is not None:
        return found
    log = folder / "jobs.swf"
    if not log.is_file():
        raise OptionError(f"{folder}: no job table (jobs.parquet, .csv or .swf); run it again")
    from ..workload import read_swf

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
        "slowdown": measures.slowdown(wait + service, service),
        "bounded_slowdown": measures.bounded_slowdown(wait + service, service),
        "procs": jobs.procs,
        "user": jobs.user,
    }


def _read_table(folder: Path, stem: str) -> Columns | None:
    """Return the columns of a table of a run; None if it is not there."""
    for suffix in ("parquet", "csv"):
        path = folder / f"{stem}.{suffix}"
        if not path.is_file():
            continue
        import pyarrow as pa

        try:
            if suffix == "parquet":
                import pyarrow.parquet as pq

                table = pq.read_table(path)
            else:
                import pyarrow.csv as pc

                table = pc.read_csv(path)
        except (OSError, pa.ArrowException) as error:
            reason = " ".join(str(error).split())
            raise OptionError(f"{path}: cannot be read ({reason}); run it again") from None
        return {name: np.asarray(table[name].to_numpy()) for name in table.column_names}
    return None


def _read_study(folder: Path) -> Study:
    import pandas as pd

    from ..study.store import read_runs

    facts = _read_json(folder / _STUDY) if (folder / _STUDY).is_file() else {}
    runs: pd.DataFrame = read_runs(folder).to_pandas()
    missing = [name for name in ("run_id", "replication", "status") if name not in runs]
    if missing:
        raise OptionError(f"{folder / _RUNS}: no column '{missing[0]}'; run the study again")
    names = [str(name) for name in runs.columns]
    keys = tuple(str(key) for key in facts.get("keys", ()) if str(key) in names)
    if not keys:
        # Without word of them: what stands between the name of a run and its replication.
        keys = tuple(names[names.index("run_id") + 1 : names.index("replication")])
    measures = tuple(
        name
        for name in names
        if name not in (*_BESIDE, *keys) and pd.api.types.is_numeric_dtype(runs[name])
    )
    return Study(
        folder,
        runs,
        keys,
        measures,
        facts,
        _read_text(folder / "scenario.toml"),
        _read_json(folder / "front.json") if (folder / "front.json").is_file() else {},
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"{path}: cannot be read as JSON ({reason}); run it again") from None
    if not isinstance(found, dict):
        raise OptionError(f"{path}: is not an object of JSON; run it again")
    return found
