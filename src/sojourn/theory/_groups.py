"""Groups of jobs that run together: enumerated, cut at a depth, and drawn.

A group is the longest run of jobs, in order of arrival, that fits into the servers; K is the
number of its jobs, ||m|| of [rumyantsev2014, eq. 6].
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints
from ..jit import compiled
from ._series import DIRECT

_DRAWS = 1 << 16
_STEPS = 20_000_000
"""From one partition to another, between which an interrupt is heard."""


def count_partitions(widths: Ints, servers: int, most: float = np.inf) -> float:
    """How many partitions of 1, ..., servers into these widths there are.

    Counting stops above `most`. The partitions of s alone, into all widths, are about
    exp(pi sqrt(2 s / 3)) / (4 s sqrt 3) [rumyantsev2014, errata 2].
    """
    return float(_count(widths, np.zeros(servers + 1), most))


def over_partitions(widths: Ints, p: Floats, tail: Floats, servers: int) -> float:
    """C as the sum over all partitions [rumyantsev2014, eq. 9].

    Widths are those that occur, ascending; tail[m] is P{N > m} of m = 0, ..., servers.
    """
    depth = servers // int(widths[0]) + 1
    kinds, weight = np.zeros((2, depth), np.int64), np.zeros(depth)
    # Jobs in the group, servers left, the next width to try; the sum, and what rounding dropped.
    place, sums = np.array([0, servers, 0]), np.zeros(2)
    while not _enumerate(widths, p, tail, kinds, weight, place, sums, _STEPS):
        pass
    return float(sums[0] + sums[1])


def sizes_to_depth(
    widths: Ints, p: Floats, tail: Floats, servers: int, depth: int, direct: int = DIRECT
) -> tuple[Floats, float]:
    """P{K = i} of i = 1, ..., depth, and P{K > depth}.

    O(depth * servers * support), or O(depth * servers * log(servers)) beyond `direct`.
    """
    equal = np.zeros(depth)
    if depth * servers * len(widths) <= direct:
        more = _sizes(widths, p, tail, np.zeros((2, servers + 1)), equal)
        return equal, float(more)
    size = 1 << (2 * servers + 1).bit_length()
    here = np.zeros(servers + 1)
    here[widths] = p
    once = np.fft.rfft(here, size)
    for i in range(depth):
        equal[i] = np.dot(here, tail[::-1])
        # Rounding leaves some 1e-17 on either side of 0.
        here = np.maximum(np.fft.irfft(np.fft.rfft(here, size) * once, size)[: servers + 1], 0.0)
    return equal, float(here.sum())


def group_sizes(
    widths: Ints, p: Floats, servers: int, samples: int, random: np.random.Generator
) -> Ints:
    """K of independent groups, whose jobs are drawn from p [rumyantsev2014, errata 3]."""
    sizes = np.zeros(samples, np.int64)
    state = np.zeros(3, np.int64)
    while state[0] < samples:
        _cut(random.choice(widths, _DRAWS, p=p), servers, sizes, state)
    return sizes


@compiled("float64(int64[:], float64[:], float64)")
def _count(widths, ways, most):  # type: ignore[no-untyped-def]
    ways[0] = 1.0
    total = 0.0
    for i in range(widths.size):
        total = 0.0
        for k in range(widths[i], ways.size):
            ways[k] += ways[k - widths[i]]
        for k in range(1, ways.size):
            total += ways[k]
        if total > most:
            break
    return total


@compiled(
    "boolean(int64[:], float64[:], float64[:], int64[:, ::1], float64[:], int64[:], float64[:],"
    " int64)"
)
def _enumerate(  # type: ignore[no-untyped-def]
    widths, p, tail, kinds, weight, place, sums, steps
):
    """Visit every partition once, as a sequence of widths that never falls; whether all are done.

    `weight` is the probability of a group of these widths in any order: the multinomial
    coefficient (7) times the probabilities, built job by job so that no factorial overflows.
    """
    kind, repeats = kinds[0], kinds[1]
    jobs, left, i = place[0], place[1], place[2]
    total, dropped = sums[0], sums[1]
    done = False
    while steps > 0 and not done:
        steps -= 1
        if i < widths.size and widths[i] <= left:
            same = jobs > 0 and kind[jobs - 1] == i
            repeats[jobs] = repeats[jobs - 1] + 1 if same else 1
            before = weight[jobs - 1] if jobs > 0 else 1.0
            weight[jobs] = before * p[i] * (jobs + 1) / repeats[jobs]
            kind[jobs] = i
            left -= widths[i]
            jobs += 1
            term = weight[jobs - 1] / jobs * tail[left]
            grown = total + term
            dropped += (total - grown) + term if total >= term else (term - grown) + total
            total = grown
        elif jobs > 0:
            jobs -= 1
            left += widths[kind[jobs]]
            i = kind[jobs] + 1
        else:
            done = True
    place[0], place[1], place[2] = jobs, left, i
    sums[0], sums[1] = total, dropped
    return done


@compiled("float64(int64[:], float64[:], float64[:], float64[:, :], float64[:])")
def _sizes(widths, p, tail, sums, equal):  # type: ignore[no-untyped-def]
    """Fold p with itself; rows of `sums` hold P{N_1 + ... + N_i = n} in turn."""
    servers = sums.shape[1] - 1
    for i in range(widths.size):
        sums[0, widths[i]] = p[i]
    for size in range(equal.size):
        here = sums[size % 2]
        for n in range(servers + 1):
            equal[size] += here[n] * tail[servers - n]
        behind = sums[(size + 1) % 2]
        behind[:] = 0.0
        for n in range(servers + 1):
            if here[n] > 0.0:
                for i in range(widths.size):
                    if n + widths[i] > servers:
                        break
                    behind[n + widths[i]] += p[i] * here[n]
    return sums[equal.size % 2].sum()


@compiled("void(int64[:], int64, int64[:], int64[:])")
def _cut(widths, servers, sizes, state):  # type: ignore[no-untyped-def]
    """Cut a stream of jobs into groups; `state` is kept from one piece of it to the next.

    The job that no longer fits belongs to no group: the next one starts with a fresh job, for a
    job known not to have fitted is wider than others.
    """
    done, used, jobs = state[0], state[1], state[2]
    for i in range(widths.size):
        if done == sizes.size:
            break
        if used + widths[i] <= servers:
            used += widths[i]
            jobs += 1
        else:
            sizes[done] = jobs
            done += 1
            used = 0
            jobs = 0
    state[0], state[1], state[2] = done, used, jobs
