"""The accounting of a resource manager as columns, whatever file it was read from."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import check_choice
from ..header import numbered
from ..report import CleaningReport, noted
from ..schema import MISSING, WIDTHS, is_further, widths
from ..table import Jobs

if TYPE_CHECKING:
    import pandas as pd


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

ACCOUNTED_WIDTHS = (*WIDTHS, "nodes")
_FAILED = ("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE")
ENDED = {
    "COMPLETED": 1,
    **dict.fromkeys((*_FAILED, "PREEMPTED", "REQUEUED"), 0),
    **dict.fromkeys(("REVOKED", "CANCELLED"), 5),
}
"""States in which a job has ended, and the status of [swf] for each."""


class Record(NamedTuple):
    """One run of one job, as its manager accounted for it.

    What is not known is -1, nan, None or an empty text.

    Parameters
    ----------
    label : the job as its manager names it, such as ``12_3``.
    job : its number, or that of the array or heterogeneous job it is a part of.
    line : of the file.
    submit, eligible, start, end : Unix times (s). A job that never started has no start, and its
        end is when it was cancelled or failed.
    limit : s, inf if there was none.
    requested, allocated : processors.
    nodes, least_nodes : those it had, else those it requested; those it requested by number.
    memory, memory_per_node : requested, KB per processor and per node.
    cpu_time : s, over all processors; resident : KB, the largest resident set of a task.
    state : in Slurm's words.
    name : given by its user; uid, gid : numbers of user and group, as texts.
    node_list, features, after : nodes it had, features requested, what it depends on; as written.
    gpus, gpu_type, cores_per_node : requested; the type and cores where all nodes have the same.
    licences, resources : requested, such as ``matlab:2,ansys`` and ``mic=4,fpga=1``.
    whole_node : 1 if it requested whole nodes, 0 if not.
    has_number : whether `job` is its own number.
    array : number of the array that it is a task of, or of its heterogeneous job.
    """

    label: str
    job: int
    line: int
    submit: float
    eligible: float
    start: float
    end: float
    limit: float = math.nan
    requested: int = MISSING
    allocated: int = MISSING
    nodes: int = MISSING
    least_nodes: int = MISSING
    memory: float = float(MISSING)
    memory_per_node: float = float(MISSING)
    cpu_time: float = math.nan
    resident: float = math.nan
    state: str = ""
    name: str = ""
    user: str = ""
    group: str = ""
    uid: str = ""
    gid: str = ""
    account: str = ""
    queue: str = ""
    partition: str = ""
    qos: str = ""
    node_list: str = ""
    gpus: int = MISSING
    gpu_type: str = ""
    cores_per_node: int = MISSING
    whole_node: int = MISSING
    features: str | None = None
    licences: str = ""
    resources: str | None = None
    after: str = ""
    has_number: bool = True
    array: int = MISSING


@dataclass(frozen=True)
class Accounting:
    """The runs of jobs in the order of submission: one array per field of `Record`.

    Parameters
    ----------
    columns : arrays by name, those of `Record`, with a ``job`` of its own for each run;
        ``attempt``: 0 for the first run of a job, and one more each time it was requeued; ``run``:
        the label, with ``#2`` after it for a second run.
    source : the file.
    report : what reading decided.
    lacks : kinds of events that are not in such a file.
    header : lines about all jobs.
    """

    columns: dict[str, NDArray[Any]]
    source: str
    report: CleaningReport
    lacks: tuple[str, ...] = ()
    header: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.columns["job"].size)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""
        return self.columns[name]

    def to_pandas(self) -> pd.DataFrame:
        """Return the columns as a data frame."""
        import pandas as pd

        return pd.DataFrame(self.columns)

    def jobs(self, width: str = "requested") -> Jobs:
        """Return the runs as jobs; see `read_sacct` for what becomes of what, and for `width`."""
        check_choice("width", width, ACCOUNTED_WIDTHS)
        columns = self.columns
        submit, start, end = columns["submit"], columns["start"], columns["end"]
        started = np.isfinite(start)
        wait = np.where(started, start, end) - submit
        runtime = end - start
        disordered = (wait < 0) | (runtime < 0)
        limit, requested, allocated = columns["limit"], columns["requested"], columns["allocated"]
        per_processor = columns["cpu_time"] / np.where(allocated > 0, allocated, np.nan)
        origin = np.floor(submit.min(initial=np.inf)) if len(self) else 0.0
        numbers, names = self._numbers()
        job, nodes = columns["job"], columns["nodes"]
        made = {
            "job": job,
            "submit": submit - origin,
            "wait": _known(wait, wait >= 0),
            "runtime": _known(runtime, runtime >= 0),
            "allocated": np.where(started, allocated, MISSING),
            "cpu_time": _known(per_processor, started & np.isfinite(per_processor)),
            "requested": requested,
            "estimate": _known(limit, np.isfinite(limit)),
            "memory": columns["memory"],
            "status": [ENDED.get(state, MISSING) for state in columns["state"].tolist()],
            **numbers,
            "procs": nodes if width == "nodes" else widths(requested, allocated, width),
        }
        optional = {
            **{name: columns[name] for name in _OPTIONAL_NUMBERS},
            "begin": self._begin(origin),
            **self._resources(),
        }
        made |= {name: values for name, values in optional.items() if (values >= 0).any()}
        if (columns["run"] != job.astype(np.str_)).any():
            made["label"] = columns["run"]
        return Jobs(
            made,
            header=[f"UnixStartTime: {int(origin)}", *self.header, *names],
            source=self.source,
            report=self.report.extended(
                noted(
                    "disordered-times",
                    "repair",
                    "starts before its submit or ends before its start: wait or runtime unknown",
                    job[disordered],
                ),
                len(self),
            ),
        )

    def _begin(self, origin: float) -> Floats:
        """Return before when jobs could not start; -1 for those that could at their submit."""
        submit, eligible = self.columns["submit"], self.columns["eligible"]
        over = np.where(np.isfinite(self.columns["start"]), self.columns["start"], self["end"])
        # What is recorded of the end of a wait is surer than when the job could have started.
        held = (eligible > submit) & ~(eligible > over)
        return _known(eligible - origin, held)

    def _resources(self) -> dict[str, Ints]:
        """Return further resources that jobs requested, by name; 0 where others did."""
        texts = self.columns["resources"].tolist()
        amounts = {text: dict(_amounts(text)) for text in dict.fromkeys(texts) if text}
        names = dict.fromkeys(name for listed in amounts.values() for name in listed)
        unknown = {None: MISSING}
        return {
            name: np.array(
                [amounts[t].get(name, 0) if t else unknown.get(t, 0) for t in texts], np.int64
            )
            for name in names
            if is_further(name)
        }

    def _numbers(self) -> tuple[dict[str, Ints], list[str]]:
        """Return the columns that stand for names, and the lines that say for which."""
        made: dict[str, Ints] = {}
        lines: list[str] = []
        for column, number in _NAMES.items():
            names = [name or "" for name in self.columns[column].tolist()]
            if column in _OPTIONAL and not any(names):
                continue
            own = self.columns[number].tolist() if number else []
            made[column], said = numbered(column, names, own)
            lines += said
        return made, lines


_OPTIONAL = ("partition", "account", "qos", "gpu_type", "licences", "features", "after")
_NAMES = {"user": "uid", "group": "gid", **dict.fromkeys(("queue", *_OPTIONAL), "")}
"""Columns of names, and those that may have the manager's own numbers for them."""

_OPTIONAL_NUMBERS = ("nodes", "cores_per_node", "gpus", "memory_per_node", "whole_node")


_AMOUNT = re.compile(r"(.+?)=(\d+)(?:,|$)", re.DOTALL)


def _amounts(text: str) -> Iterator[tuple[str, int]]:
    """Yield what ``gpu=2,nvme=1`` says; a name in a damaged file may have a comma in it."""
    for name, amount in _AMOUNT.findall(text):
        yield name, int(amount)


def _known(values: Floats, known: Mask) -> Floats:
    return np.where(known, values, float(MISSING))
