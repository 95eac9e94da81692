"""An order of one's own beside ours: small jobs first, but nobody waits for ever.

python examples/own_order.py [LOG]
"""

from __future__ import annotations

import sys

import sojourn


@sojourn.score(theta=[86400.0])
def patient(jobs, j, now, theta):
    """Smallest area first, until a job has waited theta[0] seconds."""
    area = jobs.procs[j] * jobs.estimate[j]
    return area * (1.0 - (now - jobs.submit[j]) / theta[0])


def main() -> None:
    """Run the example."""
    if len(sys.argv) > 1:
        jobs = sojourn.read_log(sys.argv[1])
    else:
        jobs = sojourn.lublin(5000, 256, load=0.8, seed=1, estimates="tsafrir")
    own = [
        sojourn.Policy(order=patient.with_theta(hours * 3600.0), backfill="easy")
        for hours in (6, 24, 96)
    ]
    print(f"{'policy':<14} {'patience':>8} {'mean wait':>10} {'longest':>9} {'slowdown':>9}")
    for policy in ("easy", "saf+easy", *own):
        result = sojourn.simulate(jobs, jobs.max_procs, policy)
        s = result.summary
        theta = result.policy.score.theta
        patience = f"{theta[0] / 3600:.0f} h" if theta else ""
        print(
            f"{result.policy!s:<14} {patience:>8} {s['wait']['mean'] / 3600:>8.2f} h "
            f"{s['wait']['max'] / 3600:>7.0f} h {s['bounded_slowdown']['mean']:>9.1f}"
        )


if __name__ == "__main__":
    main()
