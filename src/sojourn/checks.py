"""Checks of the parameters of a model: each complaint is one line that says what to change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import OptionError

_SLACK = 1e-9
"""How far from 1 the sum of probabilities may be: rounding, not a missing class."""

_MOST = 100_000_000
"""Servers beyond which arrays of one number per server would not fit into memory."""


def numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return an array of real numbers, of whatever shape, as float64.

    Parameters
    ----------
    values : numbers; no text, and no complex ones, whose imaginary part would be lost.
    name : what it is called in a message.
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO":
            raise TypeError
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name}: holds what is not a number; give real numbers") from None


def probabilities(p: ArrayLike, name: str = "p") -> NDArray[np.float64]:
    """Return a distribution over 1, 2, ..., len(p) as an array.

    Parameters
    ----------
    p : p[k-1] is the probability of k.
    name : what it is called in a message.
    """
    values = numbers(p, name)
    if values.ndim != 1 or values.size == 0:
        raise OptionError(f"{name}: give a list of probabilities, {name}[k-1] that of k")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        k = int(wrong[0])
        raise OptionError(f"{name}[{k}] = {values[k]:g}: a probability is a number from 0 to 1")
    total = float(values.sum())
    if abs(total - 1) > _SLACK:
        raise OptionError(
            f"{name} sums to {total:.10g}, not to 1; divide by the sum, or add the missing class"
        )
    return values


def positive(value: float, name: str) -> float:
    """Return a number above 0."""
    number = _number(value, name)
    if not number > 0:
        raise OptionError(f"{name} = {number:g}: must be above 0")
    return number


def non_negative(value: float, name: str) -> float:
    """Return a number that is 0 or more."""
    number = _number(value, name)
    if number < 0:
        raise OptionError(f"{name} = {number:g}: must not be negative")
    return number


def probability(value: float, name: str) -> float:
    """Return a number from 0 to 1."""
    number = _number(value, name)
    if not 0 <= number <= 1:
        raise OptionError(f"{name} = {number:g}: a probability lies in [0, 1]")
    return number


def servers(value: int, name: str = "servers", most: int = _MOST) -> int:
    """Return a whole number of servers, at least one and not beyond what memory holds."""
    number = _number(value, name)
    if isinstance(value, bool) or number != int(number) or number < 1:
        raise OptionError(f"{name} = {value}: give a whole number of at least 1")
    if number > most:
        raise OptionError(f"{name} = {number:.15g}: give at most {most}")
    return int(number)


def choice(value: str, known: tuple[str, ...], name: str) -> str:
    """Return a name that is among those known."""
    if not isinstance(value, str) or value not in known:
        raise OptionError(f"{name} = {_shown(value)}: choose one of {', '.join(known)}")
    return value


def pair(value: Any, name: str) -> tuple[Any, Any]:
    """Return the two things that something consists of."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise OptionError(f"{name} = {_shown(value)}: give two, one after the other") from None
    return first, second


def generator(seed: int) -> np.random.Generator:
    """Return a source of random numbers."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise OptionError(f"seed = {_shown(seed)}: give a whole number of at least 0") from None


def stable(load: float, limit: float) -> None:
    """Refuse a load under which the queue grows without bound.

    Parameters
    ----------
    load : rho of the model.
    limit : arrival rate at which rho = 1 (1/s).
    """
    if not load < 1:
        raise OptionError(
            f"load rho = {load:.6g}: not below 1, so the queue grows without bound; "
            f"lower arrival_rate below {limit:.6g}, or add servers"
        )


def _number(value: float, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name} = {_shown(value)}: give a number") from None
    if not np.isfinite(number):
        raise OptionError(f"{name} = {number:g}: give a finite number")
    return number


def _shown(value: Any) -> str:
    """How a value is shown in a message of one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def refuse_unknown(array: NDArray[np.float64], name: str) -> None:
    """Raise at the first number that is not finite."""
    wrong = np.flatnonzero(~np.isfinite(array))
    if wrong.size:
        row = int(wrong[0])
        raise OptionError(
            f"{name}[{row}] = {array.flat[row]:g}: not a finite number; leave out what has none"
        )
