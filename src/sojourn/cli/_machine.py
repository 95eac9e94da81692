"""Options about the machine: processors that are counted, or a cluster of named nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import OptionError
from ._groups import flag
from ._options import Procs, machine_size

if TYPE_CHECKING:
    from ..cluster import Cluster, Power
    from ..policy import Constraints
    from ..workload import Jobs

__all__ = ["ClusterName", "CostOptions", "CountedOptions", "Machine", "NodeOptions", "Placement"]

_MACHINE, _NODES, _COST = "Machine", "Nodes", "Cost"
_MOST_MEMORY = 1e9  # GB; more than any node has
_BY_COLUMN = re.compile(r"\s*(\w+)\s*:\s*(-?\d{1,18})\s*=\s*(\S+)\s*")

WattsBusy = Annotated[
    float | None,
    typer.Option(
        metavar="W",
        help="Watts of a busy processor at any rate (41 if no power is given).",
        rich_help_panel=_MACHINE,
    ),
]
WattsIdle = Annotated[
    float | None,
    typer.Option(
        metavar="W",
        help="Watts of an idle processor at any rate (18 if no power is given).",
        rich_help_panel=_MACHINE,
    ),
]
Watts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RATE:BUSY:IDLE",
        help="Watts at one rate; once for each rate the control uses.",
        rich_help_panel=_MACHINE,
    ),
]
ClusterName = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|COUNTS",
        help="Cluster of named nodes: a SPECpower table or description (.csv, .toml), or counts "
        "such as '64 x X5670'; in place of --procs and --watts.",
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
_Price = Annotated[
    str | None,
    typer.Option(
        metavar="PRICE|TARIFF",
        help="Price of a kWh: 0.25, or over the day as in '0.15, 8:0.30, 20:0.15 EUR'.",
        rich_help_panel=_COST,
    ),
]
_Carbon = Annotated[
    str | None,
    typer.Option(
        metavar="G|FILE",
        help="Grams of CO2 per kWh: a number, or a CSV file with columns time,g_per_kwh.",
        rich_help_panel=_COST,
    ),
]
_Starts = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Second 0 of the log, such as 2011-05-01T00:00+09:00; default: as its header says.",
        rich_help_panel=_COST,
    ),
]


@dataclass(frozen=True)
class CountedOptions:
    """A machine whose processors are only counted."""

    procs: Procs = None
    watts_busy: WattsBusy = None
    watts_idle: WattsIdle = None
    watts: Watts = None

    def power(self) -> Power | None:
        """Return the power model, or None for the default one."""
        return chosen_power(self.watts_busy, self.watts_idle, self.watts)


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
        from ..cluster import find_cluster

        kept = "keep" if self.keep_noncompliant else "refuse"
        found = find_cluster(what, processor=self.processor, noncompliant=kept, strict=strict)
        return found if self.where is None else found.select(self.where)

    def constraints(self) -> Constraints:
        """Return what jobs ask of their nodes."""
        from ..policy import Constraints

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


@dataclass(frozen=True)
class CostOptions:
    """What a kWh costs."""

    price: _Price = None
    carbon: _Carbon = None
    starts: _Starts = None

    def check(self, jobs: Jobs) -> None:
        """Raise OptionError now for what could not be billed after the run."""
        from ..cost import Clock, parse_carbon, parse_tariff

        if self.price is not None:
            parse_tariff(self.price)
        if self.price is None and self.carbon is None and self.starts is None:
            return
        clock = Clock.of(jobs.header, self.starts)
        if self.carbon is not None:
            parse_carbon(self.carbon, clock)


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

        if self.cluster is not None:
            return self.cluster
        return Cluster.homogeneous(machine_size(jobs, self.counted.procs), power=self.power)

    def options(self) -> dict[str, Any]:
        """Return what `simulate` takes besides the placement."""
        told: dict[str, Any] = {
            each.name: getattr(self.cost, each.name) for each in fields(self.cost)
        }
        if self.cluster is not None:
            told["foresight"] = self.nodes.foresight
            told["constraints"] = self.nodes.constraints()
        return told


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


def chosen_power(
    busy: float | None, idle: float | None, per_rate: list[str] | None
) -> Power | None:
    """Return the power model, or None for the default one."""
    from ..cluster import ConstantPower, RatePower

    if per_rate:
        if busy is not None or idle is not None:
            raise OptionError("--watts gives both powers at each rate; leave the others out")
        table = {}
        for text in per_rate:
            try:
                rate, on, off = map(float, text.split(":"))
            except ValueError:
                raise OptionError(
                    f"--watts '{text}': write RATE:BUSY:IDLE, such as 2.66:41:18"
                ) from None
            table[rate] = (on, off)
        return RatePower(table)
    if busy is None and idle is None:
        return None
    default = ConstantPower()
    return ConstantPower(
        default.busy_watts if busy is None else busy, default.idle_watts if idle is None else idle
    )
