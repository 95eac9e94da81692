"""Kernel for disciplines that may also stop jobs, which resume with what remains of their work.

Only the first waiting job in order is ever looked at, so the waiting jobs are a heap by (key,
job): a fixed rank, or the remaining plan, negative where the longest comes first.
"""

from __future__ import annotations

from ..jit import compiled, inlined
from .heap import heap_pop, heap_push
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
from .steps import begin, preempt

__all__ = ["run_preemptive"]


@inlined
def _list_running(state, rules):
    """The running jobs in order, keys up to date, in `state.scored`.

    All lose work at the same rate, so the plan has kept them in order.
    """
    running = state.count[RUNNING]
    work = state.clock[WORK]
    for i in range(running):
        j = state.plan[running - 1 - i]
        if rules.backfill == REMAINING:
            state.key[j] = work - state.left[j] if rules.longest_first else state.left[j] - work
        state.scored[i] = j


@inlined
def _wait(state, j):
    heap_push(state.score, state.waiting, state.count[WAITING], state.key[j], j)
    state.count[WAITING] += 1


@inlined
def _longest_prefix(state, jobs, rules):
    """Merge the running and the waiting in order, as long as they fit into the machine.

    How many of the running stay, and how many of the waiting, moved to `chosen`, join them; the
    prefix stops at the first that does not fit [rumyantsev2018, sec. III-B].
    """
    count = state.count
    running = count[RUNNING]
    room = rules.servers
    staying = 0
    joining = 0
    while staying < running or count[WAITING] > 0:
        from_running = count[WAITING] == 0
        if staying < running and count[WAITING] > 0:
            mine, other = state.scored[staying], state.waiting[0]
            from_running = state.key[mine] < state.key[other] or (
                state.key[mine] == state.key[other] and mine < other
            )
        j = state.scored[staying] if from_running else state.waiting[0]
        if jobs.procs[j] > room:
            break
        room -= jobs.procs[j]
        if from_running:
            staying += 1
        else:
            heap_pop(state.score, state.waiting, count[WAITING])
            count[WAITING] -= 1
            state.chosen[joining] = j
            joining += 1
    return staying, joining


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
    free = count[FREE]
    stopping = 0
    joining = 0
    for j in range(count[ARRIVED] - new, count[ARRIVED]):
        if rules.backfill == REMAINING:
            state.key[j] = -state.left[j] if rules.longest_first else state.left[j]
        if not selects and count[WAITING] == 0 and jobs.procs[j] <= free:
            free -= jobs.procs[j]
            state.chosen[joining] = j
            joining += 1
        else:
            _wait(state, j)
    if selects and count[WAITING] > 0:
        running = count[RUNNING]
        _list_running(state, rules)
        staying, joining = _longest_prefix(state, jobs, rules)
        stopping = running - staying
        for i in range(staying, running):
            preempt(state, recording, jobs, rules, state.scored[i])
    for i in range(joining):
        begin(state, jobs, rules, state.chosen[i], 1.0)
    for i in range(stopping):
        _wait(state, state.scored[count[RUNNING] - joining + i])


@compiled(KERNEL)
def run_preemptive(
    state, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, budget,
):  # fmt: skip
    """Run until done, the budget is spent, or rows are full; the status.

    An instant costs 1, and 1 for each job that waits: a pass may look at all of them.
    """
    while True:
        status = next_instant(state, recording, jobs, rules, control, control_theta, budget)
        if status != READY:
            return status
        budget -= 1 + state.count[WAITING]
        _preemptive_pass(state, recording, jobs, rules)
        settle(state, recording, rules, wake, control_theta)
