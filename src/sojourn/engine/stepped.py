"""Kernel whose decisions are made outside: it starts the jobs it is told to start."""

from __future__ import annotations

from ..jit import compiled
from .instants import DECIDE, KERNEL, READY, next_instant, settle
from .state import ARRIVED, CHOSEN, NEW, PENDING, WAITING
from .steps import begin
from .waiting import list_insert, list_remove

__all__ = ["run_stepped"]


@compiled(KERNEL)
def run_stepped(
    state, recording, jobs, rules, order, order_theta, backfill, backfill_theta,
    control, wake, control_theta, budget,
):  # fmt: skip
    """Run to the next decision; then start the first CHOSEN jobs of `state.chosen`."""
    count = state.count
    while True:
        if count[PENDING] == 0:
            status = next_instant(state, recording, jobs, rules, control, control_theta, budget)
            if status != READY:
                return status
            budget -= 1
            for j in range(count[ARRIVED] - count[NEW], count[ARRIVED]):
                list_insert(state, j)
            count[NEW] = 0
            if count[WAITING] > 0:
                count[PENDING] = 1
                return DECIDE
        count[PENDING] = 0
        for i in range(count[CHOSEN]):
            list_remove(state, state.chosen[i])
            begin(state, jobs, rules, state.chosen[i], 1.0)
        count[CHOSEN] = 0
        settle(state, recording, rules, wake, control_theta)
