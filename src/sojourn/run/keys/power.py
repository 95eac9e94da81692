"""The keys of a scenario about watts, and what a kWh costs."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ...measures.cost import Clock, is_price_file, parse_tariff
from ...policy import parse_caps
from . import typed
from .describing import (
    A_NUMBER,
    A_POWER,
    File,
    Key,
    Keys,
    Keyword,
    Number,
    Option,
    Positive,
    Watts,
    reads,
)

_COST, _MACHINE = "Cost", "Machine"


def _moment(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _as_given(value: Any) -> Any:
    """What is read only where the bill is made up."""
    return value


def _price(value: Any) -> None:
    """Refuse what is no tariff; a file is read when it is needed."""
    if not is_price_file(value):
        parse_tariff(value)


class LevelKeys(Keys):
    """Watts of a counted processor at one rate."""

    rate: Annotated[Positive, Key("Service rate.", A_NUMBER)]
    busy: Annotated[Watts, Key("Power of a busy processor.", A_POWER)]
    idle: Annotated[Watts, Key("Power of an idle processor.", A_POWER)]


class PowerKeys(Keys):
    """What counted processors draw, and what a kWh costs."""

    busy: Annotated[
        Watts | None,
        Key(
            "Watts of a busy processor at any rate (41 if no power is given).",
            A_POWER,
            Option(_MACHINE, "W", "--watts-busy", kind=str, read=typed.number_or_text),
        ),
    ] = None
    idle: Annotated[
        Watts | None,
        Key(
            "Watts of an idle processor at any rate (18 if no power is given).",
            A_POWER,
            Option(_MACHINE, "W", "--watts-idle", kind=str, read=typed.number_or_text),
        ),
    ] = None
    levels: Annotated[
        list[LevelKeys] | None,
        Key(
            "Watts at one rate; once for each rate the control uses.",
            "a list such as [{rate = 2.66, busy = 41, idle = 18}]",
            Option(_MACHINE, "RATE:BUSY:IDLE", "--watts", list[str], typed.levels),
        ),
    ] = None
    static: Annotated[
        Watts | None, Key("Power at any rate, busy or idle; default 18.", A_POWER)
    ] = None
    dynamic: Annotated[
        Watts | None, Key("Further power of a busy processor at rate 1; default 23.", A_POWER)
    ] = None
    exponent: Annotated[
        Number | None,
        Key("The dynamic power grows as this power of the rate; default 3.", "a number"),
    ] = None
    reference: Annotated[
        Positive | None, Key("Rate at which the dynamic power holds; default 1.", A_NUMBER)
    ] = None
    cap: Annotated[
        Annotated[
            str | Number | list[str | Number], reads(lambda given: parse_caps(given, files=False))
        ]
        | None,
        Key(
            "Watts that are not to be exceeded: 2MW of the whole cluster, gpu=40kW of a partition "
            "or set of nodes, several with commas between, or a CSV file time,watts[,nodes].",
            "a number of W, a text such as '2MW' or 'gpu=40kW', a CSV file time,watts, or a list "
            "of these",
            Option(_MACHINE, "W|SET=W|FILE", "--cap", list[str], typed.one_or_list),
            Keyword(read=_as_given),
        ),
    ] = None
    price: Annotated[
        Annotated[str | Number, reads(_price)] | None,
        Key(
            "Price of a kWh: 0.25, over the day as in '0.15, 8:0.30, 20:0.15 EUR', or a CSV file "
            "with columns time,price_per_kwh.",
            "a number, a tariff such as '0.15, 8:0.30, 20:0.15 EUR', or a CSV file "
            "time,price_per_kwh",
            Option(_COST, "PRICE|TARIFF|FILE", read=typed.number_or_text),
            Keyword(read=_as_given),
        ),
    ] = None
    carbon: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | File | None,
        Key(
            "Grams of CO2 per kWh: a number, or a CSV file with columns time,g_per_kwh.",
            "a number, 0 or more, or a CSV file time,g_per_kwh",
            Option(_COST, "G|FILE", read=typed.number_or_text),
            Keyword(read=_as_given),
        ),
    ] = None
    series: Annotated[
        Literal["end", "repeat"],
        Key(
            "Whether series of carbon and prices end, so that no run may last longer, or repeat.",
            "end or repeat",
            Option(_COST, "end|repeat"),
            Keyword(),
        ),
    ] = "end"
    starts: Annotated[
        Annotated[str, BeforeValidator(_moment), reads(lambda moment: Clock.of(None, moment))]
        | None,
        Key(
            "Second 0 of the log, such as 2011-05-01T00:00+09:00 or '2011-05-01T00:00 "
            "Asia/Tokyo'; default: as its header says.",
            "a time such as 2011-05-01T00:00:00+09:00, as a text or as a date-time of TOML",
            Option(_COST, "TIME"),
            Keyword(read=_as_given),
        ),
    ] = None
