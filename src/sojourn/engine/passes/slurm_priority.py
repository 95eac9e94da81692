"""Multifactor priority as Slurm counts it: a job's age, and the fair share of its user [slurm].

Fair share is counted over a tree of associations: the root, accounts, and users in accounts, each
with the processor seconds it has used, which fade with time. By the classic rule a user's factor
falls with its usage against its share; in the fair tree it is the user's rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...jit import called, inlined

_HIGHEST = 4294967295.0
WEEK = 604800.0  # s


class Rule(NamedTuple):
    """Numbers that priorities are counted with.

    Parameters
    ----------
    age, fair_share : weights.
    max_age : s, after which age counts no more.
    decay : what is left of usage after a second.
    dampening : of the classic rule.
    period : s between recalculations; 0 where priorities never change.
    fair_tree : 1 for the fair tree, 0 for the classic rule.
    only_up : 1 if a priority never falls.
    """

    age: float
    fair_share: float
    max_age: float
    decay: float
    dampening: float
    period: float
    fair_tree: float
    only_up: float


class Associations(NamedTuple):
    """A tree: the root is 0, parents come before children.

    Parameters
    ----------
    parent : -1 for the root.
    share : among siblings, as a fraction.
    part : of the whole: the product of the shares above.
    user : whether it is a user's.
    first, child : children of a are ``child[first[a]:first[a + 1]]``.
    usage : processor seconds, faded.
    level : effective usage by the classic rule, -1 if not known yet; share over usage in the tree.
    factor : rank over number of users, in the tree.
    place, stack : room for sorting and walking.
    """

    parent: NDArray[np.int64]
    share: NDArray[np.float64]
    part: NDArray[np.float64]
    user: NDArray[np.bool_]
    first: NDArray[np.int64]
    child: NDArray[np.int64]
    usage: NDArray[np.float64]
    level: NDArray[np.float64]
    factor: NDArray[np.float64]
    place: NDArray[np.int64]
    stack: NDArray[np.int64]


def unchanging() -> Rule:
    """Return the rule by which priorities stay what they are."""
    # Without a database Slurm sets both weights to zero and recalculates nothing.
    return Rule(0.0, 0.0, WEEK, 1.0, 1.0, 0.0, 1.0, 0.0)


def no_associations() -> Associations:
    """Return a tree of one, for jobs whose accounts are not told."""
    whole, real, flag = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.bool_)
    return Associations(
        parent=whole - 1,
        share=real + 1.0,
        part=real + 1.0,
        user=flag,
        first=np.zeros(2, np.int64),
        child=np.zeros(0, np.int64),
        usage=real.copy(),
        level=real.copy(),
        factor=real + 1.0,
        place=whole.copy(),
        stack=np.zeros((1, 3), np.int64),
    )


@inlined
def spend(tree, a, cpus, begin, end, decay):
    """Add a run to an association and all above it, faded from its beginning as Slurm does it."""
    seconds = end - begin
    if seconds > 0:
        used = cpus * seconds * decay**seconds
        while a >= 0:
            tree.usage[a] += used
            a = tree.parent[a]


@inlined
def fade(tree, decay, elapsed):
    """Begin a period: note the accounts' effective usage, forget the users', fade all usage.

    By the classic rule accounts thus lag a period behind, and a user's is counted when the first
    of its waiting jobs comes up, with what running jobs before it in the list have added.
    """
    whole = tree.usage[0]
    kept = decay**elapsed if elapsed > 0 else 1.0
    for a in range(tree.usage.shape[0]):
        tree.level[a] = -1.0
        if not tree.user[a]:
            tree.level[a] = _effective(tree, a, whole)
    for a in range(tree.usage.shape[0]):
        tree.usage[a] *= kept


@inlined
def _effective(tree, a, whole):
    """An association's usage, nearer to its account's the larger its share there."""
    own = tree.usage[a] / whole if whole > 0 else 0.0
    above = tree.parent[a]
    if above < 0:
        return 1.0
    if above == 0:
        return own
    return own + (tree.level[above] - own) * tree.share[a]


@inlined
def _classic(tree, a, dampening):
    if tree.level[a] < 0.0:
        tree.level[a] = _effective(tree, a, tree.usage[0])
    return 2.0 ** (-(tree.level[a] / tree.part[a]) / dampening)


@called
def _sorted_children(tree, a):
    """Sort the children of an association by share over usage, users first among equals."""
    for at in range(tree.first[a], tree.first[a + 1]):
        c = tree.child[at]
        used = tree.usage[c] / tree.usage[a] if tree.usage[a] > 0 else 0.0
        tree.level[c] = tree.share[c] / used if used > 0 else np.inf
        k = at
        while k > tree.first[a]:
            before = tree.place[k - 1]
            if tree.level[before] > tree.level[c] or (
                tree.level[before] == tree.level[c] and (tree.user[before] or not tree.user[c])
            ):
                break
            tree.place[k] = before
            k -= 1
        tree.place[k] = c


@called
def share_out(tree, rule):
    """Rank the users of the fair tree; by the classic rule nothing is to be done.

    Users with equal levels among siblings have equal ranks, and so has the first user of an
    account whose level equals that of the sibling before it.
    """
    if rule.fair_tree == 0.0:
        return
    users = 0
    for a in range(tree.user.shape[0]):
        users += tree.user[a]
    rank = users
    untied = users
    depth = 0
    tree.stack[0, 0] = 0
    tree.stack[0, 1] = tree.first[0]
    tree.stack[0, 2] = 0
    _sorted_children(tree, 0)
    while depth >= 0:
        above = tree.stack[depth, 0]
        at = tree.stack[depth, 1]
        if at == tree.first[above + 1]:
            depth -= 1
            continue
        tree.stack[depth, 1] = at + 1
        a = tree.place[at]
        if at == tree.first[above]:
            tied = tree.stack[depth, 2] == 1
        else:
            tied = tree.level[a] == tree.level[tree.place[at - 1]]
        if tree.user[a]:
            if not tied:
                rank = untied
            tree.factor[a] = rank / users
            untied -= 1
        else:
            depth += 1
            tree.stack[depth, 0] = a
            tree.stack[depth, 1] = tree.first[a]
            tree.stack[depth, 2] = 1 if tied else 0
            _sorted_children(tree, a)


@inlined
def priority_at(rule, tree, fixed, eligible, a, now):
    """A waiting job's priority: a whole number of 32 bits, never 0, which is for held jobs."""
    total = fixed
    if rule.age > 0.0 and now > eligible:
        old = now - eligible
        total += rule.age * (old / rule.max_age if old < rule.max_age else 1.0)
    if rule.fair_share > 0.0:
        factor = tree.factor[a] if rule.fair_tree > 0.0 else _classic(tree, a, rule.dampening)
        total += rule.fair_share * factor
    return min(np.floor(max(total, 1.0)), _HIGHEST)
