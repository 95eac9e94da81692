"""Binary heap of (key, job), smallest first, ties by job: the order of completions."""

from __future__ import annotations

from ..jit import inlined


@inlined
def _sift_down(key, job, size, hole, k, j):
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            key[right] < key[child] or (key[right] == key[child] and job[right] < job[child])
        ):
            child = right
        if key[child] < k or (key[child] == k and job[child] < j):
            key[hole] = key[child]
            job[hole] = job[child]
            hole = child
        else:
            break
    key[hole] = k
    job[hole] = j


@inlined
def _sift_up(key, job, hole, k, j):
    while hole > 0:
        parent = (hole - 1) >> 1
        if k < key[parent] or (k == key[parent] and j < job[parent]):
            key[hole] = key[parent]
            job[hole] = job[parent]
            hole = parent
        else:
            break
    key[hole] = k
    job[hole] = j


@inlined
def heap_push(key, job, size, k, j):
    """Add (k, j) to a heap of `size` entries."""
    _sift_up(key, job, size, k, j)


@inlined
def make_heap(key, job, size):
    """Let `size` entries be a heap."""
    for i in range(size):
        _sift_up(key, job, i, key[i], job[i])


@inlined
def heap_pop(key, job, size):
    """Remove the first entry of a heap of `size` entries; read it before."""
    last = size - 1
    if last > 0:
        _sift_down(key, job, last, 0, key[last], job[last])


@inlined
def heap_discard(key, job, size, j):
    """Remove job `j` wherever it stands (linear search: only preemption needs it)."""
    at = 0
    while job[at] != j:
        at += 1
    last = size - 1
    if at == last:
        return
    k = key[last]
    moved = job[last]
    parent = (at - 1) >> 1
    if at > 0 and (k < key[parent] or (k == key[parent] and moved < job[parent])):
        _sift_up(key, job, at, k, moved)
    else:
        _sift_down(key, job, last, at, k, moved)
