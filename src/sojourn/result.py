"""What a run gives back: jobs, trajectory, summary, and where they came from."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import measures
from .__about__ import __version__
from .aftermath import KILLED, STATUS, UNACCEPTED, Aftermath, aftermath
from .decisions import Decisions
from .energy import Allocation, Energy, Stretches, allocation, stretches_around
from .engine.drive import Run
from .engine.state import (
    EFFECTIVE,
    IN_SERVICE,
    NOW,
    POTENTIAL,
    QUEUE,
    WASTE,
    WORKLOAD,
    WORKLOAD_LEFT,
)
from .errors import OptionError
from .invariants import check_bill, check_run
from .machine import REASONS
from .options import Prepared

if TYPE_CHECKING:
    import pandas as pd

    from .workload import Jobs

__all__ = ["Result"]

Floats = NDArray[np.float64]

CATEGORIES = {"status": STATUS, "reason": REASONS}
"""Words that columns of the job table stand for."""


class Result:
    """The outcome of one run.

    Attributes
    ----------
    jobs : table, one row per job; times in seconds as in the log, energy in joules.
    trajectory : table, one row per scheduling instant (needs ``record=True``).
    segments : table of uninterrupted stretches of service (several per job if preempted).
    rates : table of the epochs at which the service rate changed.
    summary : the measures, as plain numbers.
    cleaning : the report of what cleaning changed.
    """

    def __init__(self, prepared: Prepared, run: Run) -> None:
        self._prepared = prepared
        self._run = run
        self.cluster = prepared.cluster
        self.policy = prepared.policy
        self.control = prepared.control
        self.options = prepared.options
        self.cleaning = prepared.jobs.report
        self._check()

    def __repr__(self) -> str:
        return (
            f"<Result of {len(self._prepared.jobs)} jobs on {self.cluster.procs} processors, "
            f"{self.policy}>"
        )

    def __len__(self) -> int:
        """Return the number of jobs, accepted or not."""
        return len(self._prepared.jobs)

    @property
    def start(self) -> Floats:
        """Start of each accepted job, in submission order, in seconds; nan if it never ran.

        A job that was requeued has the start of its last attempt.
        """
        return self._run.state.start

    @property
    def end(self) -> Floats:
        """End of each accepted job, in submission order, in seconds; nan if it never ran."""
        return self._run.state.end

    @property
    def promises(self) -> Floats:
        """First promised start of each accepted job under conservative backfilling, as work."""
        return self._run.state.first_promise

    @cached_property
    def _after(self) -> Aftermath | None:
        """What external events did to the accepted jobs."""
        return None if self._run.outside is None else aftermath(self._run.outside)

    @cached_property
    def _ended(self) -> slice | NDArray[np.bool_]:
        """Which accepted jobs ran to an end."""
        return slice(None) if self._after is None else np.isfinite(self.end)

    @cached_property
    def _last(self) -> float:
        """When the last accepted job had left (s)."""
        if self._after is None:
            return float(self.end.max(initial=-np.inf))
        return float(self._run.state.clock[NOW])

    @cached_property
    def _stretches(self) -> Stretches:
        """Stretches of service."""
        run = self._run
        if self._after is not None:
            return stretches_around(run, self._after)
        if self.policy.preemptive:
            names = ("segment_job", "segment_start", "segment_stop")
            job, start, stop = (run.rows(name) for name in names)
            return Stretches(job, start, stop)
        return Stretches(np.arange(len(self.start)), self.start, self.end)

    @cached_property
    def _epochs(self) -> tuple[Floats, Floats]:
        """Epochs and rates, the first at the first submit."""
        submit = self._run.jobs.submit
        first = submit[0] if len(submit) else 0.0
        time = np.concatenate([[first], self._run.rows("epoch_time")])
        rate = np.concatenate([[self._run.initial_rate], self._run.rows("epoch_rate")])
        # Several changes at one instant: only the last one lasts.
        lasting = np.append(time[1:] > time[:-1], True)
        return time[lasting], rate[lasting]

    @cached_property
    def _energy(self) -> Energy:
        return Energy(self._prepared, self._run, self._stretches, *self._epochs, self._last)

    @property
    def power_steps(self) -> tuple[Floats, Floats]:
        """Instants (s) and the watts of the whole cluster from each on, to the last end."""
        return self._energy.steps

    @cached_property
    def _allocation(self) -> Allocation:
        if not self.cluster.is_named:
            raise OptionError("processors were only counted; give the cluster named nodes")
        return allocation(self._run)

    @property
    def slowness(self) -> Floats:
        """How much longer than recorded each accepted job ran [gomez2012, eq. 2]."""
        slowness = self._allocation.slowness
        return slowness if self._after is None else np.where(slowness > 0, slowness, np.nan)

    def allocation_columns(self) -> dict[str, NDArray[Any]]:
        """The whole schedule: job, node (its place in the cluster), procs, start and end (s)."""
        numbers = self._prepared.jobs.job[self._prepared.accepted]
        job, start, stop = self._stretches
        given = self._allocation
        if self._after is not None:
            given = self._energy.given
        return given.columns(numbers[job], start, stop)

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """The whole schedule: which job had how many processors of which node, and when."""
        import pandas as pd

        columns: dict[str, Any] = self.allocation_columns()
        names = pd.Index([node.name for node in self.cluster.nodes])
        columns["node"] = pd.Categorical.from_codes(columns["node"], categories=names)
        return pd.DataFrame(columns, copy=False)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row per node: model, procs, speed, share of its time busy, and its energy (J)."""
        import pandas as pd

        self._allocation  # noqa: B018  (raises where processors were only counted)
        return pd.DataFrame(self._energy.node_columns())

    @cached_property
    def decisions(self) -> Decisions:
        """Every decision of the scheduler and its reason (needs ``decisions=True``)."""
        if not self.options.decisions:
            raise OptionError("decisions were not kept; simulate with decisions=True")
        return Decisions(self._prepared, self._run)

    @cached_property
    def _service(self) -> Floats:
        """Time in service of each accepted job."""
        if not self.policy.preemptive:
            return self.end - self.start
        job, start, stop = self._stretches
        return measures.sum_by_job(job, stop - start, len(self.end))

    def job_columns(self, first: int = 0, last: int | None = None) -> dict[str, NDArray[Any]]:
        """Columns of the job table for the rows `first` to `last`.

        Status and reason are places in `CATEGORIES`.

        Made anew on each call, so that a long table can be written piece by piece.
        """
        log, accepted, run = self._prepared.jobs, self._prepared.accepted, self._run
        mine = accepted[first:last]
        everybody = bool(mine.all())
        skipped = int(np.count_nonzero(accepted[:first]))
        at = slice(skipped, skipped + int(np.count_nonzero(mine)))

        def spread(values: Floats) -> Floats:
            if everybody:
                return values
            column = np.full(len(mine), np.nan)
            column[mine] = values
            return column

        submit, start, end = run.jobs.submit[at], self.start[at], self.end[at]
        service, sojourn = self._service[at], end - submit
        status = np.full(len(mine), STATUS.index(UNACCEPTED), dtype=np.int8)
        status[mine] = self._status[at]
        columns = {
            "job": log.job[first:last],
            "submit": log.submit[first:last],
            "start": spread(start),
            "end": spread(end),
            "wait": spread(start - submit),
            "service": spread(service),
            "sojourn": spread(sojourn),
            "slowdown": spread(measures.slowdown(sojourn, service)),
            "bounded_slowdown": spread(measures.bounded_slowdown(sojourn, service)),
            "procs": log.procs[first:last],
            "estimate": log.estimate[first:last],
            "energy": spread(self._energy.jobs[at]),
            "status": status,
            "reason": self._prepared.reason[first:last],
        }
        if self._after is not None:
            columns["restarts"] = spread(self._after.restarts[at].astype(np.float64))
        if self.cluster.is_named:
            given = self._allocation
            columns["nodes"] = spread(np.diff(given.first)[at].astype(np.float64))
            columns["slowness"] = spread(self.slowness[at])
            columns["peas_energy"] = spread(self._energy.peas[at])
        return columns

    @cached_property
    def _status(self) -> NDArray[np.int8]:
        """What became of each accepted job, as a place in `STATUS`."""
        killed = self._prepared.killed
        return killed.astype(np.int8) if self._after is None else self._after.status(killed)

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The job table (see `docs/reference/jobs`)."""
        import pandas as pd

        columns: dict[str, Any] = self.job_columns()
        for name, words in CATEGORIES.items():
            columns[name] = pd.Categorical.from_codes(columns[name], categories=pd.Index(words))
        return pd.DataFrame(columns, copy=False)

    def as_log(self) -> Jobs:
        """The log with the simulated waits (s; -1 if it never ran) and times in service in it."""
        log, accepted = self._prepared.jobs, self._prepared.accepted
        wait, runtime = np.full(len(log), -1.0), log.runtime.copy()
        ran = np.flatnonzero(accepted)[self._ended]
        wait[ran] = (self.start - self._run.jobs.submit)[self._ended]
        runtime[ran] = self._service[self._ended]
        return log.replace(wait=wait, runtime=runtime)

    @property
    def instants(self) -> int:
        """Rows of the trajectory."""
        return len(self._run.rows("time"))

    def trajectory_columns(
        self, first: int = 0, last: int | None = None
    ) -> dict[str, NDArray[Any]]:
        """Columns of the trajectory for the rows `first` to `last`, as `job_columns`."""
        if not self.options.record:
            raise OptionError("the trajectory was not recorded; simulate with record=True")
        names = ("time", "rate", "present", "queued", "busy", "running", "workload")
        columns = {name: self._run.rows(name)[first:last] for name in names}
        columns["power"] = self._power(columns["time"], columns["rate"], columns["busy"])
        return columns

    @cached_property
    def trajectory(self) -> pd.DataFrame:
        """The trajectory: the state after each scheduling instant, until the next."""
        import pandas as pd

        return pd.DataFrame(self.trajectory_columns(), copy=False)

    def _power(self, time: Floats, rate: Floats, busy: NDArray[Any]) -> Floats:
        """Watts of the whole system [rumyantsev2018, eq. 11]."""
        if self.cluster.is_named:
            instants, watts = self._energy.steps
            return watts[np.searchsorted(instants, time, side="right") - 1]
        power = self.cluster.power
        known = np.unique(np.append(self._run.rows("epoch_rate"), self._run.initial_rate))
        busy_watts, idle_watts = power.busy(known), power.idle(known)
        if len(known) > 1:
            at = np.searchsorted(known, rate)
            busy_watts, idle_watts = busy_watts[at], idle_watts[at]
        there: int | NDArray[np.int64] = self.cluster.procs
        if self._prepared.external is not None:
            instants, gone = self._prepared.external.absence.steps()
            there = there - np.append(gone, 0)[np.searchsorted(instants, time, side="right") - 1]
        return measures.energy_rate(busy, busy_watts, idle_watts, there)

    @cached_property
    def segments(self) -> pd.DataFrame:
        """Stretches of service: job (number in the log), start, end."""
        import pandas as pd

        job, start, stop = self._stretches
        numbers = self._prepared.jobs.job[self._prepared.accepted]
        return pd.DataFrame({"job": numbers[job], "start": start, "end": stop})

    @cached_property
    def rates(self) -> pd.DataFrame:
        """Epochs of the service rate: time and the rate from then on."""
        import pandas as pd

        time, rate = self._epochs
        return pd.DataFrame({"time": time, "rate": rate})

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The measures of the run as plain numbers, ready for JSON."""
        log, ran = self._prepared.jobs, self._ended
        submit, procs = self._run.jobs.submit[ran], self._run.jobs.procs[ran]
        wait, sojourn = self.start[ran] - submit, self.end[ran] - submit
        service = self._service[ran]
        killed = int(np.count_nonzero(self._status == STATUS.index(KILLED)))
        unaccepted = log.job[~self._prepared.accepted]
        told: dict[str, Any] = {
            "version": __version__,
            "procs": self.cluster.procs,
            "policy": str(self.policy),
            "rate": str(self.control),
            "estimates": self.options.estimates,
            "over_limit": self.options.over_limit,
            "passes": self.options.passes,
            "seed": self.options.seed,
            "jobs": len(log),
            "completed": len(submit) - killed,
            "killed": killed,
            "unaccepted": len(unaccepted),
            "unaccepted_jobs": unaccepted[:100].tolist(),
            "unaccepted_reasons": self._reasons(),
            "wait": measures.describe(wait),
            "sojourn": measures.describe(sojourn),
            "service": measures.describe(service),
            "slowdown": measures.describe(measures.slowdown(sojourn, service)),
            "bounded_slowdown": measures.describe(measures.bounded_slowdown(sojourn, service)),
            "weighted_response": measures.weighted_response(sojourn, procs),
            "weighted_slowdown": measures.weighted_slowdown(
                measures.slowdown(sojourn, service), procs * service
            ),
            **self._system(),
        }
        if self.cluster.is_named:
            told |= {
                "awt": measures.average_wait(wait),
                "art": measures.average_response(sojourn),
                "nodes": len(self.cluster.nodes),
                "processor": self.cluster.processor,
                "placement": str(self.options.placement),
                "constraints": str(self.options.constraints),
                "foresight": self.options.foresight,
                "mean_slowness": float(np.mean(self.slowness[ran])) if len(submit) else np.nan,
            }
        if self._after is not None:
            told["events"] = self._what_events_did(self._after)
        if self.cleaning is not None:
            told["cleaning"] = self.cleaning.as_dict()
        return told

    def _what_events_did(self, after: Aftermath) -> dict[str, Any]:
        """Counts of external events and of the jobs they struck; processor-seconds lost."""
        external = self._prepared.external
        assert external is not None
        submit = self._run.jobs.submit
        first = float(submit[0]) if len(submit) else 0.0
        return {
            "given": external.given,
            "unused": external.left_out(self._prepared.accepted),
            "node_failure": self.options.node_failure,
            **after.counts(),
            "down_processor_seconds": external.absence.area(first, max(self._last, first)),
        }

    def _reasons(self) -> dict[str, int]:
        """How many jobs were not accepted, by what there was not enough of."""
        count = np.bincount(self._prepared.reason, minlength=len(REASONS))
        return {word: int(count[i]) for i, word in enumerate(REASONS) if i and count[i]}

    def _system(self) -> dict[str, Any]:
        """Per-system measures, as exact time averages from first submit to last end [eq. 12]."""
        submit, end = self._run.jobs.submit, self.end
        if not len(end):
            return {"makespan": 0.0}
        last = self._last
        span = float(last - submit[0])
        total = self._run.state.total

        def mean(integral: float) -> float:
            return float(integral / span) if span > 0 else float("nan")

        area = measures.product_sum(self._run.state.held[self._ended], self._service[self._ended])
        if self._after is not None:
            area += float(self._after.lost_area.sum())
        epochs, rates = self._epochs
        lasted = np.diff(np.append(epochs, max(last, epochs[-1])))
        shares = {f"{r:g}": mean(lasted[rates == r].sum()) for r in np.unique(rates)}
        return {
            "makespan": span,
            "throughput": mean(len(end[self._ended])),
            "utilisation": mean(area / self.cluster.procs),
            "mean_present": mean(total[QUEUE] + total[IN_SERVICE]),
            "mean_queue": mean(total[QUEUE]),
            "mean_busy": mean(area),
            "mean_workload": mean(total[WORKLOAD]),
            "mean_workload_at_epochs": mean(total[WORKLOAD_LEFT]),
            "potential_load": mean(total[POTENTIAL]),
            "effective_load": mean(total[EFFECTIVE]),
            "job_wasting": mean(total[WASTE]),
            "rate_shares": shares,
            "rate_switches": len(epochs) - 1,
            "energy": self._energy.bill(span),
        }

    def by(self, what: str) -> pd.DataFrame:
        """Measures per class of jobs: user, group, queue, partition, width or status.

        One row per class: jobs, share of the processor time, mean, median and p95 wait (s), mean
        bounded slowdown, energy (J). Widths are grouped by powers of two.
        """
        from .classes import measure_classes

        return measure_classes(self.jobs, self._prepared.jobs, what)

    def _check(self) -> None:
        """What must hold after every run."""
        run = self._run
        if not len(self.end):
            return
        slowness = self.slowness if self.cluster.is_named else 1.0
        check_run(run, float(self._epochs[1].max()), slowness, self._after)
        if self.options.record:
            watts = self._power(run.rows("time"), run.rows("rate"), run.rows("busy"))
            check_bill(run, float(self._energy.jobs.sum()) + self._energy.idle, watts)
