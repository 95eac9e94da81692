"""Draw ``sweep.png``: Fig. 3 of [rumyantsev2018] with intervals, from 620 runs.

Call it as ``python docs/images/make_sweep.py DATA``, where DATA has ``hpcwld/HPC_KRC2.csv``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

from sojourn.report import save
from sojourn.report.figures.style import BAND, PALETTE, new_figure, polish, styled, title
from sojourn.study import Scenario, Study, sweep

HERE = Path(__file__).parent
SCENARIO = {
    "workload": {"log": "hpcwld/HPC_KRC2.csv", "format": "hpcwld", "resample": "week"},
    "cluster": {"procs": 80},
    "policy": {"name": "fcfs", "estimates": "exact"},
    "control": {"kind": "threshold", "rates": [2.0, 2.66], "k": 0},
    "power": {
        "levels": [{"rate": 2.0, "busy": 34, "idle": 14}, {"rate": 2.66, "busy": 41, "idle": 18}]
    },
}


def main() -> None:
    scenario = Scenario.from_mapping(SCENARIO, sys.argv[1])
    study = sweep(scenario, {"control.k": "0:3e6:1e5"}, replications=20, workers=1)
    save(draw(study), HERE / "sweep.png", dpi=100)


@styled
def draw(study: Study) -> Figure:
    figure = new_figure(8.0, 3.6)
    shown = (("mean_watts", "power"), ("mean_workload", "workload"))
    means = list(study.points([name for name, _ in shown]))
    pairs = list(study.changes({"control.k": 0.0}, [name for name, _ in shown]))
    left, right = figure.subplots(1, 2)
    k = [point.values["control.k"] / 1e6 for point in means]
    for (name, label), colour in zip(shown, PALETTE, strict=False):
        for axes, points in ((left, means), (right, pairs)):
            found = [point.measures[name] for point in points]
            # Means as shares of the first one, so that both fit into one picture.
            scale = 100 / found[0].estimate if axes is left else 100.0
            axes.plot(k, [scale * each.estimate for each in found], color=colour, label=label)
            axes.fill_between(
                k,
                [scale * each.low for each in found],
                [scale * each.high for each in found],
                color=colour,
                alpha=BAND,
                linewidth=0,
            )
    title(left, "Means, % of those at k = 0")
    title(right, "Changes in pairs, %")
    left.legend(loc="upper left")
    for axes in (left, right):
        axes.set_xlabel("threshold k (10$^6$ s of work)")
        polish(axes)
    return figure


if __name__ == "__main__":
    main()
