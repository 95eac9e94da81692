"""What slowing down in quiet times saves, and what it costs in waiting.

Draws energy and mean workload against the switching threshold into trade_off.png.

    python examples/slow_when_quiet.py
"""

from __future__ import annotations

import numpy as np

import sojourn
from sojourn.report import save, trade_off

LOW, HIGH = 0.75, 1.0
POWER = sojourn.RatePower({LOW: (26.0, 15.0), HIGH: (41.0, 18.0)})


def main() -> None:
    """Run the example."""
    jobs = sojourn.lublin(5000, 256, load=0.6, seed=4, estimates="tsafrir")
    cluster = sojourn.Cluster.homogeneous(256, power=POWER)
    thresholds = np.linspace(0.0, 6e5, 13)
    energy, workload = [], []
    print(f"{'threshold':>10} {'kW':>7} {'workload':>10} {'mean wait':>10} {'at high rate':>13}")
    for k in thresholds:
        control = sojourn.threshold((LOW, HIGH), k)
        s = sojourn.simulate(jobs, cluster, "easy", rate=control).summary
        energy.append(s["energy"]["mean_watts"] / 1e3)
        workload.append(s["mean_workload"])
        print(
            f"{k:>10.0f} {energy[-1]:>7.3f} {workload[-1]:>10.0f} "
            f"{s['wait']['mean'] / 3600:>8.2f} h {s['rate_shares'].get('1', 0.0):>12.0%}"
        )
    save(trade_off(thresholds, energy, workload, unit="kW"), "trade_off.png")
    print("trade_off.png written")


if __name__ == "__main__":
    main()
