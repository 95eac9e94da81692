"""Queue index: the waiting jobs in order, and the next one that can start in about O(log q).

Every job has a fixed rank in an order. Ranks are grouped in blocks of 32; a block is one word of
bits (who waits) and a summary: the smallest width, and for each class of widths the shortest plan
among jobs of that class or narrower. A binary tree over the blocks keeps the same summary, so
that a search skips everything that is too wide or too long. Removal only clears a bit; a summary
left too optimistic is tightened when a search visits the block in vain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import inlined
from .bits import BIT

BLOCK = 32
NEVER = np.int64(2**62)
# Classes of wider jobs follow from those of narrower ones, so that memory does not grow with the
# machine.
_WIDEST = 2**16


class QueueIndex(NamedTuple):
    """Arrays of the index; `rank[job]` and `by_rank[rank]` are each other's inverse."""

    rank: np.ndarray
    by_rank: np.ndarray
    word: np.ndarray
    width: np.ndarray
    shortest: np.ndarray
    width_class: np.ndarray


def _width_classes(procs_total: int) -> np.ndarray:
    """Class of each width from 0 on: single up to 8, then four to an octave."""
    widths = np.arange(min(procs_total, _WIDEST) + 1)
    octave = np.floor(np.log2(np.maximum(widths - 1, 8))).astype(np.int64)
    quarter = np.ceil((widths - 2.0**octave) / 2.0 ** (octave - 2)).astype(np.int64) - 1
    return np.where(widths <= 8, np.maximum(widths - 1, 0), 8 + 4 * (octave - 3) + quarter)


def _class_of(width_class, width):
    """Class of a width: each halving takes it down by the four classes of an octave."""
    octaves = 0
    while width >= width_class.shape[0]:
        width = ((width - 1) >> 1) + 1
        octaves += 1
    return width_class[width] + 4 * octaves


class_of = inlined(_class_of)


def make_queue_index(order: np.ndarray, procs_total: int) -> QueueIndex:
    """Empty index over the jobs of `order` (job numbers, first in order first)."""
    n = len(order)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n, dtype=np.int64)
    blocks = 1
    while blocks * BLOCK < n:
        blocks *= 2
    width_class = _width_classes(procs_total)
    return QueueIndex(
        rank=rank,
        by_rank=np.ascontiguousarray(order, dtype=np.int64),
        word=np.zeros(blocks, dtype=np.int64),
        width=np.full(2 * blocks, NEVER, dtype=np.int64),
        shortest=np.full((2 * blocks, _class_of(width_class, procs_total) + 1), np.inf),
        width_class=width_class,
    )


@inlined
def queue_insert(q, job, procs, plan):
    """Let `job` wait."""
    r = q.rank[job]
    block = r >> 5
    q.word[block] |= np.int64(1) << (r & 31)
    first = class_of(q.width_class, procs)
    classes = q.shortest.shape[1]
    node = block + q.word.shape[0]
    while node >= 1:
        better = False
        if procs < q.width[node]:
            q.width[node] = procs
            better = True
        k = first
        while k < classes and plan < q.shortest[node, k]:
            q.shortest[node, k] = plan
            better = True
            k += 1
        if not better:
            break
        node >>= 1


@inlined
def queue_holds(q, rank):
    """Whether the job of a rank waits."""
    return (q.word[rank >> 5] >> (rank & 31)) & 1 == 1


@inlined
def queue_remove(q, job):
    """`job` waits no longer."""
    r = q.rank[job]
    q.word[r >> 5] &= ~(np.int64(1) << (r & 31))


@inlined
def _tighten(q, block, procs, plan):
    """Recompute the summary of a block from its jobs, and of its ancestors."""
    classes = q.shortest.shape[1]
    blocks = q.word.shape[0]
    node = block + blocks
    q.width[node] = NEVER
    for k in range(classes):
        q.shortest[node, k] = np.inf
    word = q.word[block]
    while word != 0:
        low = word & -word
        word ^= low
        j = q.by_rank[(block << 5) + BIT[low % 37]]
        q.width[node] = min(q.width[node], procs[j])
        k = class_of(q.width_class, procs[j])
        q.shortest[node, k] = min(q.shortest[node, k], plan[j])
    for k in range(1, classes):
        q.shortest[node, k] = min(q.shortest[node, k], q.shortest[node, k - 1])
    node >>= 1
    while node >= 1:
        left = 2 * node
        changed = False
        w = min(q.width[left], q.width[left + 1])
        if w != q.width[node]:
            q.width[node] = w
            changed = True
        for k in range(classes):
            s = min(q.shortest[left, k], q.shortest[left + 1, k])
            if s != q.shortest[node, k]:
                q.shortest[node, k] = s
                changed = True
        if not changed:
            break
        node >>= 1


@inlined
def queue_find(q, jobs, at, free, extra, until):
    """First waiting job of rank >= `at` that can start, or -1.

    It can if it needs at most `extra` processors, or at most `free` and its plan is at most
    `until`.
    """
    procs = jobs.procs
    plan = jobs.plan
    blocks = q.word.shape[0]
    k_free = class_of(q.width_class, free)
    block = at >> 5
    if block >= blocks:
        return -1
    word = q.word[block] & ~((np.int64(1) << (at & 31)) - 1)
    whole = (at & 31) == 0
    while True:
        while word != 0:
            low = word & -word
            word ^= low
            j = q.by_rank[(block << 5) + BIT[low % 37]]
            p = procs[j]
            if p <= extra or (p <= free and plan[j] <= until):
                return j
        if whole:
            _tighten(q, block, procs, plan)
        whole = True
        # Climb to the nearest later subtree that may hold one, then descend to its first block.
        node = block + blocks
        while True:
            while node & 1:
                node >>= 1
            if node == 0:
                return -1
            node += 1
            if q.width[node] <= extra or (
                q.width[node] <= free and q.shortest[node, k_free] <= until
            ):
                break
        while node < blocks:
            node *= 2
            if not (
                q.width[node] <= extra
                or (q.width[node] <= free and q.shortest[node, k_free] <= until)
            ):
                node += 1
        block = node - blocks
        word = q.word[block]
