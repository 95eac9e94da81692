"""What each job of a log or stream asks of Slurm, as arrays."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...errors import LogError, OptionError
from ...jobs.formats.submits import read_stream, read_submits
from ...jobs.header import known_names
from ...jobs.log import accounting_options, format_of
from ...jobs.logged import submissions_in_accounting, submissions_in_swf
from ...jobs.submission import CANCEL, LEAST_NODES, TO_THE_LIMIT, Submission, completed, jobs_of
from ...jobs.table import Jobs
from .nodes import NodeTable
from .site import Partition, SlurmConf

FORMATS = ("stream", "events", "sacct", "jobcomp", "swf")
"""Kinds of files that tell what jobs ask for."""

_YEAR = 525_600
"""Minutes that Slurm plans for a job without a limit."""

_ENDLESS = 1e10
"""Minutes that stand for no limit: a table has only numbers that are finite."""

_DIGITS = 13
"""Of an instant of the Unix epoch that is one."""


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
    jobs, said = read_table(path, complement=complement, format=format, **options)
    return requests_of(jobs, conf, nodes, said)


def read_table(
    path: str | os.PathLike[str],
    *,
    complement: str | os.PathLike[str] | None = None,
    format: str | None = None,
    **options: Any,
) -> tuple[Jobs, list[str]]:
    """Read the jobs of a stream or log, and what was left out or assumed, in words.

    Unlike `read_log` it has jobs that never started or did not end, since they were in the way of
    others. Parameters are those of `read_requests`.
    """
    jobs, said = _read(path, format, options)
    if complement is not None:
        others, more = _read(complement, None, {})
        jobs, known = completed(jobs, others)
        said += [*more, f"{known} of {len(jobs)} jobs completed by {os.fspath(complement)}"]
    if not jobs:
        raise LogError(path, "has no job that could be submitted; check that the log is complete")
    return jobs_of(jobs, os.fspath(path)), said


def _read(
    path: str | os.PathLike[str], format: str | None, options: Mapping[str, Any]
) -> tuple[list[Submission], list[str]]:
    """Return the jobs of a file by submit, and what became of others, in words."""
    kind = kind_of(path, format)
    given = accounting_options(kind, **options)
    if kind == "stream":
        jobs, said = read_stream(path)
    elif kind == "events":
        jobs, others = read_submits(path)
        said = [f"{len(others)} events that are no submits: left out"] if others else []
    elif kind == "swf":
        jobs, said = submissions_in_swf(path)
    else:
        jobs, said = submissions_in_accounting(path, kind, **given)
    return sorted(jobs, key=lambda job: job.submit), said


def kind_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return which of `FORMATS` a file has, as told or by its content."""
    kind = format or format_of(path)
    kind = {"csv": "stream", "slurm-events": "events"}.get(kind, kind)
    if kind not in FORMATS:
        raise OptionError(f"format '{kind}' tells no requests; use one of {', '.join(FORMATS)}")
    return kind


def requests_of(
    jobs: Jobs, conf: SlurmConf, nodes: NodeTable, said: Sequence[str] = ()
) -> Requests:
    """Return what the jobs of a table ask of Slurm, which fills in what they leave open.

    Besides the columns that every log has: ``least_nodes``, nodes asked for by number;
    ``cancel_after``, s after its submit when a job is taken back; ``to_the_limit``, 1 for a job
    that runs until its limit.

    Parameters
    ----------
    jobs : by submit.
    conf, nodes : of the cluster.
    said : what reading said about the jobs.

    Raises
    ------
    LogError
        When a job asks for no nodes.
    """
    return _Filling(jobs, conf, nodes).requests(said)


class _Request(NamedTuple):
    """What one job asks for, as the columns of its table have it."""

    partition: str
    features: str | None
    nodes: int
    least_nodes: int
    procs: int
    gpus: int
    memory: float
    memory_per_node: float
    limit: float
    whole: bool


class _Filling:
    """From what a table says to what Slurm would make of it."""

    def __init__(self, jobs: Jobs, conf: SlurmConf, nodes: NodeTable) -> None:
        self.jobs = jobs
        self.conf = conf
        self.nodes = nodes
        self.counts: dict[str, int] = {}
        self.place = {each.name: k for k, each in enumerate(conf.partitions)}
        self.default = next((k for k, each in enumerate(conf.partitions) if each.is_default), 0)
        self.alike = 1

    def requests(self, said: Sequence[str]) -> Requests:
        """Return all jobs, with counts of what was not known."""
        jobs = self.jobs
        wishes = self._wishes()
        # Many jobs ask for the same.
        kinds = Counter(wishes)
        rows = np.array(
            [self._row(wish, count, wishes) for wish, count in kinds.items()], np.int64
        ).reshape(-1, len(_WHOLE))
        place = {wish: k for k, wish in enumerate(kinds)}
        whole = dict(zip(_WHOLE, rows[[place[wish] for wish in wishes]].T, strict=True))
        users, user = _numbered(self._names("user"))
        accounts, account = _numbered(
            self._names("account" if "account" in jobs.names else "group")
        )
        run, cancel = jobs.work, self._column(CANCEL)
        # A job whose run is not known may need all of its limit, and no more than that.
        run = np.where(run < 0, 60.0 * whole["limit"], run)
        return Requests(
            label=jobs.label,
            submit=jobs.submit,
            run=np.where(self._column(TO_THE_LIMIT) > 0, math.inf, run),
            cancel=np.where(cancel < 0, math.inf, jobs.submit + cancel),
            user=user,
            account=account,
            users=users,
            accounts=accounts,
            origin=origin_of(jobs),
            said=(*said, *(f"{count} jobs: {what}" for what, count in self.counts.items())),
            **{name: np.ascontiguousarray(whole[name]) for name in _WHOLE if name != "whole"},
            whole=whole["whole"] > 0,
            procs=np.maximum(self._column("procs"), 0).astype(np.int64),
        )

    def _column(self, name: str) -> NDArray[Any]:
        return self.jobs[name] if name in self.jobs.names else np.full(len(self.jobs), -1)

    def _names(self, column: str) -> list[str]:
        codes, names = self.jobs.coded(column)
        return [names[code] if code >= 0 else "" for code in codes.tolist()]

    def _wishes(self) -> list[_Request]:
        jobs = self.jobs
        partition = self._names("partition")
        if not known_names(jobs.header, "partition") and not set(partition) & self.place.keys():
            # Numbers alone, as those of SWF, are none of Slurm's names.
            partition = [""] * len(jobs)
        features: list[Any] = [None] * len(jobs)
        if "features" in jobs.names:
            features = self._names("features")
        columns = (self._column(name).tolist() for name in _NUMBERS)
        whole = (self._column("whole_node") > 0).tolist()
        firsts = [names.partition(",")[0] for names in partition]
        return [
            _Request(*wish) for wish in zip(firsts, features, *columns, whole, strict=True)
        ]  # fmt: skip

    def _note(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + self.alike

    def _row(self, wish: _Request, count: int, wishes: Sequence[_Request]) -> list[int]:
        self.alike = count
        if wish.partition and wish.partition not in self.place:
            self._note(f"partition '{wish.partition}' is not in the configuration: default taken")
        partition = self.place.get(wish.partition, self.default)
        site = self.conf.partitions[partition]
        nodes, cpus = self._width(wish, partition, wishes)
        made = {
            "partition": partition,
            "nodes": nodes,
            "least_nodes": self._least(wish, nodes),
            "cpus": cpus,
            "memory": self._memory(wish, site, cpus),
            "gpus": self._gpus(wish),
            "features": self._features(wish),
            "limit": self._limit(wish, site),
            "whole": wish.whole or site.whole or self.conf.is_linear,
        }
        return [int(made[name]) for name in _WHOLE]

    def _width(self, wish: _Request, partition: int, wishes: Sequence[_Request]) -> tuple[int, int]:
        """Return nodes, and processors on each."""
        member = (self.nodes.partitions >> partition) & 1 == 1
        most = int(self.nodes.cpus[member].max(initial=1))
        nodes = wish.nodes if wish.nodes > 0 else math.ceil(wish.procs / most)
        if nodes <= 0:
            label = self.jobs.label[wishes.index(wish)]
            raise LogError(
                self.jobs.source, f"job {label} asks for no nodes; correct it", field="nodes"
            )
        return nodes, max(math.ceil(wish.procs / nodes), 1)

    def _least(self, wish: _Request, nodes: int) -> int:
        if wish.least_nodes < 0 and self.conf.is_multifactor and nodes > 1:
            self._note("whether nodes or tasks were asked for is not told: nodes taken")
        return wish.least_nodes if wish.least_nodes > 0 else nodes

    def _memory(self, wish: _Request, site: Partition, cpus: int) -> int:
        if not self.conf.consumes_memory:
            return 0
        if wish.memory_per_node > 0:
            return math.ceil(wish.memory_per_node / 1024.0)
        if wish.memory > 0:
            return math.ceil(wish.memory / 1024.0 * cpus)
        default = site.memory_per_cpu * cpus or site.memory_per_node
        if wish.memory_per_node < 0:
            self._note(
                f"memory is not told: {'default of the partition' if default else 'none'} taken"
            )
        return default

    def _gpus(self, wish: _Request) -> int:
        if wish.gpus < 0 and self.nodes.gres:
            self._note("GPUs are not told: none taken")
        if wish.gpus > 0 and not self.nodes.gres:
            self._note("GPUs asked for, and no node has Gres in the configuration: none taken")
        each = math.ceil(max(wish.gpus, 0) / max(wish.nodes, 1))
        return each if self.nodes.gres else 0

    def _features(self, wish: _Request) -> int:
        if wish.features is None:
            if self.nodes.feature_names:
                self._note("features are not told: any node will do")
            return 0
        text = wish.features.strip()
        if any(mark in text for mark in "|*[]()"):
            self._note("features in alternatives or numbers: any node will do")
            return 0
        words = [word.strip() for word in text.replace(",", "&").split("&") if word.strip()]
        mask = self.nodes.mask(words)
        if mask < 0:
            self._note("features that no node has: never starts")
        return mask

    def _limit(self, wish: _Request, site: Partition) -> int:
        minutes = wish.limit / 60.0
        if minutes < 0:
            self._note("the limit is not told: that of its partition taken")
            minutes = site.default_minutes if site.default_minutes > 0 else site.most_minutes
        minutes = min(minutes, site.most_minutes)
        return _YEAR if minutes >= _ENDLESS else max(math.ceil(minutes), 1)


_NUMBERS = ("nodes", LEAST_NODES, "procs", "gpus", "memory", "memory_per_node", "estimate")
_WHOLE = (
    *("partition", "nodes", "least_nodes", "cpus", "memory", "gpus", "features", "limit"),
    "whole",
)


def origin_of(jobs: Jobs) -> float:
    """Return the Unix time (s) of second 0, as far as the table has it."""
    said = jobs.header.get("UnixStartTime") or "0"
    return float(said) if said.isdecimal() and len(said) < _DIGITS else 0.0


def _numbered(names: list[str]) -> tuple[tuple[str, ...], Ints]:
    known = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return tuple(known), np.array([known[name] for name in names], np.int64)
