"""Power saving of a ``slurm.conf`` on the nodes of a cluster, as the model of Slurm acts on it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...cluster import Cluster
from ...cluster.slurm import power_saving_in
from ...cluster.states import PowerSaving, SleepState
from ...engine.passes.slurm_power import NEVER, Saving
from ...errors import OptionError
from ...jobs.formats.slurm_fields import fold_nodes
from .nodes import NodeTable
from .scheduling import POWER_LINES
from .site import SlurmConf

_INTERVAL = 10  # s, power_save_interval unless told


class PowerPlan(NamedTuple):
    """When the nodes of a run are powered down.

    Parameters
    ----------
    saving : what the engine sees.
    text : the lines that it follows from.
    idle_time : s after which most nodes are powered down; inf where only partitions say.
    said : what was assumed, in words.
    """

    saving: Saving
    text: str
    idle_time: float
    said: tuple[str, ...]


def power_plan(conf: SlurmConf, nodes: NodeTable, cluster: Cluster | None) -> PowerPlan | None:
    """Return when nodes are powered down; None if none ever is.

    Parameters
    ----------
    conf, nodes : of the site.
    cluster : whose nodes may have states of sleep; None if nothing is known of them.

    Raises
    ------
    ClusterError
        When a line says what cannot be.
    OptionError
        When nodes take longer to power down or to boot than Slurm waits for them.
    """
    own = conf.suspend_times
    if not conf.get("SuspendTime") and not own:
        return None
    told = power_saving_in(conf, own, strict=False)
    idle = _idle_times(told, nodes)
    sets: list[tuple[list[int], int]] = []
    place = {name: at for at, name in enumerate(nodes.names)}
    for names, number in told.excluded_nodes:
        inside = sorted(place[name] for name in names)
        if number is None or number >= len(inside):
            idle[inside] = NEVER
        elif number > 0:
            sets.append((inside, number))
    if (idle >= NEVER).all():
        return None
    states = _states(nodes, cluster)
    times = _times(told, states)
    _check(told, nodes, idle, times)
    interval, least = _intervals(conf)
    saving = Saving(
        on=True,
        timeout=int(told.enter_timeout),
        suspend_rate=_rate(told.enter_rate),
        resume_rate=_rate(told.leave_rate),
        interval=interval,
        least_interval=least,
        spare_planned="PLANNED" in told.excluded_states,
        idle_time=idle,
        enter=times[0],
        leave=times[1],
        first=np.cumsum([0, *(len(inside) for inside, _ in sets)]).astype(np.int64),
        spared=np.array([at for inside, _ in sets for at in inside], np.int64),
        number=np.array([number for _, number in sets], np.int64),
    )
    said = tuple(_assumed(conf, told, nodes, [s is None for s in states], idle))
    return PowerPlan(saving, _text(conf, told), told.idle_time, said)


def _rate(per_minute: float) -> int:
    return 0 if math.isinf(per_minute) else int(per_minute)


def _idle_times(told: PowerSaving, nodes: NodeTable) -> np.ndarray:
    """Seconds after which each node is powered down: the longest of its partitions', if any."""
    general = NEVER if math.isinf(told.idle_time) else int(told.idle_time)
    idle = np.full(len(nodes.names), -1, np.int64)
    own = dict(told.by_partition)
    for k, name in enumerate(nodes.partition_names):
        inside = (nodes.partitions >> k) & 1 == 1
        if name in own:
            longest = NEVER if math.isinf(own[name]) else int(own[name])
            idle[inside] = np.maximum(idle[inside], longest)
    idle[idle < 0] = general
    for k, name in enumerate(nodes.partition_names):
        if name in told.excluded_partitions:
            idle[(nodes.partitions >> k) & 1 == 1] = NEVER
    return idle


def _states(nodes: NodeTable, cluster: Cluster | None) -> list[SleepState | None]:
    """The first state of sleep of each node, in Slurm's order."""
    known: dict[str, SleepState] = {}
    for node in () if cluster is None else cluster.nodes:
        if node.server.states.sleep:
            known[node.name] = node.server.states.sleep[0]
    return [known.get(name) for name in nodes.names]


def _times(told: PowerSaving, states: list[SleepState | None]) -> tuple[np.ndarray, np.ndarray]:
    """Seconds that each node needs to power down, and to boot; as long as may be if not known."""
    enter = [told.enter_timeout if state is None else state.enter for state in states]
    leave = [told.leave_timeout if state is None else state.leave for state in states]
    return np.array(enter, np.float64), np.array(leave, np.float64)


def _check(
    told: PowerSaving, nodes: NodeTable, idle: np.ndarray, times: tuple[np.ndarray, np.ndarray]
) -> None:
    """Refuse nodes that Slurm would not wait for."""
    limits = ("SuspendTimeout", told.enter_timeout), ("ResumeTimeout", told.leave_timeout)
    for (line, limit), needed, what in zip(limits, times, ("power down", "boot"), strict=True):
        late = (needed > limit) & (idle < NEVER)
        if late.any():
            at = int(np.argmax(late))
            raise OptionError(
                f"{line}={limit:g}: node '{nodes.names[at]}' takes {needed[at]:g} s to {what}, and "
                f"Slurm would give it up; set slurm.{line} to {math.ceil(needed[at])} or more",
                key=f"slurm.{line}",
            )


def _intervals(conf: SlurmConf) -> tuple[int, int]:
    """How often the loop does its work at least, and at most (s)."""
    said = conf.get("SlurmctldParameters")

    def value(name: str, default: int) -> int:
        found = re.search(rf"{name}=(\d+)", said, re.IGNORECASE)
        return int(found[1]) if found else default

    return value("power_save_interval", _INTERVAL), value("power_save_min_interval", 0)


def _text(conf: SlurmConf, told: PowerSaving) -> str:
    """The lines of power saving, with the defaults of those that always matter."""
    usual = {
        "SuspendTime": "INFINITE",
        "SuspendTimeout": f"{told.enter_timeout:g}",
        "ResumeTimeout": f"{told.leave_timeout:g}",
        "SuspendRate": f"{_rate(told.enter_rate)}",
        "ResumeRate": f"{_rate(told.leave_rate)}",
    }
    words = [f"{name}={conf.get(name) or usual.get(name, '')}" for name in POWER_LINES]
    words += [
        f"{name}: SuspendTime={'INFINITE' if math.isinf(own) else f'{own:g}'}"
        for name, own in told.by_partition
    ]
    return ", ".join(word for word in words if not word.endswith("="))


def _assumed(
    conf: SlurmConf, told: PowerSaving, nodes: NodeTable, unknown: list[bool], idle: np.ndarray
) -> Iterator[str]:
    """Say what had to be assumed of nodes that are powered down."""
    guessed = [
        name
        for name, missing, seconds in zip(nodes.names, unknown, idle, strict=True)
        if missing and seconds < NEVER
    ]
    if guessed:
        yield (
            f"SuspendTime: {fold_nodes(guessed)} without a sleep state: assumed to need "
            f"{told.enter_timeout:g} s to power down and {told.leave_timeout:g} s to boot "
            "(SuspendTimeout, ResumeTimeout), at idle power, and to draw nothing in between"
        )
    if not (conf.get("SuspendProgram") and conf.get("ResumeProgram")):
        yield "SuspendTime: Slurm itself needs a SuspendProgram and a ResumeProgram as well"
    for state in told.excluded_states:
        if state != "PLANNED":
            yield f"SuspendExcStates {state}: no node of the model is ever in it"
    listed = {name for names, _ in told.excluded_nodes for name in names}
    if conf.get("SuspendExcNodes") and not listed:
        yield f"SuspendExcNodes={conf.get('SuspendExcNodes')}: none of these nodes is there"
