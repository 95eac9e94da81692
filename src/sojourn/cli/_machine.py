"""What jobs run on, as the options describe it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ._groups import flag
from ._options import CostOptions, CountedOptions, NodeOptions

if TYPE_CHECKING:
    from ..cluster import Cluster, Power
    from ..workload import Jobs

__all__ = ["Machine", "say_size"]


def say_size(jobs: Jobs, procs: int | None) -> None:
    """Say on standard error what is taken for the size of the machine where nobody gave it."""
    from ..workload.intake import size_in_words

    words = size_in_words(jobs, procs)
    if words:
        print(f"sojourn: {words}", file=sys.stderr)


@dataclass(frozen=True)
class Machine:
    """What jobs run on, as the options describe it.

    Parameters
    ----------
    name : file or counts of a cluster; None where processors are only counted.
    counted, nodes, cost : options.
    strict : fail at the first row of the cluster's file that would be repaired or refused.
    """

    name: str | None
    counted: CountedOptions
    nodes: NodeOptions
    cost: CostOptions
    strict: bool = False

    def __post_init__(self) -> None:
        if self.name is not None and not self.name.strip():
            raise OptionError(
                "--cluster '': give a file, or counts such as '64 x (16 cores, 32G, 2 gpu)'"
            )
        extra: CountedOptions | NodeOptions = self.counted if self.name else self.nodes
        for each in fields(extra):
            if getattr(extra, each.name) != each.default:
                raise OptionError(
                    f"{flag(each.name)}: --cluster says how many processors and watts; leave one "
                    "of them out"
                    if self.name
                    else f"{flag(each.name)}: processors are only counted; give --cluster"
                )

    @cached_property
    def cluster(self) -> Cluster | None:
        """The cluster of named nodes; None where processors are only counted."""
        return None if self.name is None else self.nodes.cluster(self.name, strict=self.strict)

    @cached_property
    def power(self) -> Power | None:
        """Power model of counted processors; None for the default one."""
        return self.counted.power()

    def for_jobs(self, jobs: Jobs) -> Cluster:
        """Return the machine on which these jobs run."""
        from ..cluster import Cluster
        from ..workload.intake import machine_size

        if self.cluster is not None:
            return self.cluster
        size = machine_size(jobs, self.counted.procs, "--procs")
        say_size(jobs, self.counted.procs)
        return Cluster.homogeneous(size, power=self.power)

    def options(self) -> dict[str, Any]:
        """Return what `simulate` takes besides the placement."""
        told: dict[str, Any] = {
            each.name: getattr(self.cost, each.name) for each in fields(self.cost)
        }
        if self.cluster is not None:
            told["foresight"] = self.nodes.foresight
            told["constraints"] = self.nodes.constraints()
        return told
