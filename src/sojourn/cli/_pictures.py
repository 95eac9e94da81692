"""Pictures of a run, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["overview_of"]


def overview_of(result: Result) -> dict[str, Callable[[Path], object]]:
    """Return the name of a run's overview and what draws it, as `write_run` takes them."""

    def draw(path: Path) -> None:
        from ..report import overview, save
        from ..wattage import assumed_watts, states_energy

        jobs, trajectory = result.jobs, result.trajectory if result.options.record else None
        title = f"{result.policy} on {result.cluster.procs:,} processors, simulated"
        if not states_energy(result.summary):
            jobs = jobs.drop(columns="energy")
            trajectory = None if trajectory is None else trajectory.drop(columns="power")
        elif assumed_watts(result.summary):
            title = f"{title}; {assumed_watts(result.summary)}"
        figure = overview(
            jobs,
            trajectory,
            result.cluster.procs,
            title,
            segments=result.segments if result.policy.preemptive else None,
            on_nodes=(result.allocations, result.nodes) if result.cluster.is_named else None,
        )
        save(figure, path)

    return {"overview.png": draw}
