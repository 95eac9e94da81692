"""Slurm's power saving: the loop that powers idle nodes down, and wakes them for jobs [slurm].

A node is `down` from when it is sent to sleep until it is woken, and `blocked` as long as it cannot
be given to jobs. Its state is what it does meanwhile, and draws. A job that gets nodes which are
not all up is configuring: it holds them, and goes when the controller, which looks twice a minute,
finds all of them up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...jit import called, inlined
from ..heap import heap_pop, heap_push
from ..service import enter, let_go
from ..sleeping import ASLEEP, ENTERING, LEAVING, UP
from .slurm_nodes import has, job_at, moment_of, put, remove, replan

NEVER = 1 << 40
"""Seconds of idle time after which no node is powered down."""


class Saving(NamedTuple):
    """What ``slurm.conf`` and the nodes say of power saving; times in s, rates in nodes a minute.

    `idle_time`, `enter` and `leave` are of each node: when it is powered down, how long it takes to
    get there, and to boot. Of the nodes ``spared[first[k]:first[k + 1]]`` so many as `number` says
    stay up. A rate of 0 is no limit.
    """

    on: bool
    timeout: int
    suspend_rate: int
    resume_rate: int
    interval: int
    least_interval: int
    spare_planned: bool
    idle_time: np.ndarray
    enter: np.ndarray
    leave: np.ndarray
    first: np.ndarray
    spared: np.ndarray
    number: np.ndarray


class PoweredNodes(NamedTuple):
    """The nodes as the power loop sees them, and the jobs that wait for them.

    `last_busy` is the second since which a node is idle, `asked` that in which it was powered down.
    `change_*` is the heap of changes of state that are not over. `boots` tells which jobs wait for
    nodes, `missing` how many of these are not up, `up` when they went; `resuming` are those that
    have nodes to be woken, `ready` those whose nodes have come up. Of each nap: its node, when it
    began, was over, and when the node was up; `nap` is the last one of each node.
    """

    saving: Saving
    state: np.ndarray
    last_busy: np.ndarray
    asked: np.ndarray
    down: np.ndarray
    blocked: np.ndarray
    spared: np.ndarray
    woken: np.ndarray
    change_key: np.ndarray
    change_node: np.ndarray
    boots: np.ndarray
    missing: np.ndarray
    up: np.ndarray
    resuming: np.ndarray
    ready: np.ndarray
    nap: np.ndarray
    nap_node: np.ndarray
    nap_begin: np.ndarray
    nap_over: np.ndarray
    nap_up: np.ndarray


def no_saving() -> Saving:
    """All nodes are always up."""
    real, whole = np.empty(0), np.empty(0, np.int64)
    return Saving(
        False, 0, 0, 0, 0, 0, False, whole, real, real, np.zeros(1, np.int64), whole, whole
    )


def make_power(saving: Saving, jobs: int, nodes: int, given: int, started: float) -> PoweredNodes:
    """All nodes are up, and idle since the controller was started."""
    if not saving.on:
        jobs = nodes = given = 0
    whole: Any = np.int64
    words = max((nodes + 31) >> 5, 1)
    # A node sleeps again only after a job had it.
    naps = nodes + given
    return PoweredNodes(
        saving=saving,
        state=np.full(nodes, UP, dtype=whole),
        last_busy=np.full(nodes, int(np.floor(started)), dtype=whole),
        asked=np.zeros(nodes, dtype=whole),
        down=np.zeros(words, dtype=whole),
        blocked=np.zeros(words, dtype=whole),
        spared=np.zeros(words, dtype=whole),
        woken=np.zeros(words, dtype=whole),
        change_key=np.empty(nodes),
        change_node=np.empty(nodes, dtype=whole),
        boots=np.zeros(jobs, dtype=np.bool_),
        missing=np.zeros(jobs, dtype=whole),
        up=np.full(jobs, np.nan),
        resuming=np.empty(jobs, dtype=whole),
        ready=np.empty(jobs, dtype=whole),
        nap=np.zeros(nodes, dtype=whole),
        nap_node=np.zeros(naps, dtype=whole),
        nap_begin=np.zeros(naps),
        nap_over=np.full(naps, np.nan),
        nap_up=np.full(naps, np.nan),
    )


# Jobs.


@inlined
def is_not_up(d, node):
    """Whether a job that gets a node has to wait for it."""
    return d.power.saving.on and d.power.state[node] != UP


@called
def claim(d, j, missing):
    """A job has got nodes of which so many are not up."""
    c, power = d.controller[0], d.power
    power.boots[j] = True
    power.missing[j] = missing
    for k in range(d.first[j], d.first[j + 1]):
        if has(power.down, d.given[k]):
            power.resuming[c.resuming] = j
            c.resuming += 1
            return


@called
def forget_boot(d, s, j):
    """A job that may be waiting for its nodes leaves them."""
    if d.power.saving.on and d.power.boots[j]:
        d.power.boots[j] = False
        d.power.up[j] = s.now


@inlined
def note_idle(d, node, second):
    """Nobody is on a node any longer."""
    c, power = d.controller[0], d.power
    if d.busy[node] == 0 and not has(power.down, node):
        power.last_busy[node] = second
        c.power_due = min(c.power_due, second + power.saving.idle_time[node] + 1)


@called
def set_going(d, s, run):
    """Jobs whose nodes have come up start."""
    c, power = d.controller[0], d.power
    for k in range(c.ready):
        j = power.ready[k]
        # It may have been taken back.
        if power.boots[j]:
            _set_going(d, s, run, j)
    c.ready = 0


@called
def _set_going(d, s, run, j):
    """A job starts on nodes that were not up when it got them: its limit counts from now on."""
    c = d.controller[0]
    second = int(np.floor(s.now))
    d.power.boots[j] = False
    d.power.up[j] = s.now
    before = moment_of(run.planned[j], j)
    planned = second + 60 * d.wants.limit[j]
    for k in range(d.first[j], d.first[j + 1]):
        replan(d, d.given[k], before, moment_of(planned, j))
    let_go(s, run, j)
    # The boot was no part of its work.
    s.load += s.now - run.start[j]
    ends = s.now + d.wants.launch[j] + d.wants.run[j] + d.wants.finish[j]
    enter(s, run, j, float(planned), ends)
    c.plans += 1
    c.jobs_changed = second
    c.stirred = 1


# Nodes.


@inlined
def first_change(d):
    """When the next change of state is over."""
    return d.power.change_key[0] if d.controller[0].changing > 0 else np.inf


@inlined
def _set_out(d, s, node, state, lapse):
    c, power = d.controller[0], d.power
    power.state[node] = state
    heap_push(power.change_key, power.change_node, c.changing, s.now + lapse, node)
    c.changing += 1
    c.stirred = 1


@called
def arrive(d, s):
    """The next change of state is over: a node is asleep, or up."""
    c, power = d.controller[0], d.power
    node = power.change_node[0]
    heap_pop(power.change_key, power.change_node, c.changing)
    c.changing -= 1
    c.stirred = 1
    if power.state[node] == ENTERING:
        power.state[node] = ASLEEP
        return
    power.state[node] = UP
    power.nap_up[power.nap[node]] = s.now
    second = int(np.floor(s.now))
    c.nodes_changed = second
    note_idle(d, node, second)
    for k in range(d.busy[node]):
        j = job_at(d.ending[node, k])
        if power.boots[j]:
            power.missing[j] -= 1
            if power.missing[j] == 0:
                power.ready[c.ready] = j
                c.ready += 1


@inlined
def _is_idle(d, node):
    return (
        d.power.state[node] == UP
        and d.busy[node] == 0
        and d.closing[node] == 0
        and not has(d.power.down, node)
    )


@called
def _spare(d):
    """Note which nodes stay up whatever their idle time."""
    power = d.power
    saving = power.saving
    for w in range(power.spared.shape[0]):
        power.spared[w] = 0
    for k in range(saving.number.shape[0]):
        left = saving.number[k]
        for at in range(saving.first[k], saving.first[k + 1]):
            node = saving.spared[at]
            if left > 0 and _is_idle(d, node):
                put(power.spared, node)
                left -= 1
    if saving.spare_planned:
        for node in range(d.planned_nodes.shape[0]):
            if d.planned_nodes[node]:
                put(power.spared, node)


@called
def _wake_for_jobs(d):
    """Note which nodes are woken, for jobs in the order in which they got theirs."""
    c, power = d.controller[0], d.power
    rate = power.saving.resume_rate
    for w in range(power.woken.shape[0]):
        power.woken[w] = 0
    count = int(c.resumed + 0.5)
    kept = at = 0
    while at < c.resuming:
        if rate > 0 and count >= rate:
            break
        j = power.resuming[at]
        at += 1
        if not power.boots[j]:
            continue
        left = False
        for node in range(power.state.shape[0]):
            # In the order of nodes; those of a job are not.
            if has(power.down, node) and _holds(d, j, node):
                if rate == 0 or count < rate:
                    count += 1
                    c.resumed += 1.0
                    put(power.woken, node)
                elif not has(power.woken, node):
                    left = True
        if left:
            power.resuming[kept] = j
            kept += 1
    while at < c.resuming:
        power.resuming[kept] = power.resuming[at]
        kept += 1
        at += 1
    c.resuming = kept


@inlined
def _holds(d, j, node):
    found = False
    for k in range(d.first[j], d.first[j + 1]):
        found = found or d.given[k] == node
    return found


@inlined
def _power_down(d, s, node, second):
    c, power = d.controller[0], d.power
    put(power.down, node)
    put(power.blocked, node)
    power.asked[node] = second
    nap = c.naps
    c.naps += 1
    power.nap[node] = nap
    power.nap_node[nap] = node
    power.nap_begin[nap] = s.now
    _set_out(d, s, node, ENTERING, power.saving.enter[node])


@called
def _work(d, s):
    """Wake nodes for jobs, power idle ones down, and let those be used that have arrived."""
    c, power = d.controller[0], d.power
    saving = power.saving
    second = int(np.floor(s.now))
    if c.resuming > 0:
        _wake_for_jobs(d)
        for node in range(power.state.shape[0]):
            if has(power.woken, node):
                remove(power.down, node)
                power.nap_over[power.nap[node]] = s.now
                _set_out(d, s, node, LEAVING, saving.leave[node])
    due = NEVER
    if second >= c.power_due:
        _spare(d)
        count = int(c.suspended + 0.5)
        for node in range(power.state.shape[0]):
            if saving.idle_time[node] < NEVER and _is_idle(d, node):
                at = power.last_busy[node] + saving.idle_time[node] + 1
                if at > second:
                    due = min(due, at)
                elif (saving.suspend_rate > 0 and count >= saving.suspend_rate) or has(
                    power.spared, node
                ):
                    due = second + 1
                else:
                    count += 1
                    c.suspended += 1.0
                    _power_down(d, s, node, second)
            if has(power.blocked, node):
                if power.asked[node] + saving.timeout < second:
                    remove(power.blocked, node)
                else:
                    due = min(due, power.asked[node] + saving.timeout + 1)
        c.power_due = due


@inlined
def _is_due(d, second):
    """Whether the loop does its work when it looks in a second."""
    c, saving = d.controller[0], d.power.saving
    return second >= c.last_power + saving.least_interval and (
        c.nodes_changed >= c.last_power or second >= c.last_power + saving.interval
    )


@inlined
def is_idle_look(d, second):
    """Whether a look of the loop would change nothing but its own counts."""
    c = d.controller[0]
    return not _is_due(d, second) or (c.resuming == 0 and second < c.power_due)


@inlined
def pass_look(d):
    """The loop looks; whether it does its work."""
    c = d.controller[0]
    second = int(np.floor(c.look))
    c.look = c.look + 1.0 + d.pace.nap
    if not _is_due(d, second):
        return False
    lapse = second - c.last_power
    kept = (60 - lapse) / 60.0 if lapse < 60 else 0.0
    c.suspended *= kept
    c.resumed *= kept
    c.last_power = second
    return True


@called
def look(d, s):
    """It is the turn of the power loop."""
    if pass_look(d):
        _work(d, s)
