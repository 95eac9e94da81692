"""From a sleep policy and the states of nodes to what the engine sees of nodes that sleep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...cluster import AssumedPower, Cluster, Server
from ...cluster.states import SleepState
from ...engine.nodes import SleepFacts
from ...errors import OptionError, PolicyError, nearest
from ...policy import Policy, SleepPolicy

if TYPE_CHECKING:
    from ..options import Options

_KEY = "policy.sleep"


def depth_of(server: Server, depth: str = "") -> SleepState | None:
    """The state in which a server sleeps: that of a name, or its first; None if it has none."""
    return next((state for state in server.states.sleep if depth in ("", state.name)), None)


def depths_in_use(cluster: Cluster, depth: str) -> list[SleepState | None]:
    """The state in which each node sleeps; None of those that have none, or stay on."""
    on, _ = _staying(cluster)
    servers, kind = cluster.kinds
    of_kind = [depth_of(server, depth) for server in servers]
    return [
        None if stays else of_kind[k] for k, stays in zip(kind.tolist(), on.tolist(), strict=True)
    ]


def _example(procs: int) -> str:
    """The shortest file of nodes that sleep."""
    known = AssumedPower()
    watts = f"watts = {known.busy_watts:g}, idle_watts = {known.idle_watts:g}"
    state = f'name = "off", watts = 2, leave = 150, leave_watts = {known.busy_watts:g}'
    return f"node = [{{count = {procs}, cores = 1, {watts}, sleep = [{{{state}}}]}}]"


def sleep_facts(
    cluster: Cluster, policy: Policy, options: Options, sleep: SleepPolicy
) -> SleepFacts | None:
    """When the nodes of a run sleep, by a policy that knows what it foresees; None if never."""
    if sleep.is_never:
        return None
    if not cluster.is_named:
        raise OptionError(
            f"sleep '{sleep}': processors are only counted; describe nodes that sleep in a .toml "
            f"file (--cluster), with your own W and s: {_example(cluster.procs)}",
            key=_KEY,
        )
    if policy.preemptive:
        raise PolicyError(
            f"sleep '{sleep}': policy '{policy}' stops jobs, which is not defined for nodes that "
            "sleep; give another policy"
        )
    servers, kind = cluster.kinds
    depths = [depth_of(server, sleep.depth) for server in servers]
    if not any(depths):
        names = {state.name for node in cluster.nodes for state in node.server.states.sleep}
        what = f"no node has a sleep state '{sleep.depth}'; {nearest(sleep.depth, names)}"
        if not names:
            what = (
                "no node of the cluster has a sleep state; give it one with [[node.sleep]] in a "
                ".toml file, which sojourn cluster convert writes from any other"
            )
        raise OptionError(f"sleep '{sleep}': {what}", key=_KEY)
    on, stays = _staying(cluster)
    saving = cluster.power_saving
    sleep_rate, wake_rate = options.sleep_rate, options.wake_rate
    if saving is not None:
        sleep_rate = saving.enter_rate if sleep_rate is None else sleep_rate
        wake_rate = saving.leave_rate if wake_rate is None else wake_rate
    return SleepFacts(
        able=np.array([state is not None for state in depths])[kind] & ~on,
        enter=np.array([state.enter if state is not None else 0.0 for state in depths])[kind],
        leave=np.array([state.leave if state is not None else 0.0 for state in depths])[kind],
        varies=np.array([state is not None and bool(state.leave_varies) for state in depths])[kind],
        idle_time=sleep.idle_time,
        idle_varies=sleep.idle_varies,
        keeps=sleep.law is not None,
        ask_every=sleep.ask_every,
        boot_failure=options.boot_failure,
        repair=options.boot_repair,
        seed=options.seed,
        sleep_gap=60.0 / sleep_rate if sleep_rate else 0.0,
        wake_gap=60.0 / wake_rate if wake_rate else 0.0,
        stays=stays,
        asks=np.array(sleep.asks),
    )


def refuse_staggered(sleep: SleepFacts | None) -> None:
    """Refuse rates of going to sleep and of waking where jobs wait for watts."""
    if sleep is not None:
        for name, gap in (("sleep_rate", sleep.sleep_gap), ("wake_rate", sleep.wake_gap)):
            if gap:
                raise OptionError(
                    "so many nodes a minute are not defined under a cap for which jobs wait; give "
                    "0, or no cap",
                    key=f"policy.{name}",
                )


def _staying(cluster: Cluster) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which nodes never sleep; and sets, by row, of which so many stay on: the last column."""
    number, saving = len(cluster.nodes), cluster.power_saving
    on, rows = np.zeros(number, dtype=bool), []
    if saving is not None:
        place = {node.name: at for at, node in enumerate(cluster.nodes)}
        for partition in cluster.partitions:
            if partition.name in saving.excluded_partitions:
                on[list(partition.nodes)] = True
        for names, least in saving.excluded_nodes:
            mine = [place[name] for name in names if name in place]
            if least is None:
                on[mine] = True
            else:
                rows.append(np.zeros(number + 1, dtype=np.int64))
                rows[-1][mine] = 1
                rows[-1][number] = least
    return on, np.array(rows, dtype=np.int64).reshape(-1, number + 1)
