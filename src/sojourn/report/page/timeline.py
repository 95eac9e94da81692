"""What a machine did over time, as the zooming chart of a page shows it.

The chart has a panel of servers (who ran where) and paths over time. The page keeps the finest
aggregates and chooses at every zoom what to show: see ``templates/timeline.js``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...cluster.power import states_energy
from ...engine.backfills import BACKFILLS, load_backfill
from ...errors import OptionError
from ...measures.entry import UNITS, Unit
from ...policy.policy import POLICIES
from ..figures.binning import Bins, Path
from ..figures.boxes import assign_servers
from ..figures.nodes import pieces_on_nodes
from ..figures.schedule import stretches_of
from ..figures.style import TimeAxis, duration
from ..figures.timeline import busy_path, queue_path
from .aggregate import Blocks, aggregate_blocks, aggregate_path
from .pack import Packer
from .subjects import Columns, RunFolder
from .words import percent

_BLOCKS = 150_000
_STEPS = 60_000
_CODES = 65534
_TICKS = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)
_STRANDED = 2  # panels at most
_LABELS = {"busy": "busy processors", "queued": "jobs waiting"}
"""Of the columns of a trajectory; others are called by their names."""
_KB = (Unit("GB", 2.0**20),)


def describe_timeline(runs: Sequence[RunFolder], packer: Packer) -> dict[str, Any]:
    """Return the chart of runs of the same jobs; what a page may hold is shared among them."""
    charts = [_blocks_of(run) for run in runs]
    paths = [paths_of(run) for run in runs]
    every = [path for columns in paths for path in columns.values()]
    first = min(float(path.time[0]) for path in every)
    last = max(float(path.time[-1]) for path in every)
    span = first, last if last > first else first + 1.0
    waits = np.concatenate([run.jobs["wait"] for run in runs])
    scale = _wait_scale(waits[waits > 0])
    drawn = [
        _describe_blocks(run, chart, span, scale, len(runs), packer)
        for run, chart in zip(runs, charts, strict=True)
    ]
    names = list(dict.fromkeys(name for columns in paths for name in columns))
    panels = [_describe_panel(name, paths, span, packer) for name in names]
    return {
        "kind": "timeline",
        "clock": _clock(runs, span),
        "span": span,
        "waits": scale,
        "runs": drawn,
        "panels": panels,
    }


def _clock(runs: Sequence[RunFolder], span: tuple[float, float]) -> dict[str, Any]:
    """How seconds become places on the axis: dates where the log has them."""
    unix = runs[0].unix_start
    if unix is not None:
        label = f"date ({runs[0].clock_name})"
        return {"type": "date", "scale": 1000.0, "offset": 1000.0 * unix, "label": label}
    clock = TimeAxis.spanning(*span)
    label = f"time ({clock.unit})"
    return {"type": "linear", "scale": 1 / clock.length, "offset": 0.0, "label": label}


def _wait_scale(positive: Floats) -> dict[str, Any]:
    """The colours of waits: from the shortest that matters to the longest, logarithmic."""
    high = max(float(positive.max(initial=1.0)), 10.0)
    low = min(max(float(positive.min(initial=high)), 1.0), high / 10)
    # Waits shorter than a minute look alike on a chart of hours.
    low = max(low, min(60.0, high / 10))
    ticks = [tick for tick in _TICKS if low <= tick <= high] or [low, high]
    return {"low": low, "high": high, "ticks": ticks, "labels": [duration(t) for t in ticks]}


def _blocks_of(run: RunFolder) -> Blocks | str:
    """What jobs held, or why that is not known."""
    if not np.isfinite(run.jobs["start"]).any():
        return "no job was served"
    if _is_preemptive(str(run.summary["policy"])):
        return "jobs were preempted, and a folder of a run does not hold their stretches of service"
    try:
        rows, start, end = stretches_of(run.jobs, run.schedule)
        if run.schedule is not None and run.nodes is not None:
            pieces = pieces_on_nodes(run.schedule, run.nodes)
        else:
            pieces = assign_servers(start, end, run.jobs["procs"][rows], run.procs)
    except OptionError as error:
        return str(error)
    at = rows[pieces.job]
    return Blocks(
        start[pieces.job],
        end[pieces.job],
        pieces.first,
        pieces.procs,
        np.asarray(run.jobs["job"])[at],
        np.asarray(run.jobs["wait"], dtype=np.float64)[at],
    )


def _is_preemptive(policy: str) -> bool:
    """Whether a policy, by its name, stops running jobs."""
    backfill = POLICIES.get(policy, policy).rpartition("+")[2]
    return backfill in BACKFILLS and load_backfill(backfill).preempts


def _describe_blocks(
    run: RunFolder,
    blocks: Blocks | str,
    span: tuple[float, float],
    scale: dict[str, Any],
    charts: int,
    packer: Packer,
) -> dict[str, Any]:
    chart: dict[str, Any] = {"name": run.name, "servers": run.procs, "nodes": _node_edges(run)}
    if isinstance(blocks, str):
        return chart | {"missing": f"No chart of servers: {blocks}."}
    most = _BLOCKS // charts
    cells, kept, held = aggregate_blocks(blocks, span, run.procs, most, charts=charts)
    grain = _grain(span)
    every = kept.start.size == blocks.start.size
    if not every:
        chart["note"] = (
            f"{kept.start.size:,} of {blocks.start.size:,} blocks, those with {percent(held)} of "
            "the processor time, can be seen one by one, the others as shares of cells."
        )
    start = np.round((kept.start - span[0]) / grain)
    grids = [("share", "wait", cells.share, cells.wait)]
    if not every:
        grids.append(("rest_share", "rest_wait", cells.rest_share, cells.rest_wait))
    for share_name, wait_name, share, wait in grids:
        chart[share_name] = packer.add(np.round(255 * share), "u1")
        chart[wait_name] = packer.add(_codes(wait, scale["high"]), "u2")
    return chart | {
        "columns": cells.columns.size - 1,
        "rows": cells.rows.size - 1,
        "codes": _CODES,
        "grain": grain,
        "blocks": {
            "start": packer.add(start, "i4", delta=True),
            "length": packer.add(np.round((kept.end - span[0]) / grain) - start, "i4"),
            "first": packer.add(kept.first, "i4"),
            "procs": packer.add(kept.procs, "i4"),
            "job": _pack_numbers(kept.job, packer),
            "wait": packer.add(kept.wait, "f4"),
        },
    }


def _pack_numbers(job: NDArray[np.int64], packer: Packer) -> dict[str, Any]:
    """Numbers of jobs, which are as large as a site likes them."""
    small = job.size == 0 or (job.min() >= 0 and job.max() < 2**31)
    return packer.add(job, "i4", delta=True) if small else packer.add(job, "f8")


def _codes(wait: Floats, high: float) -> Floats:
    """Waits as whole numbers, logarithmically from 1 s (code 1) on; 0 for less."""
    codes = 1 + np.round((_CODES - 1) * np.log(np.maximum(wait, 1.0)) / np.log(max(high, 10.0)))
    return np.where(wait < 1.0, 0, np.minimum(codes, _CODES))


def _node_edges(run: RunFolder) -> list[tuple[str, int]]:
    if run.nodes is None:
        return []
    names = [str(name) for name in run.nodes["node"]]
    return list(zip(names, (int(size) for size in run.nodes["procs"]), strict=True))


def _grain(span: tuple[float, float]) -> float:
    """The smallest time (s) that the page keeps apart: a millisecond, or what 31 bits allow."""
    return max((span[1] - span[0]) / 2**30, 1e-3)


def paths_of(run: RunFolder) -> dict[str, Path]:
    """Return busy processors, jobs waiting, power (W) and what is stranded, as far as it is known.

    They are called as the columns of a trajectory are.
    """
    table = run.trajectory
    if table is None or not len(table["time"]):
        if not np.isfinite(run.jobs["start"]).any():
            raise OptionError(f"{run.folder}: no job was served; there is nothing to report")
        return {"busy": busy_path(run.jobs), "queued": queue_path(run.jobs)}
    paths = {"busy": busy_path(table), "queued": queue_path(table)}
    watts = table.get("power") if states_energy(run.summary) else None
    if watts is not None and np.any(np.asarray(watts) > 0):
        paths["power"] = Path.of(table["time"], watts)
    return paths | _stranded(run, table)


def _stranded(run: RunFolder, table: Columns) -> dict[str, Path]:
    """Return what is stranded of the resources of which most is, over time."""
    shares = {
        f"{name}_stranded": float(row["share"].get("stranded") or 0.0)
        for name, row in run.resources.items()
    }
    worst = sorted(shares, key=lambda name: -shares[name])[:_STRANDED]
    return {
        name: Path.of(table["time"], table[name])
        for name in worst
        if shares[name] > 0 and name in table
    }


def _describe_panel(
    name: str, paths: Sequence[dict[str, Path]], span: tuple[float, float], packer: Packer
) -> dict[str, Any]:
    mine = {index: columns[name] for index, columns in enumerate(paths) if name in columns}
    most = max(float(path.value.max()) for path in mine.values())
    units = {"power": UNITS["W"], "memory_stranded": _KB}.get(name, (Unit(""),))
    unit = next((unit for unit in reversed(units) if most >= unit.size), units[0])
    lines = []
    for index, path in mine.items():
        path = path._replace(value=path.value / unit.size, slope=path.slope / unit.size)
        lines.append(_describe_line(path, span, len(paths), packer) | {"run": index})
    label = _LABELS.get(name, name.replace("_stranded", " stranded"))
    return {"name": label, "unit": unit.name, "lines": lines}


def _describe_line(
    path: Path, span: tuple[float, float], charts: int, packer: Packer
) -> dict[str, Any]:
    bins: Bins = aggregate_path(path, span, charts=charts)
    line: dict[str, Any] = {"bins": bins.mean.size}
    line |= {name: packer.add(getattr(bins, name), "f4") for name in ("mean", "low", "high")}
    if path.time.size <= _STEPS // charts:
        grain = _grain(span)
        line["grain"] = grain
        line["time"] = packer.add(np.round((path.time - span[0]) / grain), "i4", delta=True)
        line["value"] = packer.add(path.value, "f4")
    return line
