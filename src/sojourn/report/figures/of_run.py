"""The pictures of one run, as ``result.plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .style import Clock, arrivals, column, new_axes, root, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ...run.result import Result

__all__ = ["RunPlots"]


class RunPlots:
    """Pictures of a run; each method returns a `matplotlib.figure.Figure`.

    Called itself, it draws the run on one page. Options are those of the function of the same name
    in `sojourn.report`. `workload` needs a run that was recorded (``record=True``).

    Examples
    --------
    >>> import sojourn
    >>> result = sojourn.simulate(sojourn.lublin(50, 16, load=0.7, seed=1), 16)
    >>> figure = result.plot.gantt(color="width")
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def _over_time(self) -> pd.DataFrame:
        """The trajectory, or the jobs of a run that was not recorded: one start tells all then."""
        result = self._result
        if result.options.record or result.policy.preemptive:
            return result.trajectory
        return result.jobs

    def __repr__(self) -> str:
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        return f"<pictures of a run: plot(), {', '.join(f'plot.{name}()' for name in names)}>"

    def __call__(self, title: str = "", *, unix_start: float | None = None) -> Figure:
        """Draw the run on one page: Gantt chart, busy processors, queue, waits.

        Energy is stated only where watts were given, or where something asks for it.
        """
        from ...cluster.power import assumed_watts
        from .page import overview

        result = self._result
        jobs, trajectory = result.jobs, result.trajectory if result.options.record else None
        heading = title or f"{result.policy} on {result.cluster.procs:,} processors, simulated"
        if result.states_energy and assumed_watts(result.summary) and not title:
            heading = f"{heading}; {assumed_watts(result.summary)}"
        return overview(
            jobs,
            trajectory,
            result.cluster.procs,
            heading,
            segments=result.segments if result.policy.preemptive else None,
            on_nodes=(result.allocations, result.nodes) if result.cluster.is_named else None,
            unix_start=unix_start,
        )

    def gantt(self, **options: Any) -> Figure:
        """Draw which job ran on which processors, or on which nodes, and when."""
        from .nodes import node_gantt
        from .schedule import gantt

        result = self._result
        if result.cluster.is_named:
            return node_gantt(result.jobs, result.allocations, result.nodes, **options)
        segments = result.segments if result.policy.preemptive else None
        return gantt(result.jobs, result.cluster.procs, segments=segments, **options)

    @styled
    def queue(self, *, ax: Any = None, unix_start: float | None = None) -> Figure:
        """Draw the number of jobs waiting over time."""
        import numpy as np

        from .binning import Path, counted
        from .timeline import draw_queue

        table = self._over_time()
        if "time" in table:
            path = Path.of(column(table, "time"), column(table, "queued"))
        else:
            came, start = arrivals(table), column(table, "start")
            ran = np.isfinite(start)
            waiting = counted(came[ran], start[ran])
            # The run goes on to its last end, without a queue.
            last = max(float(np.nanmax(column(table, "end"))), float(waiting.time[-1]))
            path = Path.of(np.append(waiting.time, last), np.append(waiting.value, 0.0))
        axes = new_axes(ax, 10.0, 3.2)
        clock = Clock.spanning(path.time[0], path.time[-1], unix_start)
        draw_queue(axes, path, clock)
        clock.mark(axes, path.time[0], path.time[-1])
        return root(axes)

    def utilisation(self, **options: Any) -> Figure:
        """Draw busy processors and the queue over time."""
        from .timeline import utilisation

        return utilisation(self._over_time(), self._result.cluster.procs, **options)

    def power(self, **options: Any) -> Figure:
        """Draw the power of the whole cluster over time."""
        from .timeline import power

        return power(self._result.power_steps, **options)

    def fragmentation(self, **options: Any) -> Figure:
        """Draw what is used, stranded, free and down of the resources of named nodes over time."""
        from .resources import fragmentation

        return fragmentation(self._result.fragmentation, **options)

    def workload(self, **options: Any) -> Figure:
        """Draw the workload and the jobs in service over time."""
        from .timeline import workload

        return workload(self._result.trajectory, **options)

    def distributions(self, **options: Any) -> Figure:
        """Draw the distributions of wait, slowdown and bounded slowdown."""
        from .curves import distributions

        return distributions(self._result.jobs, **options)

    def occupation(self, **options: Any) -> Figure:
        """Draw the processors that jobs occupy, in the order of their arrival."""
        from .schedule import occupation

        return occupation(self._result.jobs, self._result.cluster.procs, **options)
