"""How long a job waits for its nodes to be up, and what it does to those that are not.

Planning takes the mean of a boot whose time is drawn; only who holds nodes starts when they are up
indeed. What is planned is work at the present rate, though no rate makes a boot faster.
"""

from __future__ import annotations

import numpy as np

from ..jit import called, inlined
from .caps import wake_for
from .nodes import PICK, PICK_TASKS
from .sleeping import ROUNDING, boot_time, leave_list, wake
from .state import ASLEEP, ENTERING, LEAVING, UP


@inlined
def _up_time(s, nodes, node):
    """When planning expects a node to be up, if it is wanted from now on (s)."""
    it = nodes.sleeper[node]
    if it.state == UP:
        return s.now
    up = it.expected
    if it.woken == 1:
        up = it.begins + it.leave
    elif it.state == ASLEEP:
        up = s.now + it.leave
    elif it.state == ENTERING:
        up = it.arrives + it.leave
    return max(up, s.now)


@inlined
def _arrival(s, nodes, node):
    """When a node that is wanted is up indeed (s)."""
    it = nodes.sleeper[node]
    if it.state == UP:
        return s.now
    if it.woken == 1:
        return it.begins + boot_time(s, nodes, node, it.boots + 1)
    return it.arrives


@inlined
def _up_work(s, nodes, node):
    """The work clock then."""
    return s.work + (_up_time(s, nodes, node) - s.now) * s.rate


@inlined
def is_up_by(s, nodes, q):
    """Whether the node of a pool is up at the work `s.awake_by`, if it is woken now.

    One that should be up by now is so right after it.
    """
    node = nodes.node[q].order
    it = nodes.sleeper[node]
    if it.state == LEAVING and it.expected <= s.now and it.arrives > s.now:
        return s.work < s.awake_by
    up = _up_work(s, nodes, node)
    if up > s.awake_by > s.work:
        # Who is woken just in time is up by then, though instants are rounded.
        up -= ROUNDING * (abs(up) + abs(s.now) * s.rate)
    return up <= s.awake_by


@called
def boot_of_pools(s, nodes, begin):
    """Work until the nodes of the picked pools are up, from the work `begin` on."""
    if s.sleeps == 0 or s.not_up == 0:
        return 0.0
    latest = begin
    for i in range(s.picked):
        latest = max(latest, _up_work(s, nodes, nodes.node[nodes.list[PICK, i]].order))
    return latest - begin


@called
def boot_of_nodes(s, nodes):
    """Work until the picked nodes are up, from now on."""
    if s.sleeps == 0 or s.not_up == 0 or s.unsure == 0:
        return 0.0
    latest = s.work
    for i in range(s.picked):
        latest = max(latest, _up_work(s, nodes, nodes.list[PICK, i]))
    return latest - s.work


@inlined
def _next_picked(s, nodes, i, before):
    """The next of the picked nodes; by number after `before` where it matters who wakes first."""
    if s.wake_gap == 0.0:
        return nodes.list[PICK, i]
    least = s.nodes
    for k in range(s.picked):
        if before < nodes.list[PICK, k] < least:
            least = nodes.list[PICK, k]
    return least


@called
def use_nodes(s, nodes, j):
    """`j` gets the picked nodes: they are idle no longer, and those that sleep wake."""
    up = by_plan = s.now
    node = np.int64(-1)
    surely_up = s.not_up == 0 or s.unsure == 0
    for i in range(s.picked if surely_up else 0):
        leave_list(s, nodes, nodes.list[PICK, i])
    for i in range(0 if surely_up else s.picked):
        node = _next_picked(s, nodes, i, node)
        leave_list(s, nodes, node)
        if nodes.sleeper[node].state == ASLEEP:
            wake_for(s, nodes, nodes.caps, j, nodes.node[node].pool, nodes.list[PICK_TASKS, i])
        if nodes.sleeper[node].state != UP:
            by_plan = max(by_plan, _up_time(s, nodes, node))
            wake(s, nodes, node)
            up = max(up, _arrival(s, nodes, node))
    nodes.job[j].up = up
    nodes.job[j].up_by_plan = by_plan
    nodes.job[j].boot = (up - s.now) * s.rate
