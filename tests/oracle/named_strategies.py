"""Hypothesis strategies for small clusters of unlike nodes.

Slowness is a power of two and watts per processor at 100 % are whole numbers, so that floats are
exact wherever a schedule depends on them. Jobs and nodes are drawn as integers, as in `strategies`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

from .model import Exact
from .nodes import Node, Request
from .strategies import GAPS, WORKS, Workload, _plan

SLOWNESS = (1, 2, Fraction(1, 2), 1, 4, Fraction(1, 4), 1, 2)
FEATURES = (frozenset[str](), frozenset("a"), frozenset("b"), frozenset("ab"))
WIDTHS = 8
# One in two asks for nothing.
CONSTRAINTS = 12


class Case(NamedTuple):
    """A cluster and its jobs, in the order of submit."""

    nodes: tuple[Node, ...]
    jobs: tuple[Request, ...]


def cases(
    max_jobs: int = 8, max_nodes: int = 6, *, constrained: bool, min_plan: int = 0
) -> st.SearchStrategy[Case]:
    """Clusters with jobs that ask for processors only, or some of them for more."""
    nodes = st.lists(st.integers(0, 2**24 - 1), min_size=1, max_size=max_nodes)
    jobs = st.lists(st.integers(0, 2**20 - 1), min_size=1, max_size=max_jobs)
    return st.builds(
        lambda drawn, codes: _case(drawn, codes, constrained, min_plan),
        nodes,
        jobs,
    )


@st.composite
def equal_nodes(draw: st.DrawFn, drawn: Workload) -> tuple[Node, ...]:
    """The servers of a workload as nodes of slowness 1, with any watts."""
    nodes: list[Node] = []
    left = drawn.servers
    while left:
        procs = draw(st.integers(1, left))
        nodes.append(Node(procs, 1, _watts(draw(st.integers(0, 2**12 - 1)), procs)))
        left -= procs
    return tuple(nodes)


def _case(drawn: list[int], codes: list[int], constrained: bool, min_plan: int) -> Case:
    nodes = tuple(node_of(code) for code in drawn)
    servers = sum(node.procs for node in nodes)
    jobs = []
    submit = 0
    for code in codes:
        code, gap = divmod(code, len(GAPS))
        submit += GAPS[gap]
        jobs.append(_job(code, submit, servers, constrained, min_plan))
    return Case(nodes, tuple(jobs))


def node_of(code: int) -> Node:
    """The node that a code stands for."""
    code, procs = divmod(code, 6)
    code, slowness = divmod(code, len(SLOWNESS))
    code, features = divmod(code, len(FEATURES))
    code, memory = divmod(code, 10)
    return Node(
        procs + 1, SLOWNESS[slowness], _watts(code, procs + 1), 1 + memory, FEATURES[features]
    )


def _watts(code: int, procs: int) -> tuple[Exact, ...]:
    """Eleven levels, which need not ascend evenly; the last is a multiple of the processors."""
    code, full = divmod(code, 5)
    code, step = divmod(code, 7)
    idle = code % 11
    return (*(idle + (step * level) // 2 for level in range(10)), procs * (1 + full))


def _job(code: int, submit: int, servers: int, constrained: bool, min_plan: int) -> Request:
    code, plan = divmod(code, 8)
    code, work = divmod(code, len(WORKS))
    code, width = divmod(code, WIDTHS)
    code, limited = divmod(code, 3)
    amount = WORKS[work]
    planned = max(min_plan, _plan(plan, amount, "any"))
    limit = (None, planned, 2 * planned + 1)[limited]
    # Mostly narrow; the widest of all is wider than the cluster once in a while.
    widths = (1, 1 + servers // 8, 1 + servers // 4, 2, 1 + servers // 2, 1, servers, 3)
    procs = min(widths[width], servers + (plan == 7))
    job = Request(submit, amount, procs, planned, limit)
    return constrained_by(job, code) if constrained else job


def constrained_by(job: Request, code: int) -> Request:
    """The job with a constraint that the code stands for, or none."""
    code, kind = divmod(code, CONSTRAINTS)
    if kind in (1, 2):
        return job._replace(memory_per_core=1 + code % 4)
    if kind == 3:
        return job._replace(memory_per_node=1 + code % 8)
    if kind in (4, 5):
        return job._replace(whole_node=True)
    if kind == 6:
        return job._replace(feature="ab"[code % 2])
    if kind == 7:
        return job._replace(power_budget=job.procs * (2 + code % 4))
    if kind == 8:
        return job._replace(feature="a", memory_per_core=1, whole_node=bool(code % 2))
    return job
