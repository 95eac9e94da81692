"""Kernel for disciplines that may also stop jobs, which resume with what remains of their work.

The waiting jobs are kept in a list by (key, job): a fixed rank, or the remaining plan, negative
where the longest comes first.
"""

from __future__ import annotations

from ..jit import compiled, inlined
from .instants import KERNEL, READY, next_instant, settle
from .state import (
    ARRIVED,
    DEPARTED,
    FREE,
    NEW,
    REMAINING,
    RUNNING,
    WAITING,
    WORK,
)
from .steps import begin, list_insert, list_remove, preempt

__all__ = ["run_preemptive"]


@inlined
def _list_running(state, jobs, rules):
    """The running jobs by (key, job), keys up to date, in `state.scored`."""
    running = state.count[RUNNING]
    work = state.clock[WORK]
    for i in range(running):
        j = state.finish_job[i]
        if rules.backfill == REMAINING:
            # All lose work at the same rate, so the plan keeps them in order.
            j = state.plan_job[running - 1 - i]
            state.key[j] = work - state.left[j] if rules.longest_first else state.left[j] - work
        k = i
        while k > 0:
            other = state.scored[k - 1]
            if state.key[other] < state.key[j] or (state.key[other] == state.key[j] and other < j):
                break
            state.scored[k] = other
            k -= 1
        state.scored[k] = j


@inlined
def _longest_prefix(state, jobs, rules):
    """How many of the running and of the waiting, merged in order, fit into the machine.

    The prefix stops at the first that does not fit [rumyantsev2018, sec. III-B].
    """
    running = state.count[RUNNING]
    waiting = state.count[WAITING]
    room = rules.servers
    a = 0
    b = 0
    while a < running or b < waiting:
        from_running = b == waiting
        if a < running and b < waiting:
            mine, other = state.scored[a], state.waiting[b]
            from_running = state.key[mine] < state.key[other] or (
                state.key[mine] == state.key[other] and mine < other
            )
        j = state.scored[a] if from_running else state.waiting[b]
        if jobs.procs[j] > room:
            break
        room -= jobs.procs[j]
        if from_running:
            a += 1
        else:
            b += 1
    return a, b


@inlined
def _preemptive_pass(state, recording, jobs, rules):
    """Serve the longest prefix, in order, of all customers present.

    With the latest arrival first this is LCFS preemptive-resume. LPF and SPF select anew only at
    departures; at an arrival the newcomer starts if it fits and nothing waits (errata 6).
    """
    count = state.count
    new = count[NEW]
    count[NEW] = 0
    selects = rules.backfill != REMAINING or count[DEPARTED] > 0
    stopped = 0
    started = 0
    for i in range(new):
        j = count[ARRIVED] - new + i
        if rules.backfill == REMAINING:
            state.key[j] = -state.left[j] if rules.longest_first else state.left[j]
        if not selects and count[WAITING] == 0 and jobs.procs[j] <= count[FREE]:
            state.chosen[started] = j
            started += 1
            count[FREE] -= jobs.procs[j]
        else:
            list_insert(state, j)
    for i in range(started):
        count[FREE] += jobs.procs[state.chosen[i]]
    if selects and count[WAITING] > 0:
        running = count[RUNNING]
        _list_running(state, jobs, rules)
        served, started = _longest_prefix(state, jobs, rules)
        stopped = running - served
        for i in range(started):
            state.chosen[i] = state.waiting[i]
        for i in range(started):
            list_remove(state, state.chosen[i])
        for i in range(stopped):
            j = state.scored[served + i]
            preempt(state, recording, jobs, rules, j)
            list_insert(state, j)
    for i in range(started):
        begin(state, jobs, rules, state.chosen[i])


@compiled(KERNEL)
def run_preemptive(
    state, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, budget,
):  # fmt: skip
    """Run until done, `budget` instants on, or rows full; the status."""
    while True:
        status = next_instant(state, recording, jobs, rules, control, control_theta, budget)
        if status != READY:
            return status
        budget -= 1
        _preemptive_pass(state, recording, jobs, rules)
        settle(state, recording, rules, wake, control_theta)
