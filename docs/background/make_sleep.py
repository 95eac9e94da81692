"""What sleeping saves on KTH and on Eurora: the tables of power-states.md, and its pictures.

``python docs/background/make_sleep.py`` prints the tables; it needs the logs, see CONTRIBUTING.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import sojourn
from sojourn.cluster import Cluster, Node, PowerStates, Server, SleepState
from sojourn.report import save, sleep_curve
from sojourn.study import SleepSavings, sleep_savings

HERE = Path(__file__).parent
DATA = Path(os.environ.get("SOJOURN_DATA", HERE.parents[1] / ".." / "shared" / "data"))
OFF = SleepState("off", 9.75, enter=6.1, enter_watts=100.997, leave=151.52, leave_watts=125.17)
WATTS = (95.0, 190.738)
DRAWS = 20


def kth() -> tuple[sojourn.Jobs, Cluster]:
    """The log of KTH, on 100 nodes of one processor."""
    log = next((DATA / "swf").glob("KTH-SP2-1996-2*"))
    server = Server("SP2", cores=1, ops=1e9, watts=WATTS, states=PowerStates((OFF,)))
    return sojourn.read_log(log), Cluster.of(Node(f"n{k}", server) for k in range(100))


def eurora() -> tuple[sojourn.Jobs, Cluster]:
    """1,000 jobs of Eurora on its 64 nodes, each with the watts of the nodes above."""
    cluster = sojourn.read_cluster(DATA / "eurora" / "nodes.csv")
    power = {"watts": WATTS, "idle_known": True, "states": PowerStates((OFF,))}
    nodes = (replace(node, server=replace(node.server, **power)) for node in cluster.nodes)
    log = sojourn.read_log(DATA / "eurora" / "20140401_000244.csv")
    return log, replace(cluster, nodes=tuple(nodes))


STUDIES = {"kth": kth, "eurora": eurora}


def study(name: str, draws: int = DRAWS) -> SleepSavings:
    """Ten idle times on a log under EASY."""
    jobs, cluster = STUDIES[name]()

    def report(done: int, whole: int) -> None:
        print(f"\r{name}: {done} of {whole} runs", end="", file=sys.stderr)

    return sleep_savings(jobs, cluster, "easy", draws=draws, progress=report)


def lines(found: SleepSavings) -> Iterator[str]:
    """The table of a study, in Markdown."""
    yield "| idle time (s) | kWh | mean wait (s) | boots | saved (%) | added to the mean wait (s) |"
    yield "|---|---|---|---|---|---|"
    yield f"| never | {found.kwh:,.0f} | {found.wait:,.0f} | 0 | 0 | 0 |"
    for place, point in enumerate(found.points):
        saved, added = point.saved, point.added
        share, low, high = (100 * part for part in (saved.estimate, saved.low, saved.high))
        knee = " (knee)" if place == found.knee else ""
        yield (
            f"| {point.idle_time:,.0f}{knee} | {point.energy.b:,.0f} "
            f"| {point.wait.b:,.0f} | {point.boots:,} | {share:.1f} ({low:.1f} to {high:.1f}) "
            f"| {added.estimate:+,.0f} ({added.low:+,.0f} to {added.high:+,.0f}) |"
        )


def main() -> None:
    for name in sys.argv[1:] or STUDIES:
        found = study(name)
        print(f"\n{name}: {found.jobs:,} jobs, draws by {found.block}", *lines(found), sep="\n")
        picture = sleep_curve(**found.curve())
        save(picture, HERE.parent / "images" / f"sleep-{name}.png", dpi=100)


if __name__ == "__main__":
    main()
