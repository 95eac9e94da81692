"""The recorded schedule of a log beside the nodes of its machine: what exceeds a node, and when."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...arrays import Ints
from ...cluster import Cluster
from ...errors import JobError, OptionError
from ...jobs import Jobs
from ...jobs.recorded import has_recorded_wait

COLUMN = "used"
"""Column of what a job held on each of its nodes, ``node:cores:...:memory``, blanks between."""


@dataclass(frozen=True)
class Excess:
    """More of a resource in use on a node than it has, by what a log says of its own jobs.

    Parameters
    ----------
    node, resource : names, that of the node as the log has it; memory is in KB.
    capacity, peak : what the node has; the most that was in use.
    begin, seconds : the first instant of the excess (s), and how long it lasts in all.
    job : that started at the first instant; the first of them in the log.
    """

    node: str
    resource: str
    capacity: int
    peak: int
    begin: float
    seconds: float
    job: int


@dataclass(frozen=True)
class RecordedUse:
    """What jobs held: a row per job and node, `held` by resource (as the cluster has them).

    `names` are what the log calls the nodes of the cluster.
    """

    names: list[str]
    row: Ints
    node: Ints
    held: Ints


def has_recorded_use(jobs: Jobs) -> bool:
    """Whether a log says what its jobs held on which nodes: texts, not numbers."""
    return COLUMN in jobs.names and any(":" in text for text in jobs.coded(COLUMN)[1])


def recorded_use(jobs: Jobs, cluster: Cluster) -> RecordedUse:
    """Return what each job of a log held on each node, as its column ``used`` says.

    Parameters
    ----------
    jobs : the log, with texts such as ``7:8:0:0:2097152 9:8:0:0:2097152``: the name of a node,
        then cores, the further resources in the order of the cluster, and memory (KB) at the end.
    cluster : the nodes. Where the log has numbers of which not all are names of nodes, but all are
        between 1 and their number, it counts them: node 1 is the first one of the cluster.
    """
    if not has_recorded_use(jobs):
        raise OptionError(f"the log has no column '{COLUMN}': what jobs held on nodes is not known")
    codes, texts = jobs.coded(COLUMN)
    names = _named(texts, cluster)
    first = {code: int(np.argmax(codes == code)) for code in np.unique(codes[codes >= 0]).tolist()}
    parsed = {
        code: _parsed(texts[code], names, cluster.resource_names, int(jobs.job[row]))
        for code, row in first.items()
    }
    rows = [
        (j, *part) for j, code in enumerate(codes.tolist()) if code >= 0 for part in parsed[code]
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 2 + len(cluster.resource_names))
    return RecordedUse(list(names), table[:, 0], table[:, 1], table[:, 2:].T)


def _named(texts: list[str], cluster: Cluster) -> dict[str, int]:
    """Return the place of every node by what a log calls it."""
    names = {node.name: place for place, node in enumerate(cluster.nodes)}
    called = {part.partition(":")[0] for text in texts for part in text.split()}
    counted = {str(place + 1): place for place in range(len(cluster.nodes))}
    return counted if called - names.keys() and called <= counted.keys() else names


def _parsed(
    text: str, nodes: dict[str, int], resources: tuple[str, ...], job: int
) -> list[tuple[int, ...]]:
    """Return the node and what is held of each resource, for every part of a text."""
    cores, memory, *others = resources
    order = (cores, *others, memory)
    excesses = []
    for part in text.split():
        name, *cells = part.split(":")
        if len(cells) != len(order) or not all(c.isdecimal() and len(c) < 19 for c in cells):
            said = ":".join(("node", *order))
            raise JobError(job, COLUMN, f"'{part}' is not {said}; write whole numbers")
        if name not in nodes:
            raise JobError(
                job, COLUMN, f"the cluster has no node '{name}'; give the machine of the log"
            )
        held = dict(zip(order, map(int, cells), strict=True))
        excesses.append((nodes[name], *(held[resource] for resource in resources)))
    return excesses


def recorded_excess(jobs: Jobs, cluster: Cluster) -> list[Excess]:
    """Return where and when the recorded jobs hold more than a node has, by node and resource.

    A job holds what its column ``used`` says from submit + wait on, for its runtime. Where one job
    ends and another starts at the same instant, the end comes first.

    Parameters
    ----------
    jobs : the log as it is; jobs without a recorded wait hold nothing.
    cluster : named nodes, called as in the log.

    Examples
    --------
    >>> from sojourn import Jobs, parse_cluster
    >>> jobs = Jobs({"submit": [0, 5], "wait": [0, 0], "runtime": [10, 10], "procs": [12, 8],
    ...              "used": ["1:12:0", "1:8:0"]})
    >>> [excess] = recorded_excess(jobs, parse_cluster("1 x (16 cores)"))
    >>> excess.peak, excess.capacity, excess.begin, excess.seconds
    (20, 16, 5.0, 5.0)
    """
    use = recorded_use(jobs, cluster)
    ran = (has_recorded_wait(jobs) & (jobs.runtime > 0))[use.row]
    row, node, held = use.row[ran], use.node[ran], use.held[:, ran]
    start = (jobs.submit + jobs.wait)[row]
    stop = start + jobs.runtime[row]
    excesses = []
    for n in np.unique(node).tolist():
        mine = np.flatnonzero(node == n)
        times, places = np.unique(np.concatenate((start[mine], stop[mine])), return_inverse=True)
        for r, name in enumerate(cluster.resource_names):
            change = np.zeros(len(times), dtype=np.int64)
            np.add.at(change, places, np.concatenate((held[r, mine], -held[r, mine])))
            busy, capacity = np.cumsum(change), int(cluster.capacity[r, n])
            over = busy > capacity
            # Memory of a node that is not known cannot be exceeded.
            if not over.any() or (name == "memory" and not capacity):
                continue
            begin = float(times[np.argmax(over)])
            starter = mine[(start[mine] == begin) & (held[r, mine] > 0)][0]
            lasting = np.diff(times, append=times[-1])[over].sum()
            excesses.append(
                Excess(
                    use.names[n],
                    name,
                    capacity,
                    int(busy.max()),
                    begin,
                    float(lasting),
                    int(jobs.job[row[starter]]),
                )
            )
    return excesses


def excess_in_words(excesses: list[Excess] | list[dict[str, Any]]) -> str:
    """Return a line about the recorded schedule beside the nodes."""
    if not excesses:
        return "no node is exceeded by the recorded schedule"
    rows = [row if isinstance(row, dict) else asdict(row) for row in excesses]
    worst = max(rows, key=lambda row: row["peak"] / max(row["capacity"], 1))
    kinds = " and ".join(sorted({row["resource"] for row in rows}))
    count = len({row["node"] for row in rows})
    return (
        f"the recorded schedule exceeds {kinds} of {count:,} {'node' if count == 1 else 'nodes'}: "
        f"{worst['peak']:,} {worst['resource']} on node {worst['node']} of {worst['capacity']:,}, "
        f"from second {worst['begin']:,.0f} on (job {worst['job']}), {worst['seconds']:,.0f} s"
    )
