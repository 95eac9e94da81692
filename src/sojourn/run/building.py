"""What a run is made of, from the keys of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from ..cluster import (
    AssumedPower,
    Cluster,
    ConstantPower,
    Power,
    RatePower,
    ScaledPower,
)
from ..errors import PolicyError
from ..policy import (
    CONTROLS,
    Constraints,
    Control,
    NodeScore,
    Placement,
    Policy,
    Score,
    by_domain,
    load_node_score,
    load_score,
    parse_placement,
    parse_policy,
)
from ..policy.slurm import policy_from_slurm
from .inputs import Stamp, machine_files, module_files, stamp_of
from .keys import (
    ClusterKeys,
    ConstraintKeys,
    ControlKeys,
    PolicyKeys,
    PowerKeys,
    SlurmKeys,
)
from .keys.describing import is_score_file
from .keys.policy import SLURM

_Kind = TypeVar("_Kind", Score, NodeScore)


def make_control(keys: ControlKeys) -> Control:
    """Return the service-rate control."""
    if keys.domains is not None:
        return by_domain(keys.domains)
    kind = CONTROLS[keys.kind]
    return kind.make(**{name: getattr(keys, name) for name in (*kind.keys, *kind.more)})


def make_power(keys: PowerKeys) -> Power:
    """Return what a counted processor draws."""
    if keys.levels is not None:
        return RatePower({level.rate: (level.busy, level.idle) for level in keys.levels})
    scaled = _given(keys, "static", "dynamic", "exponent", "reference")
    if scaled:
        return ScaledPower(**scaled)
    watts = _given(keys, "busy", "idle")
    if not watts:
        return AssumedPower()
    return ConstantPower(**{f"{name}_watts": value for name, value in watts.items()})


def power_in_words(keys: PowerKeys, name_of: Callable[[str], str]) -> str:
    """Return which watts are assumed beside one that is given; nothing where none are."""
    watts = _given(keys, "busy", "idle")
    if len(watts) != 1 or keys.levels is not None:
        return ""
    name = "idle" if "busy" in watts else "busy"
    assumed = getattr(AssumedPower(), f"{name}_watts")
    option = name_of(f"power.{name}")
    article = "an" if name == "idle" else "a"
    return f"{article} {name} processor is taken to draw {assumed:g} W; give {option}"


def _given(keys: PowerKeys, *names: str) -> dict[str, Any]:
    values = {name: getattr(keys, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def make_constraints(keys: ConstraintKeys) -> Constraints:
    """Return what jobs ask of their nodes."""
    feature = keys.feature
    return Constraints(
        memory_per_core=keys.memory_per_core or None,
        memory_per_node=keys.memory_per_node or None,
        whole_node=keys.whole_node,
        feature=feature
        if feature is None or isinstance(feature, str)
        else {
            str(column): {int(value): word for value, word in words.items()}
            for column, words in feature.items()
        },
        power_budget=keys.power_budget,
    )


def changed_lines(slurm: SlurmKeys) -> dict[str, Any]:
    """Return lines of a ``slurm.conf`` that have other values than in the file."""
    return slurm.model_dump(exclude={"conf"}, exclude_none=True)


def make_policy(keys: PolicyKeys, slurm: SlurmKeys) -> Policy:
    """Return the policy: that of the name, with what other keys put in its place."""
    if keys.name == SLURM:
        return policy_from_slurm(slurm.conf or "", changed_lines(slurm))
    named = parse_policy(keys.name)
    order: str | Score = named.order if keys.order is None else _order(keys.order)
    if keys.theta is not None and isinstance(order, Score):
        order = order.with_theta(*keys.theta)
    # Another backfilling begins with one reservation, and no order of its own.
    backfill, reservations, by = named.backfill, named.reservations, named.backfill_order
    if keys.backfill is not None:
        backfill, reservations, by = keys.backfill, 1, None
    return Policy(
        order=order,
        backfill=backfill,
        reservations=reservations if keys.reservations is None else keys.reservations,
        backfill_order=by if keys.backfill_order is None else _order(keys.backfill_order),
    )


def _order(name: str) -> str | Score:
    return _loaded(load_score, name, _stamps(name)) if is_score_file(name) else name


def make_placement(keys: PolicyKeys) -> Placement:
    """Return which nodes a job gets."""
    if not is_score_file(keys.placement):
        return parse_placement(keys.placement)
    score = _loaded(load_node_score, keys.placement, _stamps(keys.placement))
    if keys.placement_theta is not None:
        score = replace(score, theta=tuple(keys.placement_theta))
    return parse_placement(score)


def _stamps(where: str) -> tuple[Stamp, ...]:
    """What tells whether a policy file, or a module beside it, has changed."""
    path = where.rpartition(":")[0]
    return tuple(map(stamp_of, (path, *module_files("", path).values())))


# A file is loaded once in a process, as long as it stays as it is: each time its score would be
# compiled again.
@lru_cache(maxsize=64)
def _loaded(load: Callable[[str], _Kind], where: str, stamps: tuple[Stamp, ...]) -> _Kind:
    try:
        return load(where)
    except SystemExit:
        raise PolicyError(
            f"{where}: the file exits when it is loaded", path=where.rpartition(":")[0]
        ) from None


def make_nodes(keys: ClusterKeys, *, strict: bool = False) -> Cluster | None:
    """Return the cluster of named nodes; None where processors are counted."""
    if keys.nodes is None:
        return None
    paths = [keys.nodes, *machine_files(keys.nodes).values()]
    return _nodes(keys, tuple(map(stamp_of, paths)), strict)


@lru_cache(maxsize=8)
def _nodes(keys: ClusterKeys, stamps: tuple[Stamp, ...], strict: bool) -> Cluster:
    # Its readers take long to load, and most runs count processors.
    from ..cluster import find_cluster

    kept = "keep" if keys.keep_noncompliant else "refuse"
    cluster = find_cluster(
        keys.nodes or "", processor=keys.processor, noncompliant=kept, strict=strict
    )
    return cluster if keys.where is None else cluster.select(keys.where)
