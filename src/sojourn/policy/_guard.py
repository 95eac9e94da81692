"""How a user's function is compiled: it can read what it is handed, and no mistake goes unseen.

The kernels call a guard of the type that they know. It hands the function columns that cannot be
written and hide what no scheduler knows, and keeps the record of `_record` behind the parameters.
After a mistake it answers at once with something harmless; whoever drives the run looks at the
record and stops it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numba
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..engine.nodes import NODE_SCORE
from ..engine.scores import scores_by
from ..engine.types import CONTROL, SCORES, SWITCH
from .columns import ClairvoyantColumns, JobColumns, job_columns, read_only
from .record import BAD_VALUE, BAD_WAKE, BEGUN, FINE, LENGTH, MOST_WAKES, RESTLESS

_OPTIONS = {"error_model": "numpy", "nogil": True}
_PART = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _borrowed(context: Any, builder: Any, value: Any, source: Any, target: Any) -> Any:
    """An array as a read-only one that nobody counts: the kernel outlives every evaluation."""
    array = context.make_array(source)(context, builder, value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return context.cast(builder, array._getvalue(), source, target)


def _columns(kind: Any, source: Any) -> Any:
    """The type of a named tuple of read-only columns that are taken from another."""
    columns = (source.types[source.fields.index(name)] for name in kind._fields)
    return types.NamedTuple([column.copy(readonly=True) for column in columns], kind)


def _narrowing(target: Any) -> Any:
    """Make the compiled function that hands out read-only columns of a named tuple."""

    @intrinsic  # type: ignore[untyped-decorator]
    def narrow(_: Any, source: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            items = []
            for name, column in zip(target.fields, target.types, strict=True):
                at = source.fields.index(name)
                value = builder.extract_value(values[0], at)
                items.append(_borrowed(context, builder, value, source.types[at], column))
            return context.make_tuple(builder, signature.return_type, items)

        return target(source), generate

    return narrow


@intrinsic  # type: ignore[untyped-decorator]
def _without_record(_: Any, theta: Any) -> Any:
    """The parameters alone, to be read only."""
    target = theta.copy(readonly=True)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(theta)(context, builder, values[0])
        length = builder.extract_value(array.shape, 0)
        size = builder.sub(length, length.type(LENGTH))
        array.shape = cgutils.pack_array(builder, [size])
        array.nitems = size
        return _borrowed(context, builder, array._getvalue(), theta, target)

    return target(theta), generate


def _plain_theta(theta: Any) -> Any:
    """The same where nothing is compiled."""
    parameters = theta[:-LENGTH]
    parameters.flags.writeable = False
    return parameters


_THETA = types.float64[::1].copy(readonly=True)
_NODES, _, _JOBS, *_ = NODE_SCORE.args


@cache
def _views(clairvoyant: bool) -> tuple[Any, Any, Any, Any]:
    """The types of jobs and nodes that a formula sees, and how it gets them."""
    jobs = _columns(ClairvoyantColumns if clairvoyant else JobColumns, _JOBS)
    nodes = _columns(_NODES.instance_class, _NODES)
    if config.DISABLE_JIT:
        return jobs, nodes, partial(job_columns, clairvoyant=clairvoyant), read_only
    return jobs, nodes, _narrowing(jobs), _narrowing(nodes)


def compile_score(
    formula: Callable[..., float],
    *,
    of_nodes: bool,
    clairvoyant: bool,
    checked: Sequence[Any] | None,
) -> Any:
    """Compile a formula for the order of the queue, or of the nodes.

    Parameters
    ----------
    formula : of (jobs, j, now, theta) or (nodes, n, jobs, j, now, theta).
    of_nodes : which of them.
    clairvoyant : whether it may know the true runtimes.
    checked : None if its indices need no check; else the compiled functions that it calls, whose
        indices are checked too.

    Raises
    ------
    numba.core.errors.NumbaError : as it comes, where it does not compile.
    TypeError : where it does not return a number.
    """
    jobs, nodes, narrow_jobs, narrow_nodes = _views(clairvoyant)
    without_record = _plain_theta if config.DISABLE_JIT else _without_record
    seen: tuple[Any, ...] = (jobs, types.int64, types.float64, _THETA)
    if of_nodes:
        seen = (nodes, types.int64, *seen)
    inner = _compile_part(formula, seen, checked)

    def order_queue(jobs, j, now, theta):  # type: ignore[no-untyped-def]
        record = theta.shape[0] - LENGTH
        if theta[record] != FINE:
            return math.inf
        theta[record] = BEGUN
        theta[record + 1] = j
        theta[record + 2] = now
        value = 1.0 * inner(narrow_jobs(jobs), j, now, without_record(theta))
        if value != value:
            theta[record] = BAD_VALUE
            return math.inf
        theta[record] = FINE
        return value

    def order_nodes(nodes, n, jobs, j, now, theta):  # type: ignore[no-untyped-def]
        record = theta.shape[0] - LENGTH
        if theta[record] != FINE:
            return math.inf
        theta[record] = BEGUN
        theta[record + 1] = j
        theta[record + 2] = now
        theta[record + 3] = n
        columns = narrow_nodes(nodes)
        value = 1.0 * inner(columns, n, narrow_jobs(jobs), j, now, without_record(theta))
        if value != value:
            theta[record] = BAD_VALUE
            return math.inf
        theta[record] = FINE
        return value

    if of_nodes:
        return numba.njit(NODE_SCORE, **_OPTIONS)(order_nodes)
    guarded = numba.njit(forceinline=True, **_PART)(order_queue)
    return numba.njit(SCORES, **_OPTIONS)(scores_by(guarded))


def compile_control(law: Callable[..., float], *, wakes: bool) -> Any:
    """Compile the law of a rate control, or (`wakes`) its wake-up; raises as `compile_score`."""
    inner = _compile_part(law, (*CONTROL.args[:2], _THETA), ())
    without_record = _plain_theta if config.DISABLE_JIT else _without_record

    def set_rate(state, now, theta):  # type: ignore[no-untyped-def]
        record = theta.shape[0] - LENGTH
        if theta[record] != FINE:
            return state.rate
        theta[record] = BEGUN
        theta[record + 1] = math.nan
        theta[record + 2] = now
        theta[record + 3] = theta[record + 3] + 1.0 if state.event == SWITCH else 0.0
        if theta[record + 3] > MOST_WAKES:
            theta[record] = RESTLESS
            return state.rate
        rate = 1.0 * inner(state, now, without_record(theta))
        if not 0.0 < rate < math.inf:
            theta[record] = BAD_VALUE
            theta[record + 1] = rate
            return state.rate
        theta[record] = FINE
        return rate

    def wake_at(state, now, theta):  # type: ignore[no-untyped-def]
        record = theta.shape[0] - LENGTH
        if theta[record] != FINE:
            return -math.inf
        theta[record] = BEGUN
        theta[record + 2] = now
        level = 1.0 * inner(state, now, without_record(theta))
        if level != level:
            theta[record] = BAD_WAKE
            return -math.inf
        theta[record] = FINE
        return level

    return numba.njit(CONTROL, **_OPTIONS)(wake_at if wakes else set_rate)


def _compile_part(formula: Any, arguments: Any, checked: Sequence[Any] | None) -> Any:
    """Compile a user's function for what the guard hands it; TypeError for a wrong answer."""
    if config.DISABLE_JIT:
        return formula
    inner = numba.njit(boundscheck=checked is not None, **_PART)(formula)
    with _with_bounds(checked or ()):
        inner.compile(arguments)
    answer = types.unliteral(inner.nopython_signatures[0].return_type)
    if not isinstance(answer, (types.Float, types.Integer, types.Boolean)):
        raise TypeError(str(answer))
    inner.disable_compile()
    return inner


@contextmanager
def _with_bounds(helpers: Sequence[Any]) -> Iterator[None]:
    """Check the indices of helpers that are compiled meanwhile, unless they say otherwise."""
    unsaid = [helper for helper in helpers if helper.targetoptions.get("boundscheck") is None]
    for helper in unsaid:
        helper.targetoptions["boundscheck"] = True
    try:
        yield
    finally:
        for helper in unsaid:
            helper.targetoptions["boundscheck"] = None
