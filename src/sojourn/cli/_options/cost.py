"""Options about what a kWh costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...workload import Jobs

__all__ = ["CostOptions"]

_COST = "Cost"

_Price = Annotated[
    str | None,
    typer.Option(
        metavar="PRICE|TARIFF",
        help="Price of a kWh: 0.25, or over the day as in '0.15, 8:0.30, 20:0.15 EUR'.",
        rich_help_panel=_COST,
    ),
]
_Carbon = Annotated[
    str | None,
    typer.Option(
        metavar="G|FILE",
        help="Grams of CO2 per kWh: a number, or a CSV file with columns time,g_per_kwh.",
        rich_help_panel=_COST,
    ),
]
_Starts = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Second 0 of the log, such as 2011-05-01T00:00+09:00 or '2011-05-01T00:00 "
        "Asia/Tokyo'; default: as its header says.",
        rich_help_panel=_COST,
    ),
]


@dataclass(frozen=True)
class CostOptions:
    """What a kWh costs."""

    price: _Price = None
    carbon: _Carbon = None
    starts: _Starts = None

    def check(self, jobs: Jobs) -> None:
        """Raise OptionError now for what could not be billed after the run."""
        from ...cost import Clock, parse_carbon, parse_tariff

        if self.price is not None:
            parse_tariff(self.price)
        if self.price is None and self.carbon is None and self.starts is None:
            return
        clock = Clock.of(jobs.header, self.starts)
        if self.carbon is not None:
            parse_carbon(self.carbon, clock)
