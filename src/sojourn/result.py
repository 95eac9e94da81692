"""What a run gives back: jobs, trajectory, summary, and where they came from."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import measures
from .__about__ import __version__
from .engine.drive import Run
from .engine.state import (
    EFFECTIVE,
    IN_SERVICE,
    POTENTIAL,
    QUEUE,
    WASTE,
    WORKLOAD,
    WORKLOAD_LEFT,
)
from .errors import OptionError, RunError
from .options import Prepared

if TYPE_CHECKING:
    import pandas as pd

    from .workload import Jobs

__all__ = ["Result"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9
_JOULES_PER_KWH = 3.6e6

COMPLETED, KILLED, UNACCEPTED = "completed", "killed", "unaccepted"
STATUS = (COMPLETED, KILLED, UNACCEPTED)


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
        """Start of each accepted job, in submission order, in seconds."""
        return self._run.state.start

    @property
    def end(self) -> Floats:
        """End of each accepted job, in submission order, in seconds."""
        return self._run.state.end

    @property
    def promises(self) -> Floats:
        """First promised start of each accepted job under conservative backfilling, as work."""
        return self._run.state.first_promise

    @cached_property
    def _stretches(self) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Job, start and stop of each stretch of service."""
        run = self._run
        if self.policy.preemptive:
            names = ("segment_job", "segment_start", "segment_stop")
            job, start, stop = (run.rows(name) for name in names)
            return job, start, stop
        return np.arange(len(self.start)), self.start, self.end

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
    def _energy(self) -> tuple[Floats, float]:
        """Joules of each accepted job, and of the idle servers from first submit to last end."""
        power = self.cluster.power
        epochs, rates = self._epochs
        job, start, stop = self._stretches
        procs = self._run.jobs.procs[job]
        spent = measures.busy_energy(start, stop, procs, epochs, power.busy(rates))
        per_job = (
            spent if not self.policy.preemptive else measures.sum_by_job(job, spent, len(self.end))
        )
        if not len(self.end):
            return per_job, 0.0
        idle_watts = power.idle(rates)
        last = np.array([self.end.max()])
        whole = self.cluster.procs * measures.clock_at(last, epochs, idle_watts)[0]
        taken = measures.busy_energy(start, stop, procs, epochs, idle_watts).sum()
        return per_job, float(whole - taken)

    @cached_property
    def _service(self) -> Floats:
        """Time in service of each accepted job."""
        if not self.policy.preemptive:
            return self.end - self.start
        job, start, stop = self._stretches
        return measures.sum_by_job(job, stop - start, len(self.end))

    def job_columns(self, first: int = 0, last: int | None = None) -> dict[str, NDArray[Any]]:
        """Columns of the job table for the rows `first` to `last`; status as a place in `STATUS`.

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
        status[mine] = self._prepared.killed[at]
        return {
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
            "energy": spread(self._energy[0][at]),
            "status": status,
        }

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The job table (see `docs/reference/jobs`)."""
        import pandas as pd

        columns: dict[str, Any] = self.job_columns()
        columns["status"] = pd.Categorical.from_codes(
            columns["status"], categories=pd.Index(STATUS)
        )
        return pd.DataFrame(columns, copy=False)

    def as_log(self) -> Jobs:
        """The log with the simulated waits (s; -1 if not accepted) and times in service in it."""
        log, accepted = self._prepared.jobs, self._prepared.accepted
        wait, runtime = np.full(len(log), -1.0), log.runtime.copy()
        wait[accepted] = self.start - self._run.jobs.submit
        runtime[accepted] = self._service
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
        columns["power"] = self._power(columns["rate"], columns["busy"])
        return columns

    @cached_property
    def trajectory(self) -> pd.DataFrame:
        """The trajectory: the state after each scheduling instant, until the next."""
        import pandas as pd

        return pd.DataFrame(self.trajectory_columns(), copy=False)

    @cached_property
    def _known_rates(self) -> Floats:
        """Every rate that was ever set, in increasing order."""
        return np.unique(np.append(self._run.rows("epoch_rate"), self._run.initial_rate))

    def _power(self, rate: Floats, busy: NDArray[Any]) -> Floats:
        """Watts of the whole system [rumyantsev2018, eq. 11]."""
        power = self.cluster.power
        known = np.unique(np.append(self._run.rows("epoch_rate"), self._run.initial_rate))
        busy_watts, idle_watts = power.busy(known), power.idle(known)
        if len(known) > 1:
            at = np.searchsorted(known, rate)
            busy_watts, idle_watts = busy_watts[at], idle_watts[at]
        return measures.energy_rate(busy, busy_watts, idle_watts, self.cluster.procs)

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
        log = self._prepared.jobs
        submit = self._run.jobs.submit
        wait, sojourn = self.start - submit, self.end - submit
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
            "completed": int(len(submit) - self._prepared.killed.sum()),
            "killed": int(self._prepared.killed.sum()),
            "unaccepted": len(unaccepted),
            "unaccepted_jobs": unaccepted[:100].tolist(),
            "wait": measures.describe(wait),
            "sojourn": measures.describe(sojourn),
            "service": measures.describe(self._service),
            "slowdown": measures.describe(measures.slowdown(sojourn, self._service)),
            "bounded_slowdown": measures.describe(
                measures.bounded_slowdown(sojourn, self._service)
            ),
            **self._system(),
        }
        if self.cleaning is not None:
            told["cleaning"] = self.cleaning.as_dict()
        return told

    def _system(self) -> dict[str, Any]:
        """Per-system measures, as exact time averages from first submit to last end [eq. 12]."""
        submit, end = self._run.jobs.submit, self.end
        if not len(end):
            return {"makespan": 0.0}
        span = float(end.max() - submit[0])
        total = self._run.state.total

        def mean(integral: float) -> float:
            return float(integral / span) if span > 0 else float("nan")

        busy_joules, idle_joules = float(self._energy[0].sum()), self._energy[1]
        area = float(np.dot(self._run.jobs.procs, self._service))
        epochs, rates = self._epochs
        lasted = np.diff(np.append(epochs, max(end.max(), epochs[-1])))
        shares = {f"{r:g}": mean(lasted[rates == r].sum()) for r in np.unique(rates)}
        return {
            "makespan": span,
            "throughput": mean(len(end)),
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
            "energy": {
                "busy_joules": busy_joules,
                "idle_joules": idle_joules,
                "total_joules": busy_joules + idle_joules,
                "total_kwh": (busy_joules + idle_joules) / _JOULES_PER_KWH,
                "mean_watts": mean(busy_joules + idle_joules),
            },
        }

    def by(self, what: str) -> pd.DataFrame:
        """Measures per class of jobs: user, group, queue, partition, width or status.

        One row per class: jobs, share of the processor time, mean, median and p95 wait (s), mean
        bounded slowdown, energy (J). Widths are grouped by powers of two.
        """
        from .classes import measure_classes

        return measure_classes(self.jobs, self._prepared.jobs, what)

    def _check(self) -> None:
        """What must hold after every run, to 1e-9: areas, loads, and the energy bill."""
        run = self._run
        if not len(self.end):
            return
        total, procs = run.state.total, run.jobs.procs
        # Times are only as fine as their floats; a log of tiny jobs far from zero is coarse.
        grain = 8 * float(np.spacing(max(np.abs(self.end).max(), np.abs(run.jobs.submit).max())))
        fastest = float(self._epochs[1].max())
        coarse = grain * fastest * float(procs.sum())
        done = float(np.dot(procs, run.jobs.work))
        _must_equal("work done and the sum of job areas", total[EFFECTIVE], done, coarse)
        lapse = float(np.sum(self.end - run.jobs.submit))
        present = total[QUEUE] + total[IN_SERVICE]
        _must_equal("Little's law", present, lapse, grain * len(procs))
        wasted = total[POTENTIAL] - total[EFFECTIVE]
        slack = coarse + _TOLERANCE * total[POTENTIAL]
        _must_equal("potential less effective load", wasted, total[WASTE], slack)
        if self.options.record:
            time = run.rows("time")
            watts = self._power(run.rows("rate"), run.rows("busy"))
            integral = float(np.dot(np.diff(time), watts[:-1]))
            bill = float(self._energy[0].sum()) + self._energy[1]
            _must_equal("the energy bill", bill, integral, grain * float(watts.sum()))


def _must_equal(what: str, left: float, right: float, slack: float) -> None:
    if not abs(left - right) <= _TOLERANCE * max(abs(left), abs(right)) + slack:
        raise RunError(
            f"{what}: {float(left)!r} is not {float(right)!r}; please report this as a bug"
        )
