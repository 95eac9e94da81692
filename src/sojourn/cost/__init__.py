"""What the energy of a run costs, in money and in carbon dioxide.

Power, price and carbon intensity are constant between their changes, so both are exact integrals
of power steps (`billing`).

- `tariff`: prices over the week; `carbon`: the intensity of the electricity
- `clock`: which moment second 0 of the log is
"""

from __future__ import annotations

from .carbon import Carbon, emissions, parse_carbon, read_carbon
from .clock import Clock
from .tariff import Tariff, electricity_cost, parse_tariff

__all__ = [
    "Carbon",
    "Clock",
    "Tariff",
    "electricity_cost",
    "emissions",
    "parse_carbon",
    "parse_tariff",
    "read_carbon",
]
