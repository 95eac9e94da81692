"""The oracle of everything on jobs that a machine with several resources has seen."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from .everything import Case, simulate
from .everything_strategies import SCHEDULINGS
from .external import Happening, Reservation
from .laws import check_all
from .nodes import Node, Request, on_nodes
from .queues import Queue

LOGS = ("20140331_093036", "20140401_000244", "20140403_020506", "20140403_115948")
RESOURCES = ("cores", "memory_kib", "gpus", "mics")
JOBS = 50


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def asked_of(row: dict[str, str], queue: int) -> Request:
    nodes, limit = int(row["nodes"]), int(row["limit"])
    need = tuple(int(row[name]) // nodes for name in RESOURCES)
    work = min(int(row["end"]) - int(row["start"]), limit)
    return on_nodes(int(row["submit"]), work, nodes, need, limit, limit)._replace(queue=queue)


@pytest.mark.parametrize("log", LOGS)
def test_a_sixteenth_of_eurora(log: str, data_dir: Path):
    """Few nodes, so that jobs wait: of cores, memory, GPUs and MICs nothing is given twice."""
    folder = data_dir / "eurora"
    nodes = tuple(
        Node(int(row["cores"]), memory=int(row["memory_kib"]), more=(int(row["gpus"]), mics))
        for row in rows(folder / "nodes.csv")[::16]
        for mics in [int(row["mics"])]
    )
    recorded = sorted(rows(folder / f"{log}.csv")[:JOBS], key=lambda row: int(row["submit"]))
    names = sorted({row["queue"] for row in recorded})
    jobs = tuple(asked_of(row, names.index(row["queue"])) for row in recorded)
    first = jobs[0].submit
    case = Case(
        jobs,
        nodes,
        happenings=(Happening(first + 5000, "down", 3), Happening(first + 30000, "up", 3)),
        reservations=(Reservation(0, first + 10000, first + 20000, 0),),
        requeue=True,
    )
    waits = []
    for name in ("fcfs", "easy", "easy:2", "conservative", "lcfs-pr", "spf"):
        outcome = simulate(case._replace(discipline=SCHEDULINGS[name]))
        check_all(case._replace(discipline=SCHEDULINGS[name]), outcome)
        pairs = zip(jobs, outcome.start, outcome.fates, strict=True)
        waits.append([start - job.submit for job, start, _ in pairs if start is not None])
        assert set(outcome.states) <= {"completed", "unaccepted"}
    assert any(sum(some) > 0 for some in waits), "nobody ever waited"
    queued = case._replace(
        queues=tuple(Queue(max_running=3, weight=1 + q) for q in range(len(names))),
        between="weights",
        discipline=SCHEDULINGS["conservative"],
    )
    check_all(queued, simulate(queued))
