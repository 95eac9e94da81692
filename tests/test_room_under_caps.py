"""Who can never run under caps, against nodes that are filled one by one."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.cluster import PowerCap
from sojourn.cluster.states import PowerStates, SleepState
from sojourn.run.simulate import prepare

DEEP = SleepState("off", 9.0, enter=60.0, enter_watts=104.0, leave=240.0, leave_watts=150.0)
SERVERS = (
    sojourn.Server("even", 8, 8e6, (95.0, 191.0), states=PowerStates((DEEP,))),
    sojourn.Server("lean", 4, 4e6, (20.0, 60.0)),
    sojourn.Server("fat", 16, 16e6, (100.0, 420.0), states=PowerStates((DEEP,))),
)


def has_room(servers, over, room, procs: int, sleeps: bool) -> bool:
    """Fill the nodes in order of what a busy processor adds, each as far as its caps allow."""
    added = [round((s.watts[-1] - s.watts[0]) / s.cores * 1000) for s in servers]
    free, left = list(room), procs
    for k in sorted(range(len(servers)), key=lambda k: added[k]):
        waking = 0
        if sleeps and servers[k].states.sleep:
            waking = max(0, round((150 - servers[k].watts[0]) * 1000))
        mine = [c for c, nodes in enumerate(over) if k in nodes]
        taken = min(servers[k].cores, left)
        for c in mine:
            taken = 0 if waking > free[c] else min(taken, free[c] // added[k])
        if taken:
            for c in mine:
                free[c] -= max(taken * added[k], waking)
        left -= taken
    return left == 0


@pytest.mark.parametrize("sleep", ["never", "idle:300"])
@pytest.mark.parametrize("seed", range(12))
def test_who_can_never_run(seed, sleep):
    rng = np.random.default_rng(seed)
    few = rng.integers(1, len(SERVERS) + 1)
    servers = [SERVERS[k] for k in sorted(rng.integers(0, few, rng.integers(3, 9)))]
    count = len(servers)
    idle = np.array([server.watts[0] for server in servers])
    full = np.array([server.watts[-1] for server in servers])
    sets = [tuple(range(count)), tuple(range(count // 2)), tuple(range(count // 2, count))]
    sets = sets[: rng.integers(1, 4)]
    watts = []
    for nodes in sets:
        some = list(nodes)
        watts.append(
            float(np.ceil(idle[some].sum() + rng.uniform(0, 1) * (full - idle)[some].sum()))
        )
    cluster = sojourn.Cluster.of(servers)
    caps = [sojourn.Cap((watts[0],))]
    if len(sets) > 1:
        own = tuple(PowerCap(f"part{c}", nodes) for c, nodes in enumerate(sets) if c)
        cluster = sojourn.Cluster.of(servers, caps=own)
        caps += [sojourn.Cap((watts[c],), of=f"part{c}") for c in range(1, len(sets))]
    procs = np.arange(1, cluster.procs + 1)
    jobs = sojourn.Jobs({"submit": procs, "runtime": procs * 0 + 60, "procs": procs})
    _, prepared = prepare(jobs, cluster, "easy", cap=caps, sleep=sleep, estimates="exact")
    room = [round((watts[c] - idle[list(nodes)].sum()) * 1000) for c, nodes in enumerate(sets)]
    expected = [has_room(servers, sets, room, p, sleep != "never") for p in procs.tolist()]
    assert prepared.accepted.tolist() == expected
