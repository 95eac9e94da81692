"""What each job of a log or stream asks of Slurm, as arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import LogError, OptionError
from ...workload._sniff import format_of
from ...workload.intake import accounting_options
from ._asked import Asked, completed
from ._logged import asked_in_accounting, asked_in_swf
from ._submits import is_events, read_events, read_stream
from .nodes import NodeTable
from .site import Partition, SlurmConf

__all__ = ["FORMATS", "Requests", "kind_of", "read_requests"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FORMATS = ("stream", "events", "sacct", "jobcomp", "swf")
"""Kinds of files that tell what jobs ask for."""

_YEAR = 525_600
"""Minutes that Slurm plans for a job without a limit."""


class Requests(NamedTuple):
    """One row per job, in the order of submission.

    Parameters
    ----------
    label : the job as its file names it.
    submit : s after `origin`.
    run : s that the job needs once started; inf for one that runs until its limit.
    cancel : s after `origin` when its user takes it back, inf if never.
    limit : whole minutes, as Slurm rounds up.
    nodes : that it gets.
    least_nodes : that it asked for by number: 1 where it asked for tasks only.
    cpus, memory, gpus : per node; memory in MB.
    whole : whether it has its nodes to itself.
    features : mask of those that its nodes must have; -1 where no node has them.
    partition, user, account : numbers.
    users, accounts : what numbers stand for.
    origin : Unix time (s) of second 0; 0 where the file counts from its own beginning.
    said : what was left out, assumed or not told, in words.
    procs : on all nodes together, as the file tells; 0 where it does not.
    """

    label: NDArray[Any]
    submit: Floats
    run: Floats
    cancel: Floats
    limit: Ints
    nodes: Ints
    least_nodes: Ints
    cpus: Ints
    memory: Ints
    gpus: Ints
    whole: NDArray[np.bool_]
    features: Ints
    partition: Ints
    user: Ints
    account: Ints
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    origin: float
    said: tuple[str, ...]
    procs: Ints


def read_requests(
    path: str | os.PathLike[str],
    conf: SlurmConf,
    nodes: NodeTable,
    *,
    complement: str | os.PathLike[str] | None = None,
    format: str | None = None,
    **options: Any,
) -> Requests:
    """Read what jobs ask for.

    Parameters
    ----------
    path : a stream (CSV with id, submit, nodes, run, limit_min, and if wanted cpus, memory in MB
        and gpus per node, features, partition, user, account), submit commands with their
        instants, or a log of ``sacct``, ``jobcomp/filetxt`` or SWF.
    conf, nodes : of the cluster: they have defaults for what jobs leave open.
    complement : a stream or submit commands that tell what the log does not; jobs are the same by
        name or number.
    format : one of `FORMATS`; by default told by the file.
    options : of the reader of accounting: ``timezone``, ``columns``, ``delimiter``, ``wait_from``.

    Raises
    ------
    LogError
        When the file cannot be read, or a job asks for what cannot be.
    """
    jobs, said = _read(path, format, options)
    if complement is not None:
        others, more = _read(complement, None, {})
        jobs, known = completed(jobs, others)
        said += [*more, f"{known} of {len(jobs)} jobs completed by {os.fspath(complement)}"]
    if not jobs:
        raise LogError(path, "has no job that could be submitted; check that the log is complete")
    origin = math.floor(jobs[0].submit) if jobs[0].submit > _YEAR * 60 else 0.0
    return _Filling(path, conf, nodes, jobs, said, float(origin)).requests()


def _read(
    path: str | os.PathLike[str], format: str | None, options: Mapping[str, Any]
) -> tuple[list[Asked], list[str]]:
    """Return the jobs of a file by submit, and what became of others, in words."""
    kind = kind_of(path, format)
    given = accounting_options(kind, **options)
    if kind == "stream":
        jobs, said = read_stream(path)
    elif kind == "events":
        jobs, said = read_events(path)
    elif kind == "swf":
        jobs, said = asked_in_swf(path)
    else:
        jobs, said = asked_in_accounting(path, kind, **given)
    return sorted(jobs, key=lambda job: job.submit), said


def kind_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return which of `FORMATS` a file has, as told or by its content."""
    kind = format or ("events" if is_events(path) else format_of(path))
    if kind == "csv":
        kind = "stream"
    if kind not in FORMATS:
        raise OptionError(f"format '{kind}' tells no requests; use one of {', '.join(FORMATS)}")
    return kind


class _Filling:
    """From what files tell to what Slurm would make of it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        conf: SlurmConf,
        nodes: NodeTable,
        jobs: list[Asked],
        said: list[str],
        origin: float,
    ) -> None:
        self.path = path
        self.conf = conf
        self.nodes = nodes
        self.jobs = jobs
        self.said = said
        self.origin = origin
        self.counts: dict[str, int] = {}
        self.place = {each.name: k for k, each in enumerate(conf.partitions)}
        self.default = next((k for k, each in enumerate(conf.partitions) if each.is_default), 0)

    def requests(self) -> Requests:
        """Return all jobs, with counts of what was not told."""
        rows = [self._row(job) for job in self.jobs]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        users, user = _numbered([job.user for job in self.jobs])
        accounts, account = _numbered([job.account for job in self.jobs])
        whole = {name: np.array(columns[name], np.int64) for name in _WHOLE}
        run = np.array([job.run for job in self.jobs])
        told = [f"{count} jobs: {what}" for what, count in self.counts.items()]
        return Requests(
            label=np.array([job.label for job in self.jobs], np.str_),
            submit=np.array([job.submit for job in self.jobs]) - self.origin,
            # A job whose run is not known may need all of its limit, and no more than that.
            run=np.where(np.isnan(run), 60.0 * whole["limit"], run),
            cancel=np.array([job.cancel for job in self.jobs]) - self.origin,
            whole=np.array(columns["whole"], np.bool_),
            user=user,
            account=account,
            users=users,
            accounts=accounts,
            origin=self.origin,
            said=(*self.said, *told),
            procs=np.array([max(job.cpus, 0) for job in self.jobs], np.int64),
            **whole,
        )

    def _note(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def _row(self, job: Asked) -> dict[str, int | bool]:
        if job.partition and job.partition not in self.place:
            self._note(f"partition '{job.partition}' is not in the configuration: default taken")
        partition = self.place.get(job.partition, self.default)
        site = self.conf.partitions[partition]
        nodes, cpus = self._width(job, partition)
        whole = job.whole or site.whole or self.conf.is_linear
        return {
            "partition": partition,
            "nodes": nodes,
            "least_nodes": self._least(job, nodes),
            "cpus": cpus,
            "memory": self._memory(job, site, cpus),
            "gpus": self._gpus(job),
            "features": self._features(job),
            "limit": self._limit(job, site),
            "whole": whole,
        }

    def _width(self, job: Asked, partition: int) -> tuple[int, int]:
        """Return nodes, and processors on each."""
        member = (self.nodes.partitions >> partition) & 1 == 1
        most = int(self.nodes.cpus[member].max(initial=1))
        nodes = job.nodes if job.nodes > 0 else math.ceil(job.cpus / most)
        if nodes <= 0:
            raise LogError(
                self.path, f"job {job.label} asks for no nodes; correct it", field="nodes"
            )
        if job.cpus > 0:
            return nodes, math.ceil(job.cpus / nodes)
        # A stream of whole nodes tells no processors.
        return nodes, 1

    def _least(self, job: Asked, nodes: int) -> int:
        if job.least_nodes < 0 and self.conf.is_multifactor and nodes > 1:
            self._note("whether nodes or tasks were asked for is not told: nodes taken")
        return job.least_nodes if job.least_nodes > 0 else nodes

    def _memory(self, job: Asked, site: Partition, cpus: int) -> int:
        if not self.conf.consumes_memory:
            return 0
        if job.memory > 0:
            return math.ceil(job.memory)
        if job.memory_per_cpu > 0:
            return math.ceil(job.memory_per_cpu * cpus)
        default = site.memory_per_cpu * cpus or site.memory_per_node
        if math.isnan(job.memory):
            self._note(
                f"memory is not told: {'default of the partition' if default else 'none'} taken"
            )
        return default

    def _gpus(self, job: Asked) -> int:
        if job.gpus < 0 and self.nodes.gres:
            self._note("GPUs are not told: none taken")
        if job.gpus > 0 and not self.nodes.gres:
            self._note("GPUs asked for, and no node has Gres in the configuration: none taken")
        return max(job.gpus, 0) if self.nodes.gres else 0

    def _features(self, job: Asked) -> int:
        if job.features is None:
            if self.nodes.feature_names:
                self._note("features are not told: any node will do")
            return 0
        text = job.features.strip()
        if any(mark in text for mark in "|*[]()"):
            self._note("features in alternatives or numbers: any node will do")
            return 0
        words = [word.strip() for word in text.replace(",", "&").split("&") if word.strip()]
        mask = self.nodes.mask(words)
        if mask < 0:
            self._note("features that no node has: never starts")
        return mask

    def _limit(self, job: Asked, site: Partition) -> int:
        minutes = job.limit / 60.0
        if math.isnan(minutes):
            self._note("the limit is not told: that of its partition taken")
            minutes = site.default_minutes if site.default_minutes > 0 else site.most_minutes
        minutes = min(minutes, site.most_minutes)
        return _YEAR if math.isinf(minutes) else max(math.ceil(minutes), 1)


_WHOLE = ("partition", "nodes", "least_nodes", "cpus", "memory", "gpus", "features", "limit")


def _numbered(names: list[str]) -> tuple[tuple[str, ...], Ints]:
    known = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return tuple(known), np.array([known[name] for name in names], np.int64)
