"""Quantities with their units, such as ``1h``, ``30 min`` or ``3.5 kW``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ...errors import nearest

__all__ = ["MEMORY", "POWER", "TIME", "Quantity"]

_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_FORM = re.compile(rf"\s*({_NUMBER})\s*([^\W\d_]+)\s*")


@dataclass(frozen=True, eq=False)
class Quantity:
    """A kind of quantity, as the annotation of a key: a number, or a text with a unit.

    Parameters
    ----------
    name : what it is, in words.
    units : each with the number of basic units in it; the first is the basic one.
    example : as people write it.
    words : for units, without the s of many; they are not taken, but what is meant can be said.
    """

    name: str
    units: Mapping[str, float]
    example: str
    words: Mapping[str, str]

    def read(self, value: Any) -> Any:
        """Return a text as a number of basic units; anything else as it is.

        Raises
        ------
        ValueError
            For a text that is no number with a unit of this kind.
        """
        if not isinstance(value, str):
            return value
        match = _FORM.fullmatch(value)
        if match is None:
            basic = next(iter(self.units))
            raise ValueError(
                f"'{value[:40]}' is not {self.name}; write a number of {basic}, or '{self.example}'"
            )
        number, unit = float(match[1]), match[4]
        if unit not in self.units:
            meant = self.words.get(unit.lower().removesuffix("s"))
            hint = f"did you mean '{meant}'?" if meant else nearest(unit, self.units)
            raise ValueError(f"'{value[:40]}': '{unit}' is no unit of {self.name}; {hint}")
        if not math.isfinite(number * self.units[unit]):
            raise ValueError(f"'{value[:40]}' is too large; give less")
        return number * self.units[unit]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Read a text before the number is checked."""
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Tell of the text too."""
        units = "|".join(self.units)
        text = {"type": "string", "pattern": rf"^\s*{_NUMBER}\s*({units})\s*$"}
        return {"anyOf": [handler(schema), text]}


TIME = Quantity(
    "a length of time",
    {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0},
    "30 min",
    {"sec": "s", "second": "s", "minute": "min", "hour": "h", "day": "d", "week": "w", "year": "y"},
)
POWER = Quantity(
    "a power",
    {"W": 1.0, "kW": 1e3, "MW": 1e6},
    "2 kW",
    {"watt": "W", "kilowatt": "kW", "megawatt": "MW"},
)
MEMORY = Quantity(
    "an amount of memory",
    {"GB": 1.0, "MB": 1 / 1024, "TB": 1024.0},
    "512 MB",
    {"gigabyte": "GB", "megabyte": "MB", "terabyte": "TB"},
)
