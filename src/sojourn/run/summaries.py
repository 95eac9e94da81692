"""The measures of a run as one flat row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..compare import MEASURES

__all__ = ["MEASURABLE", "flat_summary"]

_SHORTER = {measure.path: measure.name for measure in MEASURES}
_NO_MEASURES = ("seed", "warmup", "recorded", "cleaning", "unaccepted_reasons", "rate_shares")

MEASURABLE = (
    *(
        f"{measure}_{part}"
        for measure in ("wait", "bounded_slowdown", "slowdown", "sojourn", "service")
        for part in ("mean", "median", "p90", "p95", "p99", "max")
    ),
    *("weighted_response", "weighted_slowdown", "awt", "art"),
    *("procs", "nodes", "jobs", "completed", "killed", "unaccepted", "begin_jobs"),
    *("makespan", "throughput", "utilisation", "mean_present", "mean_queue", "mean_busy"),
    *("mean_workload", "mean_workload_at_epochs", "mean_slowness"),
    *("potential_load", "effective_load", "job_wasting", "rate_switches"),
    *("energy_kwh", "total_joules", "busy_joules", "idle_joules", "mean_watts", "power_peak"),
    *("energy_delay", "peas_kwh", "cost", "carbon_kg"),
    *(
        f"events_{what}"
        for what in (
            *("given", "cancelled", "killed", "waiting", "restarts"),
            *("lost_processor_seconds", "down_processor_seconds"),
        )
    ),
)
"""Measures that a run may have, besides the share of the time at each rate."""


def flat_summary(told: Mapping[str, Any], rates: Sequence[float] = ()) -> dict[str, float]:
    """Return every number of a summary under a name of its own, such as ``wait_mean``.

    Names are those of a comparison where it has them, and of the energy bill without a prefix.

    Parameters
    ----------
    told : the summary of a run.
    rates : of the control: each has its share of the time, be it 0.
    """
    flat = {name: float(value) for name, value in _numbers(told)}
    shares = told.get("rate_shares", {})
    known = dict.fromkeys([*(f"{rate:g}" for rate in rates), *shares]) if shares else {}
    return flat | {f"rate_share_{rate}": float(shares.get(rate, 0.0)) for rate in known}


def _numbers(told: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a summary by flat names."""
    for name, value in told.items():
        if name in _NO_MEASURES:
            continue
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, number in inner:
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            path = (name, part) if part else (name,)
            plain = part if name == "energy" else "_".join(path)
            yield _SHORTER.get(path, plain), number
