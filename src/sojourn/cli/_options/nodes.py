"""Options about a cluster of named nodes, and what jobs ask of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import OptionError
from .. import _completion

if TYPE_CHECKING:
    from ...cluster import Cluster
    from ...policy import Constraints

__all__ = ["ClusterName", "NodeOptions", "Placement"]

_NODES = "Nodes"
_MOST_MEMORY = 1e9  # GB; more than any node has
_BY_COLUMN = re.compile(r"\s*(\w+)\s*:\s*(-?\d{1,18})\s*=\s*(\S+)\s*")

ClusterName = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|COUNTS",
        help="Cluster of named nodes: a description or SPECpower table (.toml, .csv), a "
        "slurm.conf, or counts such as '64 x X5670' or '64 x (16 cores, 32G, 2 gpu)'; in place of "
        "--procs and --watts.",
        rich_help_panel=_NODES,
    ),
]
Placement = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE.py:NAME",
        help="Which nodes a job gets: first-fit, best-fit, worst-fit, fastest, slowest, "
        "lowest-power, lowest-energy, pack, spread, contiguous or random; or your own, "
        "decorated with @sojourn.score.",
        autocompletion=_completion.placements,
        rich_help_panel=_NODES,
    ),
]
_Where = Annotated[
    str | None,
    typer.Option(
        metavar="QUERY",
        help="Servers of the cluster to take, such as 'published <= 2011-12'.",
        rich_help_panel=_NODES,
    ),
]
_Processor = Annotated[
    str | None,
    typer.Option(
        metavar="core|chip|node",
        help="What counts as a processor; default: core, or what the file says.",
        rich_help_panel=_NODES,
    ),
]
_KeepNoncompliant = Annotated[
    bool,
    typer.Option(
        "--keep-noncompliant",
        help="Keep SPECpower results that SPEC found fault with.",
        rich_help_panel=_NODES,
    ),
]
_Foresight = Annotated[
    str,
    typer.Option(
        metavar="nodes|log",
        help="Runtime that is expected of a waiting job: on the nodes it would get, or as "
        "recorded.",
        rich_help_panel=_NODES,
    ),
]
_Memory = Annotated[
    str,
    typer.Option(
        metavar="none|log|GB",
        help="Memory that a job needs for each of its processors; log: as the log has it.",
        rich_help_panel=_NODES,
    ),
]
_MemoryPerNode = Annotated[
    float | None,
    typer.Option(
        metavar="GB",
        help="Memory that a job needs on each node it uses.",
        rich_help_panel=_NODES,
    ),
]
_WholeNodes = Annotated[
    bool,
    typer.Option(
        "--whole-nodes/--no-whole-nodes",
        help="No two jobs share a node.",
        rich_help_panel=_NODES,
    ),
]
_Feature = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD|queue:3=WORD",
        help="Feature that the nodes of all jobs must have, or those of a queue, partition, user "
        "or group (repeatable).",
        rich_help_panel=_NODES,
    ),
]
_PowerBudget = Annotated[
    float | None,
    typer.Option(
        metavar="W",
        help="Watts that the processors of a job may draw at full load.",
        rich_help_panel=_NODES,
    ),
]


@dataclass(frozen=True)
class NodeOptions:
    """Which nodes a cluster has, and what jobs ask of them."""

    where: _Where = None
    processor: _Processor = None
    keep_noncompliant: _KeepNoncompliant = False
    foresight: _Foresight = "nodes"
    memory: _Memory = "none"
    memory_per_node: _MemoryPerNode = None
    whole_nodes: _WholeNodes = False
    feature: _Feature = None
    power_budget: _PowerBudget = None

    def cluster(self, what: str, *, strict: bool = False) -> Cluster:
        """Return the cluster of a file, or of counts."""
        from ...cluster import find_cluster

        kept = "keep" if self.keep_noncompliant else "refuse"
        found = find_cluster(what, processor=self.processor, noncompliant=kept, strict=strict)
        return found if self.where is None else found.select(self.where)

    def constraints(self) -> Constraints:
        """Return what jobs ask of their nodes."""
        from ...policy import Constraints

        budget = self.power_budget
        if budget is not None and not budget >= 0:
            raise OptionError(f"--power-budget {budget:g}: give a number of W, 0 or more")
        return Constraints(
            memory_per_core=_memory(self.memory),
            memory_per_node=_gigabytes("--memory-per-node", self.memory_per_node) or None,
            whole_node=self.whole_nodes,
            feature=_feature(self.feature or []),
            power_budget=budget,
        )


def _gigabytes(option: str, value: float | None) -> float | None:
    if value is not None and not 0 <= value <= _MOST_MEMORY:
        raise OptionError(f"{option} {value:g}: give a number of GB, 0 to {_MOST_MEMORY:g}")
    return value


def _memory(text: str) -> float | str | None:
    """Return the memory per processor as `Constraints` takes it."""
    word = text.strip().lower()
    if word == "none":
        return None
    if word == "log":
        return word
    try:
        return _gigabytes("--memory", float(word)) or None
    except ValueError:
        raise OptionError(f"--memory '{text}': choose none, log or a number of GB") from None


def _feature(asked: list[str]) -> str | dict[str, dict[int, str]] | None:
    """Return the features as `Constraints` takes them."""
    by_column: dict[str, dict[int, str]] = {}
    words = []
    for text in asked:
        found = _BY_COLUMN.fullmatch(text)
        if found is not None:
            by_column.setdefault(found[1].lower(), {})[int(found[2])] = found[3]
        elif "=" in text or not text.strip():
            raise OptionError(f"--feature '{text}': write a word, or for example queue:3=gpu")
        else:
            words.append(text.strip())
    if len(words) + bool(by_column) > 1:
        raise OptionError("--feature: a job asks for one; give one word, or one for each queue")
    return words[0] if words else by_column or None
