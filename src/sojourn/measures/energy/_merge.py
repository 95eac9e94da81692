"""The compiled merge of what nodes draw in other states than on into the power of a bill."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints, Mask
from ...jit import compiled


class Steps(NamedTuple):
    """Instants (s), which increase, and a value from each on."""

    time: Floats
    value: Floats


class BilledStates(NamedTuple):
    """Stretches of nodes in other states; `begin` and `end` are places in `place`.

    That has places among instants. `joules` has room for what each stretch draws.
    """

    node: Ints
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    place: NDArray[np.int32]
    watts: Floats
    joules: Floats


class Changes(NamedTuple):
    """Instants (s), which increase; by how many W power changes, and whether at all: zeros."""

    time: Floats
    watts: Floats
    used: Mask


@compiled()
def merge(bill: Any, states: Any, changes: Any, idle_watts: Any, saved: Any, merged: Any) -> int:
    """Replace idle power by that of other states; return the number of steps there are then.

    Parameters
    ----------
    bill : steps of the power of nodes that are on all the time.
    states, changes : see their classes; no change is outside of the bill.
    idle_watts : of each whole node.
    saved : zeros by node: J that it would have used idle.
    merged : room for as many steps as there are instants of both.
    """
    for i in range(len(states.node)):
        k, begin, end = states.node[i], states.place[states.begin[i]], states.place[states.end[i]]
        lapse = changes.time[end] - changes.time[begin]
        saved[k] += idle_watts[k] * lapse
        states.joules[i] = states.watts[i] * lapse
        changes.watts[begin] += states.watts[i] - idle_watts[k]
        changes.used[begin] = changes.used[end] = True
    for i in range(len(states.node)):
        end = states.place[states.end[i]]
        changes.watts[end] += idle_watts[states.node[i]] - states.watts[i]
    made, at, level, on, last = 0, 0, 0.0, bill.value[0], bill.time[-1]
    for i in range(len(bill.time)):
        now = bill.time[i]
        while at < len(changes.time) and changes.time[at] < now:
            if changes.used[at]:
                level += changes.watts[at]
                merged.time[made] = changes.time[at]
                merged.value[made] = on + level
                made += 1
            at += 1
        on = bill.value[i]
        if at < len(changes.time) and changes.time[at] == now:
            # What lasts no time is not billed.
            if now < last:
                level += changes.watts[at]
            at += 1
        merged.time[made] = now
        merged.value[made] = on + level
        made += 1
    return made
