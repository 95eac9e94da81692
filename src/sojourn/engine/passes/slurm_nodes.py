"""Which nodes a job gets: those it can use, when, and the best of them.

Slurm looks for the tightest run of neighbouring nodes, or the tightest switch: select/linear with
whole nodes, select/cons_tres with processors, memory and GPUs of nodes.

Sets of nodes are rows of bits, 32 to a word. A *moment* is the planned end of a running job and its
number in one integer, so that moments are in the order in which jobs are planned to end.

Many jobs ask for the same. For each such kind of request `room` knows the nodes that would do were
they empty, those that have room now, and of the others the moment at which they will have it. It is
brought up to date node by node, since few change between two looks.
"""

from __future__ import annotations

import numpy as np

from ...jit import called, inlined
from ..words import first_in

PLACES = 28
"""Bits of a moment that hold the number of its job."""

NOW = -(2**62)
"""The moment before all others."""


@inlined
def moment_of(planned, j):
    """The moment at which job `j` is planned to end."""
    return (int(planned) << PLACES) + j


@inlined
def job_at(moment):
    """The job that is planned to end at a moment."""
    return moment & ((1 << PLACES) - 1)


@inlined
def has(words, node):
    """Whether a set has a node."""
    return (words[node >> 5] >> (node & 31)) & 1 == 1


@inlined
def put(words, node):
    """Put a node into a set."""
    words[node >> 5] |= np.int64(1) << (node & 31)


@inlined
def remove(words, node):
    """Take a node out of a set."""
    words[node >> 5] &= ~(np.int64(1) << (node & 31))


@inlined
def _suits(wants, machine, j, node):
    """Whether a node has what a job asks for, were it empty."""
    return (
        (machine.partitions[node] >> wants.partition[j]) & 1 == 1
        and machine.features[node] & wants.features[j] == wants.features[j]
        and machine.cpus[node] >= wants.cpus[j]
        and machine.memory[node] >= wants.memory[j]
        and machine.gpus[node] >= wants.gpus[j]
    )


@inlined
def _processors(wants, machine, j, node):
    """What a job holds of a node: all of one that it does not share."""
    return machine.cpus[node] if wants.whole[j] else wants.cpus[j]


@inlined
def _note_room(d, row, j, node):
    """Find out when a node that suits jobs like `j` has room for one."""
    wants = d.wants
    moment = NOW
    if wants.whole[j]:
        if d.busy[node] > 0:
            moment = d.ending[node, d.busy[node] - 1]
    else:
        cpus, memory, gpus = d.cpus[node], d.memory[node], d.gpus[node]
        k = 0
        while cpus < wants.cpus[j] or memory < wants.memory[j] or gpus < wants.gpus[j]:
            moment = d.ending[node, k]
            i = job_at(moment)
            cpus += _processors(wants, d.machine, i, node)
            memory += wants.memory[i]
            gpus += wants.gpus[i]
            k += 1
    d.room.at[row, node] = moment
    if moment == NOW:
        put(d.room.now[row], node)
    else:
        remove(d.room.now[row], node)


@called
def room_for(d, j):
    """The row of `room` that is about requests such as that of job `j`, brought up to date."""
    c = d.controller[0]
    room, kind = d.room, d.kind[j]
    nodes = d.busy.shape[0]
    row = kind % room.kind.shape[0]
    if room.kind[row] != kind:
        for w in range(room.suits.shape[1]):
            room.suits[row, w] = 0
            room.now[row, w] = 0
        for node in range(nodes):
            if _suits(d.wants, d.machine, j, node):
                put(room.suits[row], node)
                _note_room(d, row, j, node)
        room.kind[row] = kind
    elif c.changes - room.seen[row] > nodes:
        for node in range(nodes):
            if has(room.suits[row], node):
                _note_room(d, row, j, node)
    else:
        for k in range(room.seen[row], c.changes):
            node = d.changed[k & (d.changed.shape[0] - 1)]
            if has(room.suits[row], node):
                _note_room(d, row, j, node)
    room.seen[row] = c.changes
    return row


@inlined
def _note_change(d, node):
    """What is known of a node's room is out of date."""
    c = d.controller[0]
    d.changed[c.changes & (d.changed.shape[0] - 1)] = node
    c.changes += 1


@inlined
def take(d, j, node, moment):
    """A job begins on a node, and is planned to end at a moment."""
    wants = d.wants
    k = d.busy[node]
    while k > 0 and d.ending[node, k - 1] > moment:
        d.ending[node, k] = d.ending[node, k - 1]
        k -= 1
    d.ending[node, k] = moment
    d.busy[node] += 1
    d.cpus[node] -= _processors(wants, d.machine, j, node)
    d.memory[node] -= wants.memory[j]
    d.gpus[node] -= wants.gpus[j]
    _note_change(d, node)


@inlined
def give_back(d, j, node):
    """A job leaves a node."""
    wants = d.wants
    last = d.busy[node] - 1
    k = 0
    while k < last and job_at(d.ending[node, k]) != j:
        k += 1
    while k < last:
        d.ending[node, k] = d.ending[node, k + 1]
        k += 1
    d.busy[node] = last
    d.cpus[node] += _processors(wants, d.machine, j, node)
    d.memory[node] += wants.memory[j]
    d.gpus[node] += wants.gpus[j]
    _note_change(d, node)


@inlined
def replan(d, node, before, after):
    """A job of a node is planned to end at another moment than before."""
    last = d.busy[node] - 1
    k = 0
    while d.ending[node, k] != before:
        k += 1
    while k < last and d.ending[node, k + 1] < after:
        d.ending[node, k] = d.ending[node, k + 1]
        k += 1
    while k > 0 and d.ending[node, k - 1] > after:
        d.ending[node, k] = d.ending[node, k - 1]
        k -= 1
    d.ending[node, k] = after
    _note_change(d, node)


@inlined
def _group_up(machine, usable, leaves, group, members):
    """Number the groups of usable nodes, and count each: runs of neighbours, or leaf switches."""
    groups = leaves
    before = -2
    for k in range(leaves):
        members[k] = 0
    for w in range(usable.shape[0]):
        word = usable[w]
        while word != 0:
            node = (w << 5) + first_in(word)
            word &= word - 1
            if leaves > 0:
                group[node] = machine.leaf[node]
            else:
                if node != before + 1:
                    members[groups] = 0
                    groups += 1
                group[node] = groups - 1
                before = node
            members[group[node]] += 1
    return groups


@called
def tightest_groups(d, need):
    """Choose `need` of the usable nodes, which are enough.

    The smallest group that suffices is taken from its beginning; where none does, the largest
    whole, and so on with the rest. The first of equals. A group is a run of neighbours, or, where
    the network is known, the nodes of one leaf switch.
    """
    usable, group, members = d.usable, d.group, d.members
    groups = _group_up(d.machine, usable, d.controller[0].leaves, group, members)
    taken = 0
    while taken < need:
        left = need - taken
        best = -1
        for k in range(groups):
            if members[k] == 0:
                continue
            if best < 0:
                best = k
                continue
            enough = members[best] >= left
            if (members[k] >= left and (not enough or members[k] < members[best])) or (
                members[k] < left and not enough and members[k] > members[best]
            ):
                best = k
        for w in range(usable.shape[0]):
            word = usable[w]
            while word != 0 and taken < need:
                node = (w << 5) + first_in(word)
                word &= word - 1
                if group[node] == best:
                    d.chosen[taken] = node
                    taken += 1
        members[best] = 0
