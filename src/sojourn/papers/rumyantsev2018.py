"""Figures 1 to 3 of [rumyantsev2018, sec. IV], on the data of the Karelian cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..cluster import XEON_5430, Cluster, RatePower
from ..jobs import Jobs, read_hpcwld
from ..policy import Control, constant, threshold, workload_hysteresis
from .registry import Reproduced, Request, reproduction

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ..run.result import Result

SERVERS = 80
RATES = (2.0, 2.66)
"""r_L and r_H, in GHz."""

HYSTERESIS = (1e5, 3e5)
"""k_L and k_H, in seconds of work at rate 1."""

THRESHOLDS = tuple(1e5 * i for i in range(31))
"""k of Fig. 3: 0, 10^5, ..., 3 * 10^6."""

STRETCH = (60 * 86400.0, 76 * 86400.0)
"""What Fig. 1 shows of the run, in seconds: the paper does not say; here seven switching cycles."""

CUSTOMERS = (7000, 7499)
"""First and last label in Fig. 2."""

_PRINTED = {2.0: (41.0, 14.0), 2.66: (34.0, 18.0)}
"""Busy and idle watts of a core at each rate, as printed; `XEON_5430` has the busy ones swapped."""

_WATTS_PER_UNIT = 1000.0
"""The paper's energies are per core in kilowatts."""


def cluster_log(request: Request) -> Jobs:
    """The 9,389 tasks without erroneous records, as customers 1, 2, ... (errata 13)."""
    path = request.file(
        "hpcwld/HPC_KRC2.csv", "dataset HPC_KRC2 of the R package hpcwld, written as CSV"
    )
    jobs = read_hpcwld(path, clean=True)
    return jobs.replace(job=np.arange(1, len(jobs) + 1))


def _serve(jobs: Jobs, control: Control, **options: Any) -> Result:
    """FCFS on 80 servers."""
    from ..run.simulate import simulate

    cluster = Cluster.homogeneous(SERVERS, power=options.pop("power", XEON_5430))
    return simulate(jobs, cluster, "fcfs", rate=control, estimates="exact", clean=(), **options)


def _rows(table: pd.DataFrame, names: dict[str, str]) -> list[dict[str, float]]:
    """Columns of a table under the names of the paper."""
    columns = [table[name].tolist() for name in names]
    return [dict(zip(names.values(), row, strict=True)) for row in zip(*columns, strict=True)]


@reproduction("rumyantsev2018-fig1", "Workload and customers in service under hysteresis")
def fig1(request: Request) -> Reproduced:
    """Workload W and number in service, k_L = 10^5 and k_H = 3 * 10^5."""
    control = workload_hysteresis(RATES, *HYSTERESIS)
    path = _serve(cluster_log(request), control, record=True).trajectory
    first, last = STRETCH
    path = path[(path["time"] >= first) & (path["time"] <= last)]
    ups, downs = (int(np.count_nonzero(side * np.diff(path["rate"]) > 0)) for side in (1, -1))
    says = (
        f"{len(path)} epochs; the workload exceeds k_H = 3e5 and the rate goes up {ups} times, "
        f"falls to k_L = 1e5 and the rate goes down {downs} times"
    )

    def draw() -> Figure:
        from ..report import workload

        return workload(path, HYSTERESIS)

    names = {"time": "time", "workload": "workload", "running": "in_service", "rate": "rate"}
    return Reproduced(_rows(path, names), says, draw)


def _customers(result: Result) -> Reproduced:
    """Who holds the servers, and who waits or computes."""
    first, last = CUSTOMERS
    table = result.jobs
    table = table[table["job"].between(first, last)]
    waits = table["wait"]
    says = (
        f"{np.count_nonzero(waits > 0)} of {len(table)} customers wait, "
        f"{waits.max() / 3600:.1f} h at most"
    )

    def draw() -> Figure:
        from ..report import occupation

        return occupation(table, SERVERS)

    kept = {name: name for name in ("submit", "start", "end", "procs")}
    return Reproduced(_rows(table, {"job": "customer", **kept}), says, draw)


@reproduction("rumyantsev2018-fig2", "Servers held and state of customers 7000 to 7499")
def fig2(request: Request) -> Reproduced:
    """As Fig. 1; the heavy waiting that the paper describes does not appear (errata 14)."""
    control = workload_hysteresis(RATES, *HYSTERESIS)
    return _customers(_serve(cluster_log(request), control))


@reproduction(
    "rumyantsev2018-fig2-low-rate", "The same, recorded at 2.66 GHz and served at 2.0 throughout"
)
def fig2_low_rate(request: Request) -> Reproduced:
    """A reading under which the heavy waiting appears: services a third longer than recorded."""
    low, high = RATES
    return _customers(_serve(cluster_log(request), constant(low), reference_rate=high))


@reproduction(
    "rumyantsev2018-fig3",
    "Energy and workload against the switching threshold",
    printed="energy constants e(r_L) = 0.041, e(r_H) = 0.034 instead of the swapped ones",
)
def fig3(request: Request) -> Reproduced:
    """Mean energy per unit time (11), (12) and mean workload for k = 0, 10^5, ..., 3 * 10^6."""
    jobs = cluster_log(request)
    power = RatePower(_PRINTED) if request.printed else XEON_5430
    rows = [_point(k, _serve(jobs, threshold(RATES, k), power=power)) for k in THRESHOLDS]
    energy, work = ([row[name] for row in rows] for name in ("energy", "workload"))
    constants = "printed" if request.printed else "swapped (errata 12)"
    says = (
        f"from k = 0 to 3e6, energy goes from {energy[0]:.4f} to {energy[-1]:.4f} per unit time "
        f"and workload from {work[0]:.4g} to {work[-1]:.4g}; energy constants {constants}"
    )

    def draw() -> Figure:
        from ..report import trade_off

        return trade_off(THRESHOLDS, energy, work, unit="kW")

    return Reproduced(rows, says, draw)


def _point(k: float, result: Result) -> dict[str, float]:
    summary = result.summary
    return {
        "k": k,
        "energy": summary["energy"]["mean_watts"] / _WATTS_PER_UNIT,
        "workload": summary["mean_workload"],
        "time_at_high_rate": summary["rate_shares"].get(f"{RATES[1]:g}", 0.0),
    }
