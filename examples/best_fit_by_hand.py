"""A policy that is no formula: step the simulation and look for the set of jobs that fits best.

At each decision, of the first waiting jobs, start those that together leave the fewest
processors idle. It has no reservations: wide jobs may wait long.

    python examples/best_fit_by_hand.py
"""

from __future__ import annotations

import numpy as np

import sojourn

LOOK_AHEAD = 12


def best_subset(widths: np.ndarray, free: int) -> list[int]:
    """Positions of widths whose sum is largest without exceeding `free`; early ones preferred."""
    reached: dict[int, list[int]] = {0: []}
    for place, width in enumerate(widths):
        for total, chosen in list(reached.items()):
            if total + width <= free and total + width not in reached:
                reached[total + width] = [*chosen, place]
    return reached[max(reached)]


def main() -> None:
    """Run the example."""
    jobs = sojourn.lublin(1500, 128, load=0.7, seed=1, estimates="tsafrir")
    run = sojourn.Simulation(jobs, 128)
    decisions = 0
    for decision in run:
        first = decision.waiting[:LOOK_AHEAD]
        for place in best_subset(decision.jobs.procs[first], decision.free):
            decision.start(first[place])
        decisions += 1
    print(f"{decisions} decisions")
    for name, result in {
        "best fit by hand": run.result,
        "fcfs": sojourn.simulate(jobs, 128, "fcfs"),
        "easy": sojourn.simulate(jobs, 128, "easy"),
    }.items():
        s = result.summary
        print(
            f"{name:<17} utilisation {s['utilisation']:.3f}, mean wait "
            f"{s['wait']['mean'] / 3600:6.2f} h, longest {s['wait']['max'] / 3600:5.0f} h"
        )


if __name__ == "__main__":
    main()
