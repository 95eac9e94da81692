"""What time limits do: who finishes, at which limit enough do, and what removed jobs cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..errors import OptionError
from ..jobs import Jobs
from ..theory.fit import Fit, Survival, fit_model, kaplan_meier
from ..theory.limits import completion_curve, critical_limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_HOUR = 3600.0
_READINGS: dict[str, dict[str, Any]] = {
    "job": {"reading": "job"},
    "each": {"reading": "sub-request", "limits": "each"},
    "shared": {"reading": "sub-request", "limits": "shared"},
}


@dataclass(frozen=True)
class LimitReading:
    """What the model says of a log in one reading [mminf2023].

    Parameters
    ----------
    mean_service, mean_limit : of a job, or of each of its sub-requests (s); the limit is
        infinite if no job was removed.
    completion_probability : P_serv under that limit, for the widths of the log [eq. 43].
    critical_limit : mean limit under which the target is reached (s) [eq. 45].
    servers : processors that are enough with the probability asked for.
    """

    mean_service: float
    mean_limit: float
    completion_probability: float
    critical_limit: float
    servers: int


@dataclass(frozen=True)
class TimeLimits:
    """What time limits do to the jobs of a log.

    Parameters
    ----------
    target : probability of completion aimed at.
    enough : probability with which processors are to be enough.
    readings : the model by reading: ``job`` (one service and one limit), ``each`` (a sub-request
        per processor, each with its limit) and ``shared`` (sub-requests with one limit).
    measured_limit : least common limit that the target share of jobs would meet (s), by Kaplan
        and Meier; infinite where the log does not reach so far.
    measured_servers : processors that are enough, by the measured durations of each width.
    counts : jobs by how they ended.
    processor_seconds : what they used, likewise.
    fit : the reading ``job``.
    survival : share of services not ended, against time, where removal only cuts the look short.
    warnings : where the log contradicts the model.
    """

    target: float
    enough: float
    readings: dict[str, LimitReading]
    measured_limit: float
    measured_servers: int
    counts: dict[str, int]
    processor_seconds: dict[str, float]
    fit: Fit
    survival: Survival
    warnings: tuple[str, ...]

    @property
    def killed_share(self) -> float:
        """Share of the jobs that started and were killed at their limit."""
        return self.counts["killed"] / self.fit.outcomes.kind.size

    @property
    def completed_share(self) -> float:
        """Share of the jobs that ended, and did so by themselves."""
        return self.fit.rates.served / (self.fit.rates.served + self.fit.rates.removed)

    @property
    def burnt_share(self) -> float:
        """Share of the processor seconds that went to jobs killed at their limit."""
        total = sum(self.processor_seconds.values())
        return self.processor_seconds["killed"] / total if total > 0 else 0.0

    def measured_curve(self, limits: ArrayLike) -> Floats:
        """Return the share of jobs that would finish under a common limit, for each (s)."""
        return 1 - self.survival.at(limits)

    def model_curve(
        self, mean_limits: ArrayLike, reading: str = "job", width: int | None = None
    ) -> Floats:
        """Return P_serv for each mean limit (s) [mminf2023, eqs. 43, 44, 48].

        Parameters
        ----------
        reading : ``job``, ``each`` or ``shared``.
        width : of a job of so many processors; None: of the jobs of the log.
        """
        service = self.readings[reading].mean_service
        if reading == "job":
            return completion_curve(mean_limits, service, 1)
        served = self.fit.width if width is None else width
        return completion_curve(mean_limits, service, served, reading)

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON; times in s."""
        requested = self.fit.requested
        return {
            "target": self.target,
            "enough": self.enough,
            "readings": {name: asdict(reading) for name, reading in self.readings.items()},
            "measured": {
                "completion_probability": self.completed_share,
                "critical_limit": self.measured_limit,
                "servers": self.measured_servers,
                "requested_mean": None if requested is None else requested.mean,
            },
            "jobs": self.counts,
            "killed_share": self.killed_share,
            "processor_hours": {k: v / _HOUR for k, v in self.processor_seconds.items()},
            "burnt_share": self.burnt_share,
            "warnings": list(self.warnings),
        }


def time_limits(
    jobs: Jobs,
    *,
    target: float = 0.9,
    enough: float = 0.999,
    servers: int | None = None,
    served: Sequence[str] = ("completed", "failed"),
    removed: Sequence[str] = ("killed", "cancelled"),
    tolerance: float = 0.0,
) -> TimeLimits:
    """Study what time limits do to the jobs of a log: in theory, three readings, and as measured.

    Parameters
    ----------
    jobs : the log as it was read, with estimates: they are the limits.
    target : probability of completion aimed at, above 0 and below 1.
    enough : probability with which processors are to be enough, above 0 and below 1.
    servers : leave out jobs wider than this; None: none.
    served, removed, tolerance : as in `sojourn.theory.fit_model`.

    Notes
    -----
    The measured curve needs no distribution, but one assumption that is hard to check: that a job
    was not removed because it would have taken long. Users with long jobs ask for long limits,
    and a killed job is judged by those that still run, so the curve is a little too low.
    """
    for name, value in (("target", target), ("enough", enough)):
        if not 0 < value < 1:
            raise OptionError(f"{name} = {value:g}: give a probability above 0 and below 1")
    options: dict[str, Any] = {
        "servers": servers,
        "served": served,
        "removed": removed,
        "tolerance": tolerance,
    }
    fits = {name: fit_model(jobs, **how, **options) for name, how in _READINGS.items()}
    fit = fits["job"]
    source = jobs.source or "jobs"
    if fit.requested is None:
        # Those that equal the runtimes of all jobs are copies [theory.fit.classify].
        copied = (jobs.estimate > 0).any()
        why = "every estimate equals the runtime" if copied else "no job has an estimate"
        raise OptionError(f"{source}: {why}, so no limit is known; give a log with requested times")
    if fit.rates.served == 0:
        raise OptionError(
            f"{source}: no service ends, so no limit is long enough; give a log with jobs that "
            "completed"
        )
    seen = fit.outcomes
    survival = kaplan_meier(seen.duration, seen.are(served))
    return TimeLimits(
        target,
        enough,
        {name: _read(fit, target, enough) for name, fit in fits.items()},
        survival.time_of(target),
        fit.busy_as_measured().quantile(enough),
        seen.counts,
        seen.processor_seconds(),
        fit,
        survival,
        fit.warnings,
    )


def picture(answer: TimeLimits, limits: str = "each") -> Figure:
    """Draw figures 3 and 4 of [mminf2023] for a log, with what was measured beside them.

    `limits` is the reading of the second panel: ``each`` or ``shared``.
    """
    from ..report import limit_curves

    # From where hardly a job finishes to where hardly one does not.
    ends = [answer.readings[name].critical_limit for name in ("job", limits)]
    ends += [reading.mean_service for reading in answer.readings.values()]
    z = np.geomspace(max(min(ends) / 30, 1e-3), max(ends) * 10, 2000)
    widths = sorted({1, answer.fit.widths.quantile(0.5), answer.fit.widths.quantile(0.95)})
    wide = {
        f"{k:,} processor{'s' if k > 1 else ''}": answer.model_curve(z, limits, k) for k in widths
    }
    panels = {
        "One limit for a job": {
            "model, mean of random limits": answer.model_curve(z),
            "model, common limit": -np.expm1(-z / answer.readings["job"].mean_service),
            "as measured, common limit": answer.measured_curve(z),
        },
        "A limit for each processor" if limits == "each" else "One limit for all processors": {
            **wide,
            "jobs of the log": answer.model_curve(z, limits),
        },
    }
    return limit_curves(z, panels, target=answer.target)


def _read(fit: Fit, target: float, enough: float) -> LimitReading:
    model = fit.infinite_servers()
    service = 1 / fit.service_rate
    whole = fit.reading == "job"
    return LimitReading(
        service,
        1 / fit.limit_rate if fit.limit_rate > 0 else float("inf"),
        model.completion_probability,
        critical_limit(target, service, 1 if whole else fit.width, fit.limits),
        model.quantile(enough),
    )
