"""The keys of a scenario about how fast the servers run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, create_model

from ...policy import CONTROLS
from .describing import A_NUMBER, TIME, TRUE, Key, Keys, Keyword, Option, Positive, alternatives


def _known(value: float) -> float:
    """Refuse nan; a threshold of inf is one that is never passed."""
    if math.isnan(value):
        raise ValueError("nan is not a number; give one")
    return value


_Share = Annotated[float, Field(ge=0, le=1)]
_Level = Annotated[float, TIME, AfterValidator(_known)]
if TYPE_CHECKING:
    _Kind = str
else:
    _Kind = Literal[tuple(CONTROLS)]
_Levels = _Level | Annotated[list[_Level], Field(min_length=1)]

_A_LEVEL = "seconds of work or a text such as '30 h', or a list, one between two rates"
_A_SHARE = "a number from 0 to 1"
_A_NUMBERS = "a number, or a list of them"


class ControlKeys(Keys):
    """How fast the servers run."""

    kind: Annotated[_Kind, Key("Service-rate control.", alternatives(CONTROLS))] = "constant"
    rate: Annotated[Positive, Key("Rate of a constant control.", A_NUMBER)] = 1.0
    rates: Annotated[
        list[Positive] | None,
        Key("Rates of all other controls.", "a list of numbers above 0, increasing"),
    ] = None
    k: Annotated[_Levels | None, Key("Threshold of the workload.", _A_LEVEL)] = None
    low: Annotated[
        _Levels | None, Key("Slower at this workload, or this count of jobs, and below.", _A_LEVEL)
    ] = None
    high: Annotated[
        _Levels | None, Key("Faster above this workload, or this count of jobs.", _A_LEVEL)
    ] = None
    timer: Annotated[
        bool, Key("Look at the workload between arrivals and departures too.", TRUE)
    ] = True
    p_low: Annotated[
        _Share | None, Key("Probability of slowing down at a departure.", _A_SHARE)
    ] = None
    p_high: Annotated[_Share | None, Key("Probability of speeding up at an arrival.", _A_SHARE)] = (
        None
    )
    domains: Annotated[
        dict[str, str | float] | None,
        Key(
            "Rates of partitions or of nodes, by name, in place of one for all.",
            "a table such as {gpu = 'count:0.8,1:2:5', cpu = 0.9}",
        ),
    ] = None
    reference_rate: Annotated[
        Positive,
        Key(
            "Rate at which the runtimes were recorded.", A_NUMBER, Option("Machine", "R"), Keyword()
        ),
    ] = 1.0


# Keys that no control has but one.
if not TYPE_CHECKING:
    ControlKeys = create_model(
        "ControlKeys",
        __base__=ControlKeys,
        __doc__=ControlKeys.__doc__,
        **{
            name: (Annotated[_Levels | None, Key(what, _A_NUMBERS)], None)
            for kind in CONTROLS.values()
            for name, what in kind.says.items()
        },
    )
