"""The parameters of a user's function, and behind them what went wrong while a kernel ran.

``theta[-4:]`` is the state of the record, and the job, the instant and the node of the evaluation
that it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PolicyError

LENGTH = 4
# States of a record. BEGUN stays behind where a function is left by an exception.
FINE, BEGUN, BAD_VALUE, BAD_WAKE, RESTLESS = 0.0, 1.0, 2.0, 3.0, 4.0

MOST_WAKES = 100_000
"""How often a control may wake up between two arrivals or departures."""


class Mistake(NamedTuple):
    """What a record is about.

    Parameters
    ----------
    kind : BEGUN, BAD_VALUE, BAD_WAKE or RESTLESS.
    subject : position of the job; of a control, the rate that it asked for.
    now : the instant, in seconds.
    node : of a placement, the number of the node; of a control, how often it woke up since the
        last arrival or departure.
    """

    kind: float
    subject: float
    now: float
    node: int


def with_record(theta: Sequence[float]) -> NDArray[np.float64]:
    """Return parameters with an empty record behind them."""
    return np.array([*theta, *[0.0] * LENGTH], dtype=np.float64)


def mistake_in(theta: NDArray[np.float64]) -> Mistake | None:
    """Return the first mistake of a run, from the parameters that it was given."""
    kind, subject, now, node = theta[-LENGTH:].tolist()
    return None if kind == FINE else Mistake(kind, subject, now, int(node))


def numbers(values: Iterable[Any], what: str) -> tuple[float, ...]:
    """Return a sequence of numbers as floats; PolicyError if it is none.

    Parameters
    ----------
    values : the sequence.
    what : it is, for the message.
    """
    try:
        if not isinstance(values, str):
            return tuple(float(value) for value in values)
    except (TypeError, ValueError):
        pass
    raise PolicyError(f"{what} {values!r}: give a list of numbers, such as [1.0, 2.5]")
