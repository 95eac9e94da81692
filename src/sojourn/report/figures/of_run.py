"""The pictures of one run, as ``result.plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...cluster.power import assumed_watts
from .style import MUTED, TimeAxis, column, new_axes, root, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from ...run.result import Result
    from .schedule import Color


class RunPlots:
    """Pictures of a run; each method returns a `matplotlib.figure.Figure`.

    Called itself, it draws the run on one page. All of them take `unix_start`, the Unix time (s)
    of second 0, with which time axes show dates; and axes `ax`, or a figure `fig`, to draw in.

    Examples
    --------
    >>> import sojourn
    >>> result = sojourn.simulate(sojourn.lublin(50, 16, load=0.7, seed=1), 16)
    >>> result.plot.gantt(color="width").savefig("gantt.png")  # doctest: +SKIP
    >>> result.plot
    <pictures of a run: plot(), plot.clean_hours(), plot.distributions(), plot.fragmentation(),
    plot.gantt(), plot.node_states(), plot.occupation(), plot.power(), plot.queue(),
    plot.rates(), plot.utilisation(), plot.workload()>
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def _over_time(self) -> pd.DataFrame:
        """The trajectory, or the jobs of a run that was not recorded: they say as much."""
        result = self._result
        if result.options.record or result.in_pieces:
            return result.trajectory
        return result.jobs

    def __repr__(self) -> str:
        names = [name for name in dir(type(self)) if not name.startswith("_")]
        return f"<pictures of a run: plot(), {', '.join(f'plot.{name}()' for name in names)}>"

    def __call__(self, title: str = "", *, unix_start: float | None = None) -> Figure:
        """Draw the run on one page: Gantt chart, busy processors, queue, waits.

        Energy is stated only where watts were given, or where something asks for it.

        Parameters
        ----------
        title : heading of the page; default: the policy and the size of the machine.
        unix_start : Unix time (s) of second 0; given, time axes show dates.
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
            segments=result.segments if result.in_pieces else None,
            on_nodes=(result.allocations, result.nodes) if result.cluster.is_named else None,
            unix_start=unix_start,
        )

    def gantt(
        self,
        *,
        color: Color = "wait",
        ax: Axes | None = None,
        unix_start: float | None = None,
    ) -> Figure:
        """Draw which job ran on which processors, or on which nodes, and when.

        Parameters
        ----------
        color : what the colour says: ``wait``, ``width``, ``job``, or who ran it: ``user``,
            ``account``, ``partition``, ``queue`` or ``qos`` where the log knows them.
        ax : axes to draw in; a new figure when None.
        unix_start : Unix time (s) of second 0; given, the time axis shows dates.
        """
        from .nodes import node_gantt
        from .schedule import gantt

        result = self._result
        options: dict[str, Any] = {"color": color, "ax": ax, "unix_start": unix_start}
        if result.cluster.is_named:
            return node_gantt(result.jobs, result.allocations, result.nodes, **options)
        segments = result.segments if result.in_pieces else None
        return gantt(result.jobs, result.cluster.procs, segments=segments, **options)

    @styled
    def queue(self, *, ax: Axes | None = None, unix_start: float | None = None) -> Figure:
        """Draw the number of jobs waiting over time.

        A run that stops jobs (preemption) has to be recorded for it (``record=True``).
        """
        import numpy as np

        from .binning import Path
        from .timeline import draw_queue, queue_path

        table = self._over_time()
        path = queue_path(table)
        if "time" not in table:
            # The run goes on to its last end, without a queue.
            last = max(float(np.nanmax(column(table, "end"))), float(path.time[-1]))
            path = Path.of(np.append(path.time, last), np.append(path.value, 0.0))
        axes = new_axes(ax, 10.0, 3.2)
        clock = TimeAxis.spanning(path.time[0], path.time[-1], unix_start)
        draw_queue(axes, path, clock)
        clock.mark(axes, path.time[0], path.time[-1])
        return root(axes)

    def utilisation(
        self, *, fig: Figure | SubFigure | None = None, unix_start: float | None = None
    ) -> Figure:
        """Draw busy processors and the queue over time.

        A run that stops jobs (preemption) has to be recorded for it (``record=True``).
        """
        from .timeline import utilisation

        table, procs = self._over_time(), self._result.cluster.procs
        return utilisation(table, procs, fig=fig, unix_start=unix_start)

    @styled
    def power(self, *, ax: Axes | None = None, unix_start: float | None = None) -> Figure:
        """Draw the power (W) of the whole cluster over time, and state the energy.

        Where nobody gave watts, the picture says which ones are assumed. A cap is drawn beside it.
        """
        from .timeline import power

        axes = new_axes(ax, 10.0, 3.2)
        beside = self._result.caps.get("cluster")
        steps, cap = beside if beside is not None else (self._result.power_steps, None)
        figure = power(steps, cap=cap, ax=axes, unix_start=unix_start)
        words = assumed_watts(self._result.summary)
        if words and beside is not None:
            words = "watts of the jobs"
        axes.set_title(words, loc="right", color=MUTED)
        return figure

    def clean_hours(
        self,
        what: str | None = None,
        *,
        span: tuple[float, float] | None = None,
        fig: Figure | SubFigure | None = None,
        unix_start: float | None = None,
    ) -> Figure:
        """Draw the power above the carbon intensity or the price, and what was held back for it.

        Parameters
        ----------
        what : ``carbon`` or ``price``; default: what jobs were held for, else which is given.
        span : first and last instant (s) to be drawn; default: the whole run.
        fig : to draw in; a new figure when None.
        unix_start : Unix time (s) of second 0; given, the time axis shows dates.
        """
        from .hours import clean_hours

        result = self._result
        by = what or result.held_for
        label = "carbon intensity: g of CO2 per kWh"
        if by == "price":
            label = f"price: {result.summary['energy'].get('currency') or '1'} per kWh"
        return clean_hours(
            result.power_steps,
            result.series_steps(by),
            label,
            result.jobs,
            span=span,
            fig=fig,
            unix_start=unix_start,
        )

    def node_states(self, *, ax: Axes | None = None, unix_start: float | None = None) -> Figure:
        """Draw how many nodes are busy, idle, asleep and on their way, where nodes sleep."""
        from .states import node_states

        return node_states(self._result.nodes_by_state, ax=ax, unix_start=unix_start)

    def fragmentation(
        self, *, fig: Figure | SubFigure | None = None, unix_start: float | None = None
    ) -> Figure:
        """Draw what is used, stranded, free and down of the resources of named nodes over time.

        Stranded is what nobody can use because another resource of its node is used up.
        """
        from .resources import fragmentation

        return fragmentation(self._result.fragmentation, fig=fig, unix_start=unix_start)

    def workload(
        self,
        thresholds: Mapping[str, float] | Sequence[float] | None = None,
        *,
        ax: Axes | None = None,
        unix_start: float | None = None,
    ) -> Figure:
        """Draw the workload (s) and the jobs in service over time; needs ``record=True``.

        Parameters
        ----------
        thresholds : levels (s) at which a control switches the rate, to be marked; by name or not.
        ax : axes to draw in; a new figure when None.
        unix_start : Unix time (s) of second 0; given, the time axis shows dates.
        """
        from .timeline import workload

        trajectory = self._result.trajectory
        return workload(trajectory, thresholds, ax=ax, unix_start=unix_start)

    def rates(
        self, *, fig: Figure | SubFigure | None = None, unix_start: float | None = None
    ) -> Figure:
        """Draw the service rate over time, of each domain where there are some."""
        from .rates import rates

        until = float(self._result.power_steps[0][-1])
        return rates(self._result.rates, until, fig=fig, unix_start=unix_start)

    def distributions(self, *, fig: Figure | SubFigure | None = None) -> Figure:
        """Draw the distributions of wait, slowdown and bounded slowdown over jobs."""
        from .curves import distributions

        return distributions(self._result.jobs, fig=fig)

    def occupation(
        self, *, fig: Figure | SubFigure | None = None, unix_start: float | None = None
    ) -> Figure:
        """Draw the processors that jobs occupy, in the order of their arrival."""
        from .schedule import occupation

        procs = self._result.cluster.procs
        return occupation(self._result.jobs, procs, fig=fig, unix_start=unix_start)
