"""Options about a machine whose processors are only counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import OptionError

if TYPE_CHECKING:
    from ...cluster import Power

__all__ = ["CountedOptions", "Procs"]

_MACHINE = "Machine"

Procs = Annotated[
    int | None,
    typer.Option(
        metavar="P",
        help="Processors of the machine; default: MaxProcs of the log.",
        rich_help_panel=_MACHINE,
    ),
]
_WattsBusy = Annotated[
    float | None,
    typer.Option(
        metavar="W",
        help="Watts of a busy processor at any rate (41 if no power is given).",
        rich_help_panel=_MACHINE,
    ),
]
_WattsIdle = Annotated[
    float | None,
    typer.Option(
        metavar="W",
        help="Watts of an idle processor at any rate (18 if no power is given).",
        rich_help_panel=_MACHINE,
    ),
]
_Watts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RATE:BUSY:IDLE",
        help="Watts at one rate; once for each rate the control uses.",
        rich_help_panel=_MACHINE,
    ),
]


@dataclass(frozen=True)
class CountedOptions:
    """A machine whose processors are only counted."""

    procs: Procs = None
    watts_busy: _WattsBusy = None
    watts_idle: _WattsIdle = None
    watts: _Watts = None

    def power(self) -> Power | None:
        """Return the power model, or None for the default one."""
        return _power(self.watts_busy, self.watts_idle, self.watts)


def _power(busy: float | None, idle: float | None, per_rate: list[str] | None) -> Power | None:
    """Return the power model, or None for the default one."""
    from ...cluster import ConstantPower, RatePower

    if per_rate:
        if busy is not None or idle is not None:
            raise OptionError("--watts gives both powers at each rate; leave the others out")
        table = {}
        for text in per_rate:
            try:
                rate, on, off = map(float, text.split(":"))
            except ValueError:
                raise OptionError(
                    f"--watts '{text}': write RATE:BUSY:IDLE, such as 2.66:41:18"
                ) from None
            table[rate] = (on, off)
        return RatePower(table)
    if busy is None and idle is None:
        return None
    default = ConstantPower()
    return ConstantPower(
        default.busy_watts if busy is None else busy, default.idle_watts if idle is None else idle
    )
