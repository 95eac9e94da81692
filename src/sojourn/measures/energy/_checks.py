"""What a bill can be made of: columns as kernels take them, and errors for those it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arrays import Floats
from ...errors import OptionError


def own(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return an array that kernels take: of one type, in one piece, not read-only."""
    return np.require(values, dtype=dtype, requirements=["C", "W"])


def check(good: object, problem: str) -> None:
    """Raise OptionError unless `good`."""
    if not good:
        raise OptionError(f"energy bill: {problem}")


def is_known(values: Floats) -> bool:
    """Whether all are numbers of at least 0."""
    return bool(np.isfinite(values).all() and (values >= 0).all())


def check_epochs(epochs: Floats, values: Floats, what: str) -> None:
    """Raise OptionError unless the epochs (s) increase and each has its value."""
    check(0 < len(epochs) == len(values), f"{len(epochs)} epochs but {len(values)} {what}")
    check(np.isfinite(epochs).all() and (np.diff(epochs) > 0).all(), "epochs must increase")
    check(is_known(values), f"{what} must be numbers of at least 0")


def check_stretches(start: Floats, end: Floats, epochs: Floats) -> None:
    """Raise OptionError unless each stretch (s) ends, and none begins before the first epoch."""
    check(len(start) == len(end), f"{len(start)} starts but {len(end)} ends")
    finite = np.isfinite(start).all() and np.isfinite(end).all()
    check(finite and (end >= start).all(), "every job needs a start, and an end not before it")
    check((start >= epochs[0]).all(), f"a job starts before the first epoch, {epochs[0]:g} s")
