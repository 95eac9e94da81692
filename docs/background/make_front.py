"""Waits, kWh and CO2 on KTH and on Eurora: the tables of wait-energy-carbon.md, and its pictures.

``python docs/background/make_front.py`` prints the tables; it needs the logs, see CONTRIBUTING.
With ``--keep FOLDER`` runs are kept there, and known the next time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import sojourn
from sojourn.cluster import Cluster, Node, PowerStates, Server, SleepState, write_cluster
from sojourn.report import save, saving_front
from sojourn.study import Front, Interval, optimise, paired_difference, relative_change, sweep

HERE = Path(__file__).parent
DATA = Path(os.environ.get("SOJOURN_DATA", HERE.parents[1] / ".." / "shared" / "data"))
OFF = SleepState("off", 9.75, enter=6.1, enter_watts=100.997, leave=151.52, leave_watts=125.17)
WATTS = (95.0, 190.738)
MEASURES = ("wait_mean", "energy_kwh", "carbon_kg")
SLEEP, THRESHOLD, SLACK = "policy.sleep", "control.k", "defer.slack"
VARIED = {SLEEP: "idle:{60:14400:log}", THRESHOLD: "1e3:1e7:log", SLACK: "0:86400"}
PLAIN = {SLEEP: "never", THRESHOLD: 0, SLACK: 0}
"""No node sleeps, the rate is 1 while there is any work, nobody is held."""
ALONE = {
    "sleep alone": {**PLAIN, SLEEP: "idle:80"},
    "slowing down alone": {**PLAIN, THRESHOLD: 5e5},
    "holding alone": {**PLAIN, SLACK: 86400},
}
BUDGETS = {"kth": (300, 900, 1800, 3600, 7200, 14400, 36000), "eurora": (60, 300, 900, 3600, 14400)}
"""What the mean wait may grow by (s)."""
SEARCH, DRAWS, SEED = 5, 20, 1
"""Replications of a point in the search, and others of the points found."""

Point = Mapping[str, Any]


def kth() -> tuple[dict[str, Any], Cluster]:
    """The log of KTH, on 100 nodes of one processor."""
    log = next((DATA / "swf").glob("KTH-SP2-1996-2*"))
    server = Server("SP2", cores=1, ops=1e9, watts=WATTS, states=PowerStates((OFF,)))
    workload = {"log": str(log), "resample": "week"}
    return workload, Cluster.of(Node(f"n{k}", server) for k in range(100))


def eurora() -> tuple[dict[str, Any], Cluster]:
    """1,000 jobs of Eurora on its 64 nodes, each with the watts of the nodes above."""
    cluster = sojourn.read_cluster(DATA / "eurora" / "nodes.csv")
    power = {"ops": 1e9, "watts": WATTS, "idle_known": True, "states": PowerStates((OFF,))}
    nodes = (replace(node, server=replace(node.server, **power)) for node in cluster.nodes)
    workload = {"log": str(DATA / "eurora" / "20140401_000244.csv"), "resample": "jobs"}
    return workload, replace(cluster, nodes=tuple(nodes))


STUDIES = {"kth": kth, "eurora": eurora}


def scenario(name: str, folder: Path) -> dict[str, Any]:
    """A study's log and machine with the German grid of 2022; the cluster's file is in a folder."""
    workload, cluster = STUDIES[name]()
    file = folder / f"{name}.toml"
    write_cluster(cluster, file)
    return {
        "workload": workload,
        "cluster": {"nodes": str(file)},
        "policy": {"name": "easy", "sleep": "never"},
        "control": {"kind": "threshold", "rates": [0.8, 1.0], "k": 0},
        "power": {
            "carbon": str(DATA / "carbon" / "DE-2022-job_1-slack_24.csv.gz"),
            "series": "repeat",
            "starts": "2022-09-26T00:00 Europe/Berlin",
        },
        "defer": {"kind": "window", "slack": 0, "who": "fraction=0.3"},
    }


def search(name: str, folder: Path, **effort: Any) -> Front:
    """The front of a study."""

    def report(tally: Any) -> None:
        print(f"\r{name}: {tally.done} of about {tally.total} runs", end="", file=sys.stderr)

    plan = {"population": 32, "generations": 15, "replications": SEARCH, "confirm": DRAWS} | effort
    given, kept = scenario(name, folder), folder / f"{name}-runs"
    return optimise(
        given, VARIED, MEASURES, out=kept, seed=SEED, workers=1, progress=report, **plan
    )


class Changes:
    """What points change against doing nothing, in the draws that the front is reported from."""

    def __init__(self, name: str, folder: Path) -> None:
        self._scenario = scenario(name, folder)
        self._plain = self._draws(PLAIN)

    def _draws(self, point: Point) -> dict[str, np.ndarray]:
        axes = {key: [value] for key, value in point.items()}
        table = sweep(self._scenario, axes, SEARCH + DRAWS, seed=SEED, workers=1).table
        drawn = table[table["replication"] >= SEARCH].sort_values("replication")
        return {name: drawn[name].to_numpy() for name in MEASURES}

    def of(self, point: Point) -> tuple[Interval, Interval, Interval]:
        """Seconds added to the mean wait, and shares of energy and CO2 that are added."""
        return self.between(self._draws(point))

    def between(self, drawn: Mapping[str, np.ndarray]) -> tuple[Interval, Interval, Interval]:
        """The same from the measures of each draw."""
        wait, *others = MEASURES
        added = paired_difference(drawn[wait], self._plain[wait])
        return added, *(relative_change(drawn[name], self._plain[name]) for name in others)


def samples(name: str, folder: Path, front: Front) -> Iterator[tuple[Point, dict[str, np.ndarray]]]:
    """The points of a front with the draws that it is reported from, out of the runs kept."""
    from sojourn.study import read_runs

    table = read_runs(folder / f"{name}-runs").to_pandas()
    table = table[table["replication"] >= SEARCH].sort_values("replication")
    for point in front.points:
        mine = table
        for key, value in point.values.items():
            mine = mine[mine[key] == value]
        yield point.values, {name: mine[name].to_numpy() for name in MEASURES}


def idle_time(point: Point) -> float:
    """The idle time of a point (s)."""
    return float(point[SLEEP].partition(":")[2])


def rounded(point: Point) -> dict[str, Any]:
    """A point in numbers that one would choose."""
    return {
        SLEEP: f"idle:{round(idle_time(point))}",
        THRESHOLD: float(f"{point[THRESHOLD]:.2g}"),
        SLACK: int(60 * round(point[SLACK] / 60)),
    }


def row(words: str, point: Point, found: tuple[Interval, Interval, Interval]) -> str:
    """A line of the table, in Markdown."""
    sleep = f"{idle_time(point):,.0f}" if point[SLEEP] != "never" else "never"
    added, energy, carbon = found
    cells = [words, sleep, f"{point[THRESHOLD]:,.0f}", f"{point[SLACK]:,.0f}"]
    cells.append(f"{added.estimate:+,.0f} ({added.low:+,.0f} to {added.high:+,.0f})")
    for change in (energy, carbon):
        saved, low, high = (-100 * part for part in (change.estimate, change.high, change.low))
        cells.append(f"{saved:.1f} ({low:.1f} to {high:.1f})")
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| | idle time (s) | threshold (s of work) | longest extra wait (s) "
    "| added to the mean wait (s) | energy saved (%) | CO2 saved (%) |\n"
    "|---|---|---|---|---|---|---|"
)


def study(name: str, folder: Path) -> None:
    """Search, print the table and draw the picture."""
    front = search(name, folder)
    changes = Changes(name, folder)
    points = [(point, changes.between(drawn)) for point, drawn in samples(name, folder, front)]
    print(f"\n{name}: {len(points)} points of {front.evaluated}, {front.runs:,} runs\n{HEAD}")
    alone = {words: changes.of(point) for words, point in ALONE.items()}
    for words, point in ALONE.items():
        print(row(words, point, alone[words]))
    for most in BUDGETS[name]:
        within = [(point, found) for point, found in points if found[0].estimate <= most]
        if within:
            best = rounded(min(within, key=lambda item: item[1][2].estimate)[0])
            print(row(f"within about {most:,} s", best, changes.of(best)))
    picture = saving_front(
        [(added.estimate, added.low, added.high) for _, (added, _, _) in points],
        [(-energy.estimate, -energy.high, -energy.low) for _, (_, energy, _) in points],
        [-carbon.estimate for _, (_, _, carbon) in points],
        settings={
            "idle time (s)": [idle_time(point) for point, _ in points],
            "threshold (s of work)": [point[THRESHOLD] for point, _ in points],
            "longest extra wait (h)": [point[SLACK] / 3600 for point, _ in points],
        },
        others={
            words: (added.estimate, -energy.estimate, -carbon.estimate)
            for words, (added, energy, carbon) in alone.items()
        },
    )
    save(picture, HERE.parent / "images" / f"front-{name}.png", dpi=100)


def main() -> None:
    asked = sys.argv[1:]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if "--keep" in asked:
            at = asked.index("--keep")
            folder = Path(asked[at + 1])
            del asked[at : at + 2]
        folder.mkdir(exist_ok=True)
        for name in asked or STUDIES:
            study(name, folder)


if __name__ == "__main__":
    main()
