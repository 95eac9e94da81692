"""What a formula reads, seen in its bytecode before it is compiled.

Everything here errs on one side: what is not understood may read anything and change at any time.
"""

from __future__ import annotations

import builtins
import dis
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType, ModuleType
from typing import Any

import numpy as np

_PURE_BUILTINS = frozenset(
    (abs, bool, divmod, enumerate, float, int, len, max, min, pow, range, round, sum, zip)
)
_PLAIN = (bool, int, float, str, type(None), np.generic, np.ndarray)


@dataclass(frozen=True)
class Reading:
    """A formula as its bytecode shows it.

    Parameters
    ----------
    formula : a function of positional arguments.
    """

    formula: Callable[..., Any]

    @cached_property
    def _steps(self) -> list[dis.Instruction]:
        return list(dis.get_instructions(self.formula.__code__))

    def argument(self, place: int) -> str:
        """The name of the argument at a place."""
        return self.formula.__code__.co_varnames[place]

    def mentions(self, *places: int) -> bool:
        """Whether it does anything at all with one of the arguments at these places."""
        names = {self.argument(place) for place in places}
        return any(names & set(_words(step)) for step in self._steps)

    def takes_only(self, place: int, attributes: frozenset[str]) -> bool:
        """Whether all it does with an argument is to take these attributes of it."""
        return all(
            after is not None and after.opname == "LOAD_ATTR" and after.argval in attributes
            for after in self._after_loads(self.argument(place))
        )

    def stays_inside(self, index_of: Mapping[int, int], theta: int, length: int) -> bool:
        """Whether every index is seen to lie inside its array.

        So it is where the columns of an argument are indexed by its own index as it was handed in
        (``jobs.submit[j]``), and theta by numbers.

        Parameters
        ----------
        index_of : place of a table of columns -> place of its index.
        theta : place of the parameters.
        length : how many parameters there are.
        """
        if self.helpers is None or self.helpers:
            return False
        steps = self._steps
        indices = {self.argument(table): self.argument(i) for table, i in index_of.items()}
        parameters = self.argument(theta)
        written = {w for step in steps if "STORE" in step.opname for w in _words(step)}
        if written & {*indices, *indices.values(), parameters}:
            return False
        inside = set()
        for at, step in enumerate(steps):
            loaded = _loaded(step)
            if loaded in indices:
                column = steps[at + 1]
                if column.opname != "LOAD_ATTR" or column.is_jump_target:
                    return False
                if not _indexes(steps, at + 2, indices[loaded]):
                    return False
                inside.add(at + 3)
            elif loaded == parameters:
                if not any(_indexes(steps, at + 1, number) for number in range(length)):
                    return False
                inside.add(at + 2)
            elif {*indices, parameters} & set(_words(step)):
                return False
        subscripts = {at for at, step in enumerate(steps) if _is_subscript(step)}
        return subscripts == inside and not any("SLICE" in step.opname for step in steps)

    @cached_property
    def helpers(self) -> tuple[Any, ...] | None:
        """The compiled functions that it calls, directly or not; None if there may be others.

        With the mathematics of Python and NumPy, they are all that a formula may call and still
        be seen to depend on its arguments alone.
        """
        reached: dict[int, Any] = {}
        return tuple(reached.values()) if _is_understood(self.formula, reached) else None

    def _after_loads(self, name: str) -> Iterator[dis.Instruction | None]:
        """What follows each load of an argument; None for any other use of it."""
        following = [*self._steps[1:], None]
        for step, after in zip(self._steps, following, strict=True):
            if name in _words(step):
                yield after if _loaded(step) == name and _words(step).count(name) == 1 else None


@cache
def reading_of(formula: Callable[..., Any]) -> Reading:
    """Return a formula as its bytecode shows it, looked at once."""
    return Reading(formula)


def _words(step: dis.Instruction) -> tuple[Any, ...]:
    """The names that an instruction is about; some are about two."""
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


def _loaded(step: dis.Instruction) -> str | None:
    """The local variable that an instruction leaves on top of the stack, if it loads one."""
    if not step.opname.startswith("LOAD_FAST") or "CLEAR" in step.opname:
        return None
    return str(_words(step)[-1])


def _is_subscript(step: dis.Instruction) -> bool:
    return "SUBSCR" in step.opname or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def _indexes(steps: list[dis.Instruction], at: int, index: str | int) -> bool:
    """Whether an index and a subscript follow, and nothing jumps in between."""
    if len(steps) < at + 2 or any(step.is_jump_target for step in steps[at : at + 2]):
        return False
    by = _words(steps[at]) == (index,) and steps[at].opname.startswith("LOAD_")
    return by and _is_subscript(steps[at + 1])


def _is_understood(function: Callable[..., Any], reached: dict[int, Any]) -> bool:
    """Whether a function can only call mathematics and `reached` compiled functions."""
    code = function.__code__
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        return False
    if "random" in code.co_names or any("IMPORT" in s.opname for s in dis.get_instructions(code)):
        return False
    inner = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            inner[name] = cell.cell_contents
        except ValueError:
            return False
    names = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    outer = function.__globals__
    values = [outer.get(name, getattr(builtins, name, None)) for name in names]
    return all(_is_known(value, reached) for value in (*inner.values(), *values))


def _is_known(value: Any, reached: dict[int, Any]) -> bool:
    if isinstance(value, _PLAIN) or value is math or value is np:
        return True
    if isinstance(value, tuple):
        return all(isinstance(item, _PLAIN) for item in value)
    if isinstance(value, ModuleType):
        return False
    if isinstance(value, np.ufunc) or (isinstance(value, type) and issubclass(value, np.generic)):
        return True
    formula = getattr(value, "py_func", None)
    if formula is not None and type(value).__module__.startswith("numba."):
        if id(value) in reached:
            return True
        reached[id(value)] = value
        return _is_understood(formula, reached)
    try:
        return value in _PURE_BUILTINS or getattr(value, "__module__", "") == "math"
    except TypeError:
        return False
