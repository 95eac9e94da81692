"""Which nodes a job gets: those it can use, and the best of them.

Slurm looks for the tightest run of neighbouring nodes, or the tightest switch: select/linear with
whole nodes, select/cons_tres with processors, memory and GPUs of nodes.
"""

from __future__ import annotations

from ...jit import called, inlined

__all__ = ["count_usable", "give_back", "has_room", "suits", "take", "tightest_groups"]


@inlined
def suits(wants, machine, j, node):
    """Whether a node has what a job asks for, were it empty."""
    return (
        (machine.partitions[node] >> wants.partition[j]) & 1 == 1
        and machine.features[node] & wants.features[j] == wants.features[j]
        and machine.cpus[node] >= wants.cpus[j]
        and machine.memory[node] >= wants.memory[j]
        and machine.gpus[node] >= wants.gpus[j]
    )


@inlined
def has_room(wants, j, node, busy, cpus, memory, gpus):
    """Whether a job fits on a node beside what runs there."""
    if wants.whole[j]:
        return busy[node] == 0
    return (
        cpus[node] >= wants.cpus[j]
        and memory[node] >= wants.memory[j]
        and gpus[node] >= wants.gpus[j]
    )


@called
def count_usable(wants, machine, j, allowed, busy, cpus, memory, gpus, usable):
    """Mark the allowed nodes on which a job fits, given what runs there; how many they are."""
    found = 0
    for node in range(usable.shape[0]):
        usable[node] = (
            allowed[node]
            and suits(wants, machine, j, node)
            and has_room(wants, j, node, busy, cpus, memory, gpus)
        )
        found += usable[node]
    return found


@inlined
def _group_up(machine, usable, group, members):
    """Number the groups of usable nodes, and count each: runs of neighbours, or leaf switches."""
    groups = 0
    for node in range(usable.shape[0]):
        members[node] = 0
    for node in range(usable.shape[0]):
        if not usable[node]:
            continue
        if machine.leaf[node] >= 0:
            group[node] = machine.leaf[node]
            groups = max(groups, group[node] + 1)
        elif node > 0 and usable[node - 1]:
            group[node] = groups - 1
        else:
            group[node] = groups
            groups += 1
        members[group[node]] += 1
    return groups


@called
def tightest_groups(machine, usable, need, group, members, chosen):
    """Choose `need` of the usable nodes, which are enough.

    The smallest group that suffices is taken from its beginning; where none does, the largest
    whole, and so on with the rest. The first of equals. A group is a run of neighbours, or, where
    the network is known, the nodes of one leaf switch.
    """
    groups = _group_up(machine, usable, group, members)
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
        for node in range(usable.shape[0]):
            if taken < need and usable[node] and group[node] == best:
                chosen[taken] = node
                taken += 1
        members[best] = 0


@inlined
def take(wants, j, node, busy, cpus, memory, gpus):
    """A job begins on a node."""
    busy[node] += 1
    cpus[node] -= wants.cpus[j]
    memory[node] -= wants.memory[j]
    gpus[node] -= wants.gpus[j]


@inlined
def give_back(wants, j, node, busy, cpus, memory, gpus):
    """A job leaves a node."""
    busy[node] -= 1
    cpus[node] += wants.cpus[j]
    memory[node] += wants.memory[j]
    gpus[node] += wants.gpus[j]
