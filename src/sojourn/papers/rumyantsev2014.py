"""Stability constants of [rumyantsev2014] on the data of the Karelian cluster, and elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..jobs import read_hpcwld
from .registry import Reproduced, Request, Row, reproduction

SERVERS = 80

LOGS = {
    "HPC_KRC, cores used": ("HPC_KRC", "cores_used"),
    "HPC_KRC, cores requested": ("HPC_KRC", "cores_requested"),
    "HPC_KRC2, cores used": ("HPC_KRC2", "cores_used"),
}
"""Dataset of hpcwld and the column that is the width of a job."""

SMALL = {
    "p = (1/2, 0, 0, 1/2)": (0.5, 0.0, 0.0, 0.5),
    "p = (0.4, 0.3, 0.2, 0.1)": (0.4, 0.3, 0.2, 0.1),
    "uniform widths, s = 3": (1 / 3, 1 / 3, 1 / 3),
    "uniform widths, s = 10": (0.1,) * 10,
}
"""Distributions of the width, p[k-1] = P{N = k}."""

GENERAL = "uniform widths, s = 10"
"""Where the conjecture for general service is tried (errata 4)."""

VARIATION = (4.0, 6.5)
"""Squared coefficients of variation of the hyperexponential times tried.

Errata 4 has 0.819 and names none; with balanced means the second comes to it.
"""

_JOBS, _REPLICATIONS, _SEED = 50_000, 20, 1
_COLUMNS = ("C", "arrival_rate", "mean_service", "rho", "time_per_job", "low", "high")


@dataclass(frozen=True)
class BalancedHyperexponential:
    """Mean 1; short times and long ones carry half of the work each (balanced means).

    `variation` is the squared coefficient of variation, at least 1.
    """

    variation: float

    def mean(self) -> float:
        """Return the expected value (s)."""
        return 1.0

    def rvs(self, *, size: int, random_state: np.random.Generator) -> Floats:
        """Draw times (s)."""
        short = 0.5 + 0.5 * np.sqrt((self.variation - 1) / (self.variation + 1))
        share = np.where(random_state.random(size) < short, short, 1 - short)
        times: Floats = random_state.exponential(1.0, size) / (2 * share)
        return times


@reproduction("rumyantsev2014-constants", "Stability constants and loads, and where they are exact")
def constants(request: Request) -> Reproduced:
    """C (9) and rho (3) of the logs, small exact ones, and saturated systems for errata 4."""
    rows = [*_logs(request), *_small(), *_saturated()]
    by_name = {str(row["what"]): row for row in rows}
    loads = ", ".join(f"{by_name[name]['rho']:.3f}" for name in LOGS)
    says = (
        f"on {SERVERS} servers all logs are stable (rho = {loads}); C E[S] is the time per job of "
        "a saturated system for exponential service only: on 10 servers "
        f"{by_name[GENERAL]['C']:.3f}, but less for deterministic and more for hyperexponential "
        "times (errata 4)"
    )
    return Reproduced(rows, says, table=_table(rows))


def _row(what: str, servers: int, **values: float) -> Row:
    return {"what": what, "servers": servers, **{name: values.get(name, "") for name in _COLUMNS}}


def _logs(request: Request) -> Iterator[Row]:
    from ..theory import stability_constant, stability_load

    for what, (dataset, cores) in LOGS.items():
        path = request.file(
            f"hpcwld/{dataset}.csv", f"dataset {dataset} of the R package hpcwld, written as CSV"
        )
        jobs = read_hpcwld(path, cores=cores, clean=True)
        p = np.bincount(jobs.procs, minlength=SERVERS + 1)[1:] / len(jobs)
        rate = float((len(jobs) - 1) / (jobs.submit[-1] - jobs.submit[0]))
        service = float(jobs.runtime.mean())
        yield _row(
            what,
            SERVERS,
            C=stability_constant(p),
            arrival_rate=rate,
            mean_service=service,
            rho=stability_load(rate, service, p),
        )


def _small() -> Iterator[Row]:
    from ..theory import stability_constant

    for what, p in SMALL.items():
        yield _row(what, len(p), C=stability_constant(p))


def _saturated() -> Iterator[Row]:
    """Time per job of the saturated system by simulation, with intervals at 99 %."""
    from scipy import stats

    from ..capacity.saturation import saturated_throughput
    from ..theory import stability_constant

    p = SMALL[GENERAL]
    services = {"exponential": stats.expon(), "deterministic": [1.0]}
    services |= {
        f"hyperexponential (c² = {variation:g})": BalancedHyperexponential(variation)
        for variation in VARIATION
    }
    for name, service in services.items():
        throughput = saturated_throughput(
            service, p, jobs=_JOBS, replications=_REPLICATIONS, seed=_SEED, confidence=0.99
        )
        yield _row(
            f"{GENERAL}, {name}",
            len(p),
            C=stability_constant(p),
            mean_service=1.0,
            time_per_job=1 / throughput.value,
            low=1 / throughput.high,
            high=1 / throughput.low,
        )


def _table(rows: list[Row]) -> str:
    """Three parts: logs, exact constants, saturated systems."""
    lines = [f"{'':<54}{'C':>16}{'rho':>12}{'time per job':>14}{'99 % interval':>18}"]
    for row in rows:
        line = f"{row['what']:<54}{row['C']:>16.12f}"
        if row["rho"] != "":
            line += f"{row['rho']:>12.6f}"
        elif row["time_per_job"] != "":
            line += f"{'':>12}{row['time_per_job']:>14.4f}   {row['low']:.4f} … {row['high']:.4f}"
        lines.append(line)
    return "\n".join(lines)
