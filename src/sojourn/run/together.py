"""What is wrong with keys of a scenario beside each other; each has been checked alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..errors import InputError
from ..jobs.models.stream import parse_time
from ..policy import CONTROLS
from ..policy.slurm import SlurmPolicy
from .build.deferring import series_name
from .building import changed_lines, make_control, make_policy, make_power
from .keys import OF_LOGS, OF_MODELS, ControlKeys, Keys, ScenarioKeys
from .keys.defer import read_deferral
from .keys.describing import is_score_file
from .keys.failures import make_checkpoint, make_failures, make_maintenance
from .keys.policy import SLURM
from .toml import Path

_Table = TypeVar("_Table", bound=Keys)

_OF_NODES = (
    *(("cluster", name) for name in ("where", "processor", "keep_noncompliant")),
    *(("policy", name) for name in ("placement", "placement_theta", "foresight", "constraints")),
    ("run", "decisions"),
)
_POWERS = (("levels",), ("static", "dynamic", "exponent", "reference"), ("busy", "idle"))


def problems_together(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield a key and what is wrong with it beside the others; each has been checked alone.

    Parameters
    ----------
    keys : all of them.
    given : those that are set, as they were written; tables that are not say nothing wrong.
    """
    yield from _workload(keys)
    yield from _cluster(keys)
    yield from _slurm(keys)
    for section, problems in _ALONE.items():
        if section in given:
            yield from problems(keys, given)


def _is_given(table: Keys, name: str) -> bool:
    """Whether a key holds anything but its default."""
    return bool(getattr(table, name) != type(table).model_fields[name].default)


def _given_part(table: Keys, name: str) -> Path:
    """The key, or the first that is given of the table that it holds."""
    inner = getattr(table, name)
    if not isinstance(inner, Keys):
        return (name,)
    return (name, *(key for key in type(inner).model_fields if _is_given(inner, key)))[:2]


def _workload(keys: ScenarioKeys) -> Iterator[tuple[Path, str]]:
    workload = keys.workload
    if workload.log is None and workload.model is None:
        yield ("workload",), "no jobs: give log or model"
        return
    if workload.log is not None and workload.model is not None:
        yield ("workload", "model"), "there is a log too; leave one of them out"
        return
    mine = OF_LOGS if workload.model is None else OF_MODELS[workload.model]
    for name in dict.fromkeys([*OF_LOGS, *(n for of in OF_MODELS.values() for n in of)]):
        if name not in mine and _is_given(workload, name):
            whose = "a log" if workload.model is None else f"'{workload.model}'"
            yield ("workload", name), f"{whose} has no such key; leave it out"
    early, late = workload.since, workload.until
    if early is not None and late is not None and early >= late:
        yield ("workload", "until"), f"{late:g} s is not after since, {early:g} s; correct it"
    if isinstance(workload.estimates, float) and workload.estimates < 1:
        yield ("workload", "estimates"), f"a factor of {workload.estimates:g}; give 1 or more"
    if workload.model == "poisson" and workload.load is None:
        try:
            parse_time(workload.interarrival)
        except InputError:  # With a mean from elsewhere it has been read before.
            yield (
                ("workload", "interarrival"),
                "has no mean; give load, or a mean as in 'exponential:60'",
            )


def _cluster(keys: ScenarioKeys) -> Iterator[tuple[Path, str]]:
    if keys.cluster.nodes is None and keys.slurm.conf is not None and keys.cluster.procs is None:
        for name in (name for names in _POWERS[:-1] for name in names):
            if _is_given(keys.power, name):
                words = "with {slurm.conf} give {power.busy} and {power.idle}, of a processor"
                yield ("power", name), words
        return
    if keys.cluster.nodes is None:
        for section, name in _OF_NODES:
            if _is_given(getattr(keys, section), name):
                yield (
                    (section, *_given_part(getattr(keys, section), name)),
                    "processors are only counted; give {cluster.nodes}",
                )
        if keys.workload.model is not None and (keys.workload.procs or keys.cluster.procs) is None:
            yield ("cluster", "procs"), f"'{keys.workload.model}' does not tell it; give it"
        return
    if keys.cluster.procs is not None:
        yield ("cluster", "procs"), "{cluster.nodes} says how many; leave one of them out"
    for name in (name for names in _POWERS for name in names):
        if _is_given(keys.power, name):
            yield ("power", name), "{cluster.nodes} says how many watts; leave one of them out"


def _slurm(keys: ScenarioKeys) -> Iterator[tuple[Path, str]]:
    if keys.policy.name != SLURM:
        for name in changed_lines(keys.slurm) if keys.slurm.conf is None else ():
            yield ("slurm", name), f"{{policy.name}} is '{keys.policy.name}'; give slurm"
        return
    if keys.slurm.conf is None:
        yield ("slurm", "conf"), "policy 'slurm' is read from a slurm.conf; give it"
    for name in ("order", "theta", "backfill", "reservations", "backfill_order"):
        if _is_given(keys.policy, name):
            yield ("policy", name), "policy 'slurm' has its own; leave it out"
    changes = changed_lines(keys.slurm)
    try:
        SlurmPolicy().with_parameters(changes)
    except InputError as error:
        name = next((name for name in changes if str(error).startswith(name)), "conf")
        yield ("slurm", name), str(error).removeprefix(f"{name}=")


def _policy(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    policy = keys.policy
    if policy.name == SLURM:
        return
    if policy.theta is not None and not is_score_file(policy.order or ""):
        yield ("policy", "theta"), "only an order of one's own has parameters; give order"
    if policy.placement_theta is not None and not is_score_file(policy.placement):
        yield ("policy", "placement_theta"), "only a placement of one's own has parameters"
    # Files are looked for when they are needed; until then any order stands for theirs.
    away = {
        name: None
        for name in ("order", "backfill_order")
        if is_score_file(getattr(policy, name) or "")
    }
    try:
        make_policy(policy.model_copy(update={**away, "theta": None}), keys.slurm)
    except InputError as error:
        yield _blamed(error, "policy"), str(error)


def _control(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    control, kind = keys.control, keys.control.kind
    if control.domains is not None:
        yield from _domains(control)
        return
    needed, allowed = CONTROLS[kind].keys, (*CONTROLS[kind].keys, *CONTROLS[kind].more)
    for name in needed:
        if getattr(control, name) is None:
            yield ("control", name), f"a control of kind '{kind}' needs it; give it"
            return
    for name in type(control).model_fields:
        if name not in (*allowed, "kind", "reference_rate") and _is_given(control, name):
            has = f"it has {', '.join(allowed)}"
            yield ("control", name), f"a control of kind '{kind}' has no such key; {has}"
            return
    for name in needed if CONTROLS[kind].counts else ():
        value = given["control"][name]
        values = value if isinstance(value, list) else [value]
        if any(isinstance(item, str) for item in values):
            yield ("control", name), "jobs are counted; give a number without a unit"
            return
    try:
        make_control(control)
    except InputError as error:
        yield _blamed(error, "control", *needed[-1:]), str(error)


def _domains(control: ControlKeys) -> Iterator[tuple[Path, str]]:
    for name in type(control).model_fields:
        if name not in ("domains", "reference_rate") and _is_given(control, name):
            yield ("control", name), "{control.domains} says the rates; leave one of them out"
            return
    try:
        make_control(control)
    except InputError as error:
        yield ("control", "domains"), str(error)


def _power(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    said = [(name, names) for names in _POWERS for name in names if _is_given(keys.power, name)]
    for name, names in said[1:]:
        if names is not said[0][1]:
            yield ("power", name), f"{{power.{said[0][0]}}} says the watts; leave one of them out"
            return
    try:
        make_power(keys.power)
    except InputError as error:
        yield _blamed(error, "power", *(name for name, _ in said[:1])), str(error)


def _defer(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    defer, power = keys.defer, keys.power
    if defer.kind == "none":
        for name in type(defer).model_fields:
            if _is_given(defer, name):
                yield ("defer", name), "no job is held; give {defer.kind}"
        return
    try:
        read_deferral(defer)
    except InputError as error:
        yield _blamed(error, "defer"), str(error)
        return
    by = series_name(defer.by, power.carbon, power.price)
    series = getattr(power, by)
    if series is None:
        either = f"{{power.{by}}}" if defer.by else "{power.carbon} or {power.price}"
        yield ("defer", "kind"), f"jobs are held for what? give {either}, a series"
    elif isinstance(series, float | int):
        words = f"{{power.{by}}} is {series:g} at all times, and nothing is gained by waiting"
        yield ("defer", "kind"), f"{words}; give a series"


def _failures(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    yield from _alone(keys.failures, given, "failures", make_failures, "mtbf")


def _checkpoint(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    yield from _alone(keys.checkpoint, given, "checkpoint", make_checkpoint, "every")
    if isinstance(keys.checkpoint.every, str) and make_failures(keys.failures) is None:
        problem = f"'{keys.checkpoint.every}' follows from failures; give {{failures}}, or a time"
        yield ("checkpoint", "every"), problem


def _maintenance(keys: ScenarioKeys, given: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    yield from _alone(keys.maintenance, given, "maintenance", make_maintenance, "length")


def _alone(
    table: _Table, given: dict[str, Any], name: str, make: Callable[[_Table], object], first: str
) -> Iterator[tuple[Path, str]]:
    """What is wrong with a table which says nothing unless it has its `first` key."""
    try:
        made = make(table)
    except InputError as error:
        yield _blamed(error, name), str(error).removeprefix(f"{name}: ")
        return
    said = list(given[name] or ())
    if made is None and said:
        yield (name, said[0]), f"{said[0]} alone says nothing; give {first}"


_ALONE = {
    "policy": _policy,
    "control": _control,
    "power": _power,
    "defer": _defer,
    "failures": _failures,
    "checkpoint": _checkpoint,
    "maintenance": _maintenance,
}
"""What is wrong with a table, by its name."""


def _blamed(error: InputError, *otherwise: str) -> Path:
    """The key that an error is about."""
    return tuple(error.key.split(".")) if error.key else otherwise
