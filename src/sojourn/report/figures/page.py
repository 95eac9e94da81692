"""One page that shows a whole run."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ...measures import quantiles
from ...measures.registry import get as measure
from . import style
from .curves import draw_distribution
from .nodes import node_gantt
from .schedule import gantt
from .timeline import busy_path, draw_busy, draw_queue, queue_path


@style.styled
def overview(
    jobs: style.TableLike,
    trajectory: style.TableLike | None,
    procs: int,
    title: str = "",
    *,
    segments: style.TableLike | None = None,
    on_nodes: tuple[style.TableLike, style.TableLike] | None = None,
    unix_start: float | None = None,
) -> Figure:
    """Draw a run on one page: Gantt chart, busy processors, queue, distribution of waits.

    Parameters
    ----------
    jobs : the run's jobs; columns as for `gantt`, with wait (s), bounded_slowdown and, if energy
        is to be stated, energy (J).
    trajectory : columns time (s), busy, queued and, if all energy is to be stated, power (W); None
        computes the first three from the jobs.
    procs : processors of the cluster.
    title : heading of the page.
    segments : stretches of service (columns job, start, end) when jobs were preempted.
    on_nodes : the schedule and the nodes as for `node_gantt`, which is then drawn on top.
    unix_start : Unix time (s) of second 0; given, time axes show dates.
    """
    fig = style.new_figure(10.0, 7.4)
    grid = fig.add_gridspec(1, 2, width_ratios=(2.15, 1), wspace=0.02)
    left, right = fig.add_subfigure(grid[0, 0]), fig.add_subfigure(grid[0, 1])
    chart, busy_ax, queue_ax = (
        style.polish(ax) for ax in left.subplots(3, 1, height_ratios=(1.9, 1, 1))
    )
    waits, facts = right.subplots(2, 1, height_ratios=(1, 1))
    style.polish(waits)
    if on_nodes is not None:
        node_gantt(jobs, *on_nodes, ax=chart, unix_start=unix_start)
    else:
        gantt(jobs, procs, segments=segments, ax=chart, unix_start=unix_start)
    table = jobs if trajectory is None else trajectory
    busy, queue = busy_path(table), queue_path(table)
    first = min(busy.time[0], queue.time[0])
    last = max(busy.time[-1], queue.time[-1])
    clock = style.TimeAxis.spanning(first, last, unix_start)
    share = draw_busy(busy_ax, busy, procs, clock)
    draw_queue(queue_ax, queue, clock)
    for ax in (chart, busy_ax, queue_ax):
        clock.mark(ax, first, last, label=ax is queue_ax)
    chart.set_xlabel("")
    left.align_ylabels((chart, busy_ax, queue_ax))
    draw_distribution(waits, {"": style.column(jobs, "wait")}, "wait", marks=True)
    facts.set_axis_off()
    rows = _facts(jobs, trajectory, share, last - first)
    for index, (name, value) in enumerate(rows):
        height = 0.93 - min(0.115, 0.93 / len(rows)) * index
        facts.text(0.0, height, name, color=style.MUTED, transform=facts.transAxes)
        facts.text(1.0, height, value, ha="right", fontweight="bold", transform=facts.transAxes)
    if title:
        fig.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    return fig


def _facts(
    jobs: style.TableLike, trajectory: style.TableLike | None, share: float, span: float
) -> list[tuple[str, str]]:
    start, wait = style.column(jobs, "start"), style.column(jobs, "wait")
    ran = np.isfinite(start)
    rows = [("jobs", f"{int(ran.sum()):,}")]
    if not ran.all():
        rows.append(("not accepted", f"{int((~ran).sum()):,}"))
    bounded = style.column(jobs, "bounded_slowdown")[ran]
    rows += [
        (measure("makespan").label, style.duration(span)),
        (measure("utilisation").label, f"{100 * share:.1f} %"),
        (measure("wait_mean").label, style.duration(float(wait[ran].mean()))),
        (measure("wait_median").label, style.duration(float(quantiles(wait[ran], (0.5,))[0]))),
        (measure("wait_max").label, style.duration(float(wait[ran].max()))),
        (measure("bounded_slowdown_mean").label, style.number(float(np.nanmean(bounded)))),
    ]
    if "slowness" in jobs:
        rows.append(
            (
                measure("mean_slowness").label,
                style.number(float(np.nanmean(style.column(jobs, "slowness")))),
            )
        )
    if "energy" in jobs:
        joules = float(np.nansum(style.column(jobs, "energy")))
        if joules > 0:
            rows.append(("energy of jobs", style.energy(joules)))
    if trajectory is not None and "power" in trajectory:
        time, watts = style.column(trajectory, "time"), style.column(trajectory, "power")
        rows.append(("energy in all", style.energy(float(np.dot(np.diff(time), watts[:-1])))))
        rows.append(
            (
                measure("power_peak").label,
                f"{style.number(float(watts[:-1].max(initial=0.0)) / 1e3)} kW",
            )
        )
    return rows
