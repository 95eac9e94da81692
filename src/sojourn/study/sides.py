"""What may be compared: a ``slurm.conf``, a cluster, a scenario; and in which lines two differ."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..cluster import Cluster, read_cluster
from ..errors import OptionError
from ..jobs import Jobs
from ..jobs.formats.slurm_fields import fold_nodes
from ..policy import Policy, parse_policy
from ..policy.slurm import SlurmConf, SlurmPolicy, policy_from_slurm
from ..run.result import Result
from ..run.scenario import Scenario, read_scenario
from ..run.simulate import simulate

__all__ = ["LineChange", "Side", "lines_that_differ", "side_of"]

_SCENARIO = ("workload", "cluster", "policy", "control", "power", "run", "events", "study")
"""Tables of which a scenario has at least one; a description of nodes has none but ``cluster``."""


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
        if self.cluster is None and isinstance(self.policy, SlurmPolicy):
            return self.policy.cluster
        assert self.cluster is not None
        return self.cluster

    def run(self, jobs: Jobs) -> Result:
        """Simulate jobs that are clean."""
        if self.scenario is not None:
            return self.scenario.run(jobs)
        assert self.policy is not None
        return simulate(jobs, self.cluster, self.policy, **{**self.options, "clean": ()})


def side_of(given: Any, policy: str | Policy = "easy", **options: Any) -> Side:
    """Return one side of a comparison; options are those of `simulate`, where it is no scenario.

    It is a ``slurm.conf``, the file of a cluster or of a scenario; or a `SlurmPolicy`, a `Cluster`
    (which runs under `policy`) or a `Scenario`. OptionError for anything else.
    """
    if isinstance(given, SlurmPolicy):
        return Side(str(given), _of_slurm(given.conf), policy=given, options=options)
    if isinstance(given, Cluster):
        chosen = parse_policy(policy)
        name = f"{given.procs:,} processors"
        return Side(name, _of_cluster(given, chosen), given, chosen, options=options)
    if isinstance(given, Scenario):
        return Side("scenario", _flat(given.as_mapping()), scenario=given)
    if not isinstance(given, str | os.PathLike):
        raise OptionError(
            f"{given!r} cannot be compared; give a slurm.conf, a cluster or a scenario"
        )
    path = Path(given)
    side = _of_file(path, policy, options)
    return replace(side, path=str(path))


def _of_file(path: Path, policy: str | Policy, options: Mapping[str, Any]) -> Side:
    name = path.name
    if path.suffix.lower() == ".toml" and _is_scenario(path):
        scenario = read_scenario(path)
        return Side(name, _flat(scenario.as_mapping()), scenario=scenario)
    if _is_slurm_conf(path):
        site = policy_from_slurm(path)
        return Side(name, _of_slurm(site.conf), policy=site, options=options)
    cluster, chosen = read_cluster(path), parse_policy(policy)
    return Side(name, _of_cluster(cluster, chosen), cluster, chosen, options=options)


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
        gres = ",".join(f"{kind}:{count}" for kind, count in node.gres)
        words = [f"CPUs={node.cpus}", f"RealMemory={node.memory}"]
        words += [f"Gres={gres}"] if gres else []
        words += [f"Feature={','.join(node.features)}"] if node.features else []
        kinds.setdefault(" ".join(words), []).append(node.name)
    lines |= {f"nodes of {kind}": _some(names) for kind, names in kinds.items()}
    for part in conf.partitions:
        words = [_some(list(part.nodes))]
        words += ["Default=YES"] if part.is_default else []
        words += [f"MaxTime={part.most_minutes:g}", f"PriorityTier={part.tier}"]
        words += [f"PriorityJobFactor={part.factor}"]
        lines[f"partition {part.name}"] = " ".join(words)
    return lines


def _some(names: list[str]) -> str:
    return f"{len(names):,}: {fold_nodes(names)}"


def _of_cluster(cluster: Cluster, policy: Policy) -> dict[str, str]:
    lines = {"policy": str(policy), "processors": f"{cluster.procs:,}"}
    kinds: dict[str, list[str]] = {}
    for node in cluster.nodes:
        server = node.server
        words = [f"{server.cores} cores", f"{server.memory:g} GB"]
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
