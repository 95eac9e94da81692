"""What each job asks of named nodes: tasks, a vector of resources for each, and where they may be.

Columns of the job table are acted on where the cluster has what they name: partitions, licences,
resources besides processors. On nodes that are known by a benchmark alone, jobs ask for processors,
and for what `Constraints` says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...cluster import Cluster, Partition
from ...errors import JobError, OptionError
from ...jobs import Jobs
from ...policy import Asked, Constraints
from ...policy.features import has_features

Flags = NDArray[np.bool_]

_MEMORY = 1
_MOST = 2.0**53
"""KB, more than any node has."""
_SHOWN = 60
_FEW = 2**20
"""Numbers up to this are counted, not sorted."""
_LICENCE = re.compile(r"([^\s:,]+)(?::(\d{1,15}))?")


def asked_time(jobs: Jobs, factor: float | None = None) -> Floats:
    """Return what the limits of partitions and queues see of each job (s).

    Its estimate, or without one what it is planned with.

    Parameters
    ----------
    jobs : of the run.
    factor : of the truth that the scheduler plans with; None for the users' estimates.
    """
    plan = jobs.work * (1.0 if factor is None else factor)
    return np.where(jobs.estimate > 0, jobs.estimate, plan)


def acts_on_columns(cluster: Cluster) -> bool:
    """Whether jobs ask a cluster for what the columns of their table say, not for processors only.

    That is so where nodes are described by what they have: by resources, partitions, pools, queues
    or without a measured speed.
    """
    described = cluster.partitions or cluster.queues or cluster.pools
    return cluster.is_named and bool(
        described
        or len(cluster.resource_names) > 2
        or any(not server.has_speed for server in cluster.kinds[0])
    )


@dataclass(frozen=True)
class NodeRequests:
    """Columns, one value per job; tables are by resource and job.

    Parameters
    ----------
    resources : names; processors and memory (KB) first, then what somebody asks for.
    capacity, pools : of each node (column); of the whole cluster.
    tasks : of each job; at most one on a node if `distinct`.
    need, per_node, licence : of a task, of each node it uses, of the whole cluster.
    whole : nobody shares its nodes.
    choice, choices : its sets of eligible nodes are rows of `eligible`, so many from the first on.
    in_partition : as `eligible`, whatever features the nodes have.
    budget : watts.
    refused : no partition takes it.
    unlicensed : it asks for a licence that the cluster does not have.
    """

    resources: tuple[str, ...]
    capacity: Ints
    pools: Ints
    tasks: Ints
    need: Ints
    per_node: Ints
    licence: Ints
    whole: Flags
    distinct: Flags
    choice: Ints
    choices: Ints
    eligible: Flags
    budget: NDArray[np.float64]
    refused: Flags
    unlicensed: Flags
    in_partition: Flags

    @cached_property
    def plain(self) -> Flags:
        """Which jobs ask for processors only, wherever they are."""
        others = (self.need[1:] + self.per_node[1:] + self.licence[1:]).any(axis=0)
        every = np.asarray(self.eligible.all(axis=1), dtype=np.bool_)
        everywhere = every[self.choice] & (self.choices == 1)
        bounded = np.isfinite(self.budget)
        return np.asarray(~(others | self.whole | self.distinct | bounded) & everywhere)

    @cached_property
    def alike(self) -> Ints:
        """The first job that asks for exactly the same, by job."""
        columns = [self.whole, self.distinct, self.choice, self.choices, self.budget]
        columns += [self.refused, self.unlicensed, *self.need, *self.per_node, *self.licence]
        varied = [column for column in columns if len(column) and column.min() != column.max()]
        keys = [self.tasks, *varied]
        if len(keys) == 1:
            return _first_of(self.tasks)
        order = np.lexsort(keys)
        differs = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
        begins = np.flatnonzero(np.r_[True, differs][: len(order)])
        alike = np.empty_like(order)
        alike[order] = np.repeat(order[begins], np.diff(begins, append=len(order)))
        return alike

    @property
    def procs(self) -> Ints:
        """Processors that each job uses."""
        return np.asarray(self.tasks * self.need[0])

    def held(self, job: Ints, node: Ints, tasks: Ints) -> Ints:
        """What so many tasks of jobs hold on nodes, by resource and row."""
        held = tasks * self.need[:, job] + self.per_node[:, job]
        held[0] = np.where(self.whole[job], self.capacity[0, node], held[0])
        return held

    def of(self, some: Flags) -> NodeRequests:
        """Return those of some jobs."""
        if some.all():
            return self
        tables = ("need", "per_node", "licence")
        columns = ["tasks", "whole", "distinct", "choice", "choices", "budget"]
        columns += ["refused", "unlicensed"]
        mine = np.flatnonzero(some)
        chosen: dict[str, Any] = {name: getattr(self, name).take(mine, axis=1) for name in tables}
        return replace(self, **chosen, **{name: getattr(self, name)[some] for name in columns})


class _Table:
    """Requests in the making."""

    def __init__(self, jobs: Jobs, cluster: Cluster, asked: Asked, time: Floats) -> None:
        self.jobs, self.cluster, self.time = jobs, cluster, time
        count = len(jobs)
        self.names = [*cluster.resource_names, *cluster.pools]
        self.tasks = jobs.procs.copy()
        self.need = np.zeros((len(self.names), count), dtype=np.int64)
        self.need[0] = 1
        self.need[_MEMORY] = asked.memory_per_core
        self.per_node = np.zeros_like(self.need)
        self.per_node[_MEMORY] = asked.memory_per_node
        self.licence = np.zeros_like(self.need)
        self.whole = asked.whole_node.copy()
        self.distinct = np.zeros(count, dtype=np.bool_)
        self.refused = np.zeros(count, dtype=np.bool_)
        self.unlicensed = np.zeros(count, dtype=np.bool_)

    def column(self, *names: str) -> Ints | None:
        """The first of some columns that the table of jobs has, unknown values as 0."""
        for name in names:
            if name in self.jobs.names:
                values = np.nan_to_num(self.jobs[name])
                if values.dtype.kind == "f":
                    values = np.minimum(values, _MOST)
                return np.asarray(np.maximum(values, 0).astype(np.int64))
        return None

    def read_columns(self, given: Constraints) -> None:
        """Take what the columns of jobs say."""
        counted = {
            row: column
            for row, name in enumerate(self.cluster.resource_names)
            if row > _MEMORY and (column := self.column(name, f"{name}s")) is not None
        }
        self._spread_over_nodes(counted)
        if given.memory_per_core is None and given.memory_per_node is None:
            self._read_memory()
        whole = self.column("whole_node")
        if whole is not None:
            self.whole |= whole > 0
        if "gpu_type" in self.jobs.names:
            self._read_gpu_types()
        if "licences" in self.jobs.names and self.cluster.pools:
            self._read_licences()

    def _spread_over_nodes(self, counted: dict[int, Ints]) -> None:
        """Jobs that say so, or need more than processors, get so many nodes with the same each."""
        nodes, cores = self.column("nodes"), self.column("cores_per_node")
        count = np.zeros(len(self.jobs), np.int64) if nodes is None else nodes.copy()
        procs, capacity = self.jobs.procs, self.cluster.capacity
        if cores is not None:
            known = (cores > 0) & (count == 0)
            count[known] = -(-procs[known] // cores[known])
        for row, column in counted.items():
            # As few nodes as hold them, where their number is not known.
            most, widest = int(capacity[row].max(initial=0)), int(capacity[0].max())
            known = (column > 0) & (count == 0)
            if most:
                few = np.maximum(-(-column // most), -(-procs // widest))
                count[known] = few[known]
        by_node = count > 0
        of_node = np.maximum(count, 1)
        per_node = -(-procs // of_node)
        if cores is not None:
            per_node = np.maximum(per_node, np.minimum(cores, procs))
        self.tasks[by_node], self.distinct[by_node] = count[by_node], True
        self.need[0, by_node] = per_node[by_node]
        for row, column in counted.items():
            self.need[row] = -(-column // of_node)

    def _read_memory(self) -> None:
        if not self.cluster.capacity[_MEMORY].any():
            return
        per_core, per_node = self.column("memory"), self.column("memory_per_node")
        if per_core is not None:
            self.need[_MEMORY] = per_core * self.need[0]
        if per_node is not None:
            known = per_node > 0
            on_nodes = known & self.distinct
            self.need[_MEMORY, known] = 0
            self.need[_MEMORY, on_nodes] = per_node[on_nodes]
            self.per_node[_MEMORY, known & ~self.distinct] = per_node[known & ~self.distinct]

    def _read_gpu_types(self) -> None:
        codes, names = self.jobs.coded("gpu_type")
        if "gpu" not in self.names:
            return
        asked = self.need[self.names.index("gpu")]
        for code, name in enumerate(names):
            kind = f"gpu:{name}"
            if kind in self.names:
                mine = codes == code
                self.need[self.names.index(kind), mine] = asked[mine]

    def _read_licences(self) -> None:
        codes, names = self.jobs.coded("licences")
        for code, text in enumerate(names):
            mine = codes == code
            for item in map(str.strip, text.split(",")):
                asked = _LICENCE.fullmatch(item)
                if asked is None:
                    raise JobError(
                        int(self.jobs.job[np.argmax(mine)]),
                        "licences",
                        f"'{text[:_SHOWN]}' cannot be read; write names and numbers such as "
                        "matlab:2,ansys",
                    )
                if asked[1] not in self.cluster.pools:
                    self.unlicensed |= mine
                else:
                    self.licence[self.names.index(asked[1]), mine] += int(asked[2] or 1)

    def places(self, asked: Asked) -> tuple[Flags, Flags, Ints, Ints]:
        """Return sets of eligible nodes, and those without features; by job the first, how many."""
        cluster, count = self.cluster, len(self.jobs)
        features, plain = asked.feature, asked.words
        words = [(word, "") for word in plain]
        if "features" in self.jobs.names and acts_on_columns(cluster):
            more, texts = self.jobs.coded("features")
            pairs = [
                (plain[a], texts[b] if b >= 0 else "")
                for a, b in zip(features.tolist(), more.tolist(), strict=True)
            ]
            words = list(dict.fromkeys(pairs))
            place = {pair: i for i, pair in enumerate(words)}
            features = np.array([place[pair] for pair in pairs], dtype=np.int64)
        parts, kinds = self._partitions()
        wishes = features * max(len(kinds), 1) + parts
        rows: list[Flags] = []
        parts_alone: list[Flags] = []
        first = np.zeros(count, dtype=np.int64)
        number = np.ones(count, dtype=np.int64)
        different = np.unique(wishes) if wishes.any() else wishes[:1]
        for wish in different.tolist():
            word, expression = words[wish // max(len(kinds), 1)]
            mine = wishes == wish
            try:
                base = self._with(word, expression)
            except OptionError as error:
                problem = str(error).removeprefix("features ")
                raise JobError(int(self.jobs.job[np.argmax(mine)]), "features", problem) from None
            within = kinds[wish % len(kinds)] if kinds else [np.ones_like(base)]
            within = within or [np.zeros_like(base)]
            first[mine], number[mine] = len(rows), len(within)
            rows += [base & nodes for nodes in within]
            parts_alone += within
        shape = (-1, len(cluster.nodes))
        return (
            np.array(rows).reshape(shape),
            np.array(parts_alone).reshape(shape),
            first,
            number,
        )

    def _with(self, word: str, expression: str) -> Flags:
        """Which nodes have a feature, and what an expression asks for."""
        servers, kind = self.cluster.kinds
        has = [
            (not word or word in server.features)
            and (not expression or has_features(expression, server.features))
            for server in servers
        ]
        return np.array(has, dtype=np.bool_)[kind]

    def _partitions(self) -> tuple[Ints, list[list[Flags]]]:
        """The kind of each job, and the nodes of the partitions that each kind may choose from."""
        jobs, cluster = self.jobs, self.cluster
        if not cluster.partitions:
            return np.zeros(len(jobs), np.int64), []
        known = {part.name: part for part in cluster.partitions}
        asked, names = _labels(jobs, "partition", known)
        queued, queues = _labels(jobs, "queue", {queue.name: queue for queue in cluster.queues})
        nodes = np.where(self.distinct, self.tasks, 0)
        kinds: dict[tuple[Any, ...], int] = {}
        sets: list[list[Flags]] = []
        kind = np.zeros(len(jobs), dtype=np.int64)
        for j, (a, q) in enumerate(zip(asked.tolist(), queued.tolist(), strict=True)):
            wish = [part.strip() for part in names[a].split(",")] if a >= 0 else []
            own = self._queue_partitions(queues[q] if q >= 0 else None)
            if not wish:
                wish = list(own) or [cluster.partition().name]
            elif own:
                wish = [name for name in wish if name in own]
            fits = [
                known[name]
                for name in wish
                if name in known and _within(known[name], self.time[j], int(nodes[j]))
            ]
            self.refused[j] |= not fits
            self.whole[j] |= any(part.whole_node for part in fits)
            key = tuple(part.name for part in fits)
            if key not in kinds:
                kinds[key] = len(sets)
                sets.append([_mask(part, len(cluster.nodes)) for part in fits])
            kind[j] = kinds[key]
        return kind, sets

    def _queue_partitions(self, name: str | None) -> tuple[str, ...]:
        queues = self.cluster.queues
        if not queues:
            return ()
        return self.cluster.queue(name).partitions


def _first_of(numbers: Ints) -> Ints:
    """The first place of each number."""
    if numbers.max(initial=0) > _FEW:
        _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
        return np.asarray(first[which], dtype=np.int64)
    places = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.int64)
    places[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return places[numbers]


def _within(part: Partition, time: float, nodes: int) -> bool:
    most = part.max_nodes
    few = nodes and (nodes < part.min_nodes or (most is not None and nodes > most))
    return time <= part.max_time and not few


def _mask(part: Partition, nodes: int) -> Flags:
    mask = np.zeros(nodes, dtype=np.bool_)
    mask[list(part.nodes)] = True
    return mask


def _labels(jobs: Jobs, column: str, known: Any) -> tuple[Ints, list[str]]:
    """Names of a column, where one of them at least is known; else nobody has one."""
    nobody: tuple[Ints, list[str]] = np.full(len(jobs), -1, dtype=np.int64), []
    if column not in jobs.names or not known:
        return nobody
    codes, names = jobs.coded(column)
    if not any(part.strip() in known for name in names for part in name.split(",")):
        return nobody
    return codes.astype(np.int64), names


def requests_of(
    jobs: Jobs, cluster: Cluster, constraints: Constraints, factor: float | None = None
) -> NodeRequests:
    """Return what jobs ask of the nodes of a cluster; `factor` as of `asked_time`."""
    asked = constraints.of(jobs)
    both = (asked.memory_per_core > 0) & (asked.memory_per_node > 0)
    if both.any():
        raise JobError(
            int(jobs.job[np.argmax(both)]),
            "memory",
            "asked per core and per node at once; give one of them",
        )
    table = _Table(jobs, cluster, asked, asked_time(jobs, factor))
    if acts_on_columns(cluster):
        table.read_columns(constraints)
    eligible, in_partition, choice, choices = table.places(asked)
    tables = (table.need, table.per_node, table.licence)
    asking = [table.any(axis=1) for table in tables]
    wanted = np.asarray(np.array(asking).any(axis=0), dtype=np.bool_)
    wanted[: _MEMORY + 1] = True
    nodes = len(cluster.resource_names)
    capacity = np.zeros((len(table.names), len(cluster.nodes)), dtype=np.int64)
    capacity[:nodes] = cluster.capacity
    pools = np.zeros(len(table.names), dtype=np.int64)
    pools[nodes:] = list(cluster.pools.values())
    return NodeRequests(
        resources=tuple(
            name for name, keep in zip(table.names, wanted.tolist(), strict=True) if keep
        ),
        capacity=capacity[wanted],
        pools=pools[wanted],
        tasks=table.tasks,
        need=table.need[wanted],
        per_node=table.per_node[wanted],
        licence=table.licence[wanted],
        whole=table.whole,
        distinct=table.distinct,
        choice=choice,
        choices=choices,
        eligible=eligible,
        budget=asked.power_budget,
        refused=table.refused,
        unlicensed=table.unlicensed,
        in_partition=in_partition,
    )
