"""What may be compared: a ``slurm.conf``, a cluster, a scenario; and in which lines two differ."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..adequacy import CALIBRATED
from ..adequacy.replaying import beginning, usual_members
from ..cluster import Cluster, Power, read_cluster
from ..cluster.slurm import SlurmNode, SlurmPartition
from ..errors import OptionError
from ..jobs import Jobs
from ..jobs.formats.slurm_fields import fold_nodes
from ..policy import Policy, parse_policy
from ..policy.slurm import SlurmConf, SlurmPolicy, policy_from_slurm
from ..policy.slurm.requests import origin_of
from ..run.result import Result
from ..run.scenario import Scenario, read_scenario
from ..run.simulate import simulate

_SCENARIO = (
    "workload",
    "cluster",
    "policy",
    "slurm",
    "control",
    "power",
    "run",
    "failures",
    "checkpoint",
    "maintenance",
)
"""Tables of which a scenario has at least one; a description of nodes has none but ``cluster``."""

_OF_NODES = {
    "gres": "Gres",
    "types": "GresTypes",
    "held": "NoConsume",
    "features": "Feature",
    "sockets": "Sockets",
    "threads_per_core": "ThreadsPerCore",
    "reserved_cpus": "CoreSpecCount",
    "reserved_memory": "MemSpecLimit",
    "state": "State",
}
_OF_PARTITIONS = {
    "is_up": "Up",
    "whole": "Exclusive",
    "default_minutes": "DefaultTime",
    "least_nodes": "MinNodes",
    "most_nodes": "MaxNodes",
    "memory_per_cpu": "DefMemPerCPU",
    "memory_per_node": "DefMemPerNode",
    "most_cpus": "MaxCPUsPerNode",
}


@dataclass(frozen=True)
class Side:
    """One of two things that are compared.

    `lines` is what it says, by name. It is a policy on a cluster (None for that of the policy) with
    options of `simulate`, or a scenario; `path` is its file, if it is one.
    """

    name: str
    lines: Mapping[str, str]
    cluster: Cluster | None = None
    policy: Policy | None = None
    scenario: Scenario | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""

    def machine(self, jobs: Jobs) -> Cluster:
        """Return what its jobs run on."""
        if self.scenario is not None:
            return self.scenario.cluster_for(jobs)
        assert self.cluster is not None
        return self.cluster

    def run(self, jobs: Jobs, *, record: bool = False) -> Result:
        """Simulate jobs that are clean; `record` keeps what the machine did over time."""
        if self.scenario is not None:
            return self.scenario.run(jobs, record=record)
        assert self.policy is not None
        return simulate(
            jobs, self.cluster, self.policy, **{**self.options, "clean": (), "record": record}
        )

    def begun_otherwise(self, jobs: Jobs) -> Iterator[Result]:
        """Yield runs in which Slurm's loops begin at other moments; of other policies, none."""
        policy = self.policy if self.scenario is None else self.scenario.policy
        if not isinstance(policy, SlurmPolicy):
            return
        for k in range(1, usual_members(len(jobs))):
            other = policy.with_pace(beginning(CALIBRATED, policy.conf, origin_of(jobs), k))
            if self.scenario is None:
                yield replace(self, policy=other).run(jobs)
            else:
                machine, options = self.scenario.cluster_for(jobs), self.scenario.options(jobs)
                yield simulate(jobs, machine, other, rate=self.scenario.control, **options)


def side_of(
    given: Any, policy: str | Policy = "easy", power: Power | None = None, **options: Any
) -> Side:
    """Return one side of a comparison; options are those of `simulate`, where it is no scenario.

    It is a ``slurm.conf``, the file of a cluster or of a scenario; or a `SlurmPolicy`, a `Cluster`
    (which runs under `policy`) or a `Scenario`. OptionError for anything else. `power` has the
    watts of a processor where the nodes' own are not known; it is not for scenarios.
    """
    if isinstance(given, SlurmPolicy):
        machine = _with(power, given.cluster)
        return Side(str(given), _of_slurm(given.conf), machine, given, options=options)
    if isinstance(given, Cluster):
        machine, chosen = _with(power, given), parse_policy(policy)
        name = f"{given.procs:,} processors"
        return Side(name, _of_cluster(given, chosen), machine, chosen, options=options)
    if isinstance(given, Scenario):
        return Side("scenario", _flat(given.as_mapping()), scenario=given)
    if not isinstance(given, str | os.PathLike):
        raise OptionError(
            f"{given!r} cannot be compared; give a slurm.conf, a cluster or a scenario"
        )
    path = Path(given)
    if path.suffix.lower() == ".toml" and _is_scenario(path):
        what: Any = read_scenario(path)
    else:
        what = policy_from_slurm(path) if _is_slurm_conf(path) else read_cluster(path)
    return replace(side_of(what, policy, power, **options), name=path.name, path=str(path))


def _with(power: Power | None, cluster: Cluster) -> Cluster:
    return cluster if power is None else replace(cluster, power=power)


def _is_scenario(path: Path) -> bool:
    import tomllib

    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True  # Its reader says what is wrong, and in which line.
    return any(isinstance(tables.get(name), dict) for name in _SCENARIO)


def _is_slurm_conf(path: Path) -> bool:
    if path.suffix.lower() == ".conf":
        return True
    try:
        head = path.read_bytes()[: 1 << 20].decode("utf-8", "replace").lower()
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror or error}") from None
    return any(line.lstrip().startswith("nodename=") for line in head.splitlines())


def _of_slurm(conf: SlurmConf) -> dict[str, str]:
    """What a configuration says, line by line: each scheduler parameter, and nodes by kind."""
    lines = {name: value for name, value in conf.lines.items() if name != "schedulerparameters"}
    lines |= conf.scheduling.parameters
    kinds: dict[str, list[str]] = {}
    for node in conf.nodes:
        words = [f"CPUs={node.cpus}", f"RealMemory={node.memory}", *_given(node, _OF_NODES)]
        kinds.setdefault(" ".join(words), []).append(node.name)
    lines |= {f"nodes of {kind}": _some(names) for kind, names in kinds.items()}
    for part in conf.partitions:
        words = [_some(list(part.nodes)), *(["Default=YES"] if part.is_default else [])]
        words += [f"MaxTime={part.most_minutes:g}", f"PriorityTier={part.tier}"]
        words += [f"PriorityJobFactor={part.factor}", *_given(part, _OF_PARTITIONS)]
        lines[f"partition {part.name}"] = " ".join(words)
    for number, leaf in enumerate(conf.switches, 1):
        lines[f"leaf switch {number}"] = _some(list(leaf))
    return lines


def _given(what: SlurmNode | SlurmPartition, names: Mapping[str, str]) -> list[str]:
    """What else a line says, in Slurm's words; without what is as usual."""
    usual = {field.name: field.default for field in fields(what)}
    values = {name: getattr(what, name) for name in names}
    return [
        f"{names[name]}={_text(value)}"
        for name, value in values.items()
        if value != usual[name] and value == value  # not a number: not given
    ]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, tuple):
        pairs = (part if isinstance(part, str) else f"{part[0]}:{part[1]}" for part in value)
        return ",".join(pairs)
    return value if isinstance(value, str) else f"{value:g}"


def _some(names: list[str]) -> str:
    return f"{len(names):,}: {fold_nodes(names)}"


def _of_cluster(cluster: Cluster, policy: Policy) -> dict[str, str]:
    lines = {"policy": str(policy), "processors": f"{cluster.procs:,}"}
    kinds: dict[str, list[str]] = {}
    for node in cluster.nodes:
        server = node.server
        words = [f"{server.cores} cores"]
        words += [f"{server.memory:g} GB"] if server.memory == server.memory else []
        words += [f"{count} {kind}" for kind, count in server.resources.items()]
        words += [f"{server.watts[0]:g} to {server.watts[-1]:g} W"] if server.watts else []
        kinds.setdefault(f"{server.model}: {', '.join(words)}", []).append(node.name)
    lines |= {f"nodes of {kind}": _some(names) for kind, names in kinds.items()}
    for part in cluster.partitions:
        names = [cluster.nodes[at].name for at in part.nodes]
        lines[f"partition {part.name}"] = f"{_some(names)} max_time={part.max_time:g} s"
    return lines


def _flat(lines: Mapping[str, Any], above: str = "") -> dict[str, str]:
    made: dict[str, str] = {}
    for key, value in lines.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping):
            made |= _flat(value, name)
        else:
            made[name] = str(value)
    return made


@dataclass(frozen=True)
class LineChange:
    """A line that is not the same on both sides; None where a side does not have it."""

    name: str
    a: str | None
    b: str | None


def lines_that_differ(a: Side, b: Side) -> tuple[LineChange, ...]:
    """Return what one side says otherwise than the other, in the order of the first."""
    names = [*a.lines, *(name for name in b.lines if name not in a.lines)]
    return tuple(
        LineChange(name, a.lines.get(name), b.lines.get(name))
        for name in names
        if a.lines.get(name) != b.lines.get(name)
    )
