"""A placement of one's own beside ours: one node for a job, if it fits.

A job on nodes of different speed runs at that of the slowest, and its fast processors wait. So
nodes that could hold the whole job come first, the most efficient of them before the others; a job
that no node can hold gets the fastest.

    python examples/own_placement.py [LOG]
"""

from __future__ import annotations

import sys

import sojourn

CLUSTER = "8 x L5420, 8 x X5670, 4 x E5-2670"


@sojourn.score
def together(nodes, n, jobs, j, now, theta):
    """One node if possible, the one with least energy for the work; else fast ones."""
    if nodes.free[n] >= jobs.procs[j]:
        return nodes.watts[n] / nodes.ops[n]
    return 1.0 + nodes.slowness[n]


def main() -> None:
    """Run the example."""
    cluster = sojourn.parse_cluster(CLUSTER)
    if len(sys.argv) > 1:
        jobs = sojourn.read_log(sys.argv[1])
    else:
        jobs = sojourn.lublin(3000, cluster.procs, load=0.5, seed=2, estimates="tsafrir")
    print(f"{'placement':<14} {'mean wait':>10} {'response':>10} {'slowness':>9} {'kWh':>7}")
    for placement in ("first-fit", "fastest", "best-fit", "pack", together):
        s = sojourn.simulate(jobs, cluster, "easy", placement=placement).summary
        print(
            f"{s['placement']:<14} {s['wait']['mean'] / 3600:>8.2f} h "
            f"{s['sojourn']['mean'] / 3600:>8.2f} h {s['mean_slowness']:>9.3f} "
            f"{s['energy']['total_kwh']:>7.0f}"
        )


if __name__ == "__main__":
    main()
