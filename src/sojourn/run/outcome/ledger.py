"""The ledger of a run: what every node, partition, job, user or account drew, by cause.

Rows of a ledger add up to the bill of the run, whatever they are by. What is drawn for a job
belongs to the job; what a node draws for none (idle, asleep, on its way there or back, failed) to
the node. By jobs, all of that is one row of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...cluster.rack import racks_around
from ...errors import OptionError, RunError
from ...measures.formulas import sum_by_job
from .energy import Energy
from .lost import lost_share

if TYPE_CHECKING:
    from .schedule import Schedule

Columns = dict[str, Floats]

NO_JOB = "(no job)"
"""The row of what is drawn for no job."""
NOWHERE = "(none)"
"""The row of nodes that are in no partition, or in no rack."""
_TOLERANCE = 1e-9


class EnergyLedger:
    """What a run drew, by cause.

    Columns are in J: ``busy_energy``, of which ``lost_energy`` came to nothing where jobs can fail;
    ``idle_energy``; where nodes sleep or draw power while they are down ``entering_energy``,
    ``sleep_energy``, ``leaving_energy`` and ``failed_energy``; ``energy``, the sum; and where these
    are given ``cost`` and ``carbon`` (g).

    Parameters
    ----------
    schedule : of the run, at its end.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._energy = schedule, schedule.energy

    @cached_property
    def _lost(self) -> Floats | None:
        """Share of each stretch of service that came to nothing; None where nothing can."""
        schedule = self._schedule
        if schedule.after is None or schedule.prepared.external is None:
            return None
        return lost_share(schedule)

    @property
    def loses(self) -> bool:
        """Whether work can be lost in this run."""
        return self._lost is not None

    @cached_property
    def lost_of_jobs(self) -> Floats:
        """Joules of each accepted job that came to nothing."""
        energy, share = self._energy, self._lost
        if share is None:
            return np.zeros(len(energy.jobs))
        return energy.by_job(energy.spent * share)

    def by_node(self) -> Columns:
        """One row per node, in the order of the cluster."""
        energy, share = self._energy, self._lost
        busy, *others = energy.of_nodes().items()
        columns = {"busy_energy": busy[1]}
        if share is not None:
            rows = np.diff(energy.given.first)
            weights = energy.nodes.row_joules * np.repeat(share, rows)
            count = len(busy[1])
            columns["lost_energy"] = sum_by_job(energy.given.node, weights, count)
        columns |= {f"{cause}_energy": joules for cause, joules in others}

        def drawn(of: Energy) -> Floats:
            total: Floats = np.sum(list(of.of_nodes().values()), axis=0)
            return total

        return self._checked(columns | {"energy": drawn(energy)} | self._values(drawn))

    def by_nodes_of(self, groups: NDArray[np.int64], count: int) -> Columns:
        """One row per group of nodes, from the group of each node."""
        return {name: sum_by_job(groups, column, count) for name, column in self.by_node().items()}

    def by_jobs_of(self, groups: NDArray[np.int64], count: int) -> Columns:
        """One row per group of accepted jobs, from the group of each, and one of no job.

        Parameters
        ----------
        groups : the group of each accepted job.
        count : of the groups.
        """
        energy = self._energy

        def rows(of_jobs: Floats, of_none: float = 0.0) -> Floats:
            return np.append(np.bincount(groups, weights=of_jobs, minlength=count), of_none)

        columns = {"busy_energy": rows(energy.jobs)}
        if self.loses:
            columns["lost_energy"] = rows(self.lost_of_jobs)
        nothing = np.zeros(len(energy.jobs))
        for cause, joules in energy.for_no_job().items():
            columns[f"{cause}_energy"] = rows(nothing, joules)

        def drawn(of: Energy) -> Floats:
            return rows(of.jobs, sum(of.for_no_job().values()))

        return self._checked(columns | {"energy": drawn(energy)} | self._values(drawn))

    def by_part(self, what: str) -> tuple[list[str], Columns]:
        """One row per set of nodes that are in the same partitions, or in the same rack.

        Their names, and the columns.
        """
        cluster = self._schedule.prepared.cluster
        if what == "rack":
            around = racks_around(len(cluster.nodes), cluster.racks)
            words = [NOWHERE if rack is None else rack.name for rack in around]
        else:
            member: list[list[str]] = [[] for _ in cluster.nodes]
            for part in cluster.partitions:
                for node in part.nodes:
                    member[node].append(part.name)
            words = ["+".join(names) or NOWHERE for names in member]
        names = list(dict.fromkeys(words))
        groups = np.array([names.index(word) for word in words], dtype=np.int64)
        return names, self.by_nodes_of(groups, len(names))

    def _values(self, drawn: Callable[[Energy], Floats]) -> Columns:
        """Cost and carbon of rows, from what says how many joules each drew."""
        energy = self._energy
        given = {"cost": energy.price, "carbon": energy.carbon}
        return {
            name: energy.valued(what, drawn) for name, what in given.items() if what is not None
        }

    def _checked(self, columns: Columns) -> Columns:
        """The columns, if their rows add up to the bill, and their causes to their sums."""
        bill = self._energy.bill_joules
        for name, joules in _sums(columns):
            if not abs(joules - bill) <= _TOLERANCE * abs(bill):
                raise RunError(
                    f"the ledger: {name} {joules!r} is not the bill {bill!r}; please report this "
                    "as a bug"
                )
        return columns


def _sums(columns: Mapping[str, Floats]) -> Iterator[tuple[str, float]]:
    yield "the sum of its rows", float(columns["energy"].sum())
    causes = [name for name in columns if name.endswith("_energy") and name != "lost_energy"]
    yield "the sum of its causes", float(sum(columns[name].sum() for name in causes))


def ledger_table(schedule: Schedule, by: str, classes: tuple[Any, Sequence[str]] | None) -> Any:
    """Return a ledger as a data frame; see `Result.ledger`.

    Parameters
    ----------
    schedule : of the run.
    by : ``node``, ``partition``, ``rack``, ``job``, or what jobs are classed by.
    classes : of each job of the log its class, as a place in the names; None for nodes and jobs.
    """
    import pandas as pd

    ledger, prepared = schedule.ledger, schedule.prepared
    if by == "node":
        schedule.allocation  # noqa: B018  (raises where processors were only counted)
        names: Sequence[Any] = [node.name for node in prepared.cluster.nodes]
        columns = ledger.by_node()
    elif by == "rack" and not prepared.cluster.racks:
        raise OptionError("ledger by rack: the cluster has no racks; name them in its file")
    elif by == "rack" or (by == "partition" and prepared.cluster.partitions):
        names, columns = ledger.by_part(by)
    elif by == "job":
        numbers = prepared.jobs.job[prepared.accepted]
        names = [*numbers.tolist(), NO_JOB]
        columns = ledger.by_jobs_of(np.arange(len(numbers)), len(numbers))
    else:
        if classes is None:
            raise OptionError(
                f"ledger by '{by}': give node, partition, rack, job or a class of jobs"
            )
        codes, words = classes
        mine = np.asarray(codes)[prepared.accepted]
        there, groups = np.unique(mine, return_inverse=True)
        names = [*(words[code] for code in there.tolist()), NO_JOB]
        columns = ledger.by_jobs_of(groups, len(there))
    return pd.DataFrame(columns, index=pd.Index(names, name=by, dtype=object))
