"""Draw the pictures of the documentation from generated jobs: ``python docs/images/make.py``."""

from __future__ import annotations

from pathlib import Path

import sojourn
from sojourn.report import compare, overview, save, workload

HERE = Path(__file__).parent
DOTS_PER_INCH = 100


def main() -> None:
    jobs = sojourn.lublin(2000, 128, load=0.7, seed=1, estimates="tsafrir")
    policies = ("fcfs", "easy", "sjf+easy")
    runs = {policy: sojourn.simulate(jobs, 128, policy, record=True) for policy in policies}
    title = "2,000 generated jobs on 128 processors, EASY backfilling"
    page = overview(runs["easy"].jobs, runs["easy"].trajectory, 128, title)
    save(page, HERE / "overview.png", dpi=DOTS_PER_INCH)
    tables = {policy: run.jobs for policy, run in runs.items()}
    save(compare(tables), HERE / "compare.png", dpi=DOTS_PER_INCH)
    control = sojourn.workload_hysteresis((0.8, 1.0), 1e5, 3e5)
    run = sojourn.simulate(jobs, 128, "easy", rate=control, record=True)
    week = run.trajectory[run.trajectory["time"].between(5 * 86400, 12 * 86400)]
    save(workload(week, (1e5, 3e5)), HERE / "workload.png", dpi=DOTS_PER_INCH)


if __name__ == "__main__":
    main()
