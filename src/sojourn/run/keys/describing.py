"""How a key is described: once, for files, editors, the command line, Python and the reference."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainValidator,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from ...errors import InputError, did_you_mean, nearest

A_COUNT = "a whole number, 1 or more"
A_NUMBER = "a number above 0"
A_POWER = "a number of W, 0 or more, or a text such as '2 kW'"
A_TIME = "a number of seconds, or a text such as '30 d'"
TRUE = "true or false"

_NAMED = re.compile(r"\{([a-z_.]+)\}")
_NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_FORM = re.compile(rf"\s*({_NUMBER})\s*([^\W\d_]+)\s*")


SAME: Any = ...
"""Stands for the default of the key itself."""


@dataclass(frozen=True)
class Option:
    """How a key is given on the command line.

    Parameters
    ----------
    panel : of the help.
    metavar : what stands for its value in the help.
    flag : as it is typed; default: from the name of the key.
    kind : type of the word that is typed; default: by what the key holds.
    read : turns what is typed into what the key holds; ValueError says what is wrong with it.
    default : as it would be typed.
    complete : what a shell offers, a name in `cli._completion`.
    help : where the option says more than the key.
    """

    panel: str
    metavar: str | None = None
    flag: str = ""
    kind: Any = None
    read: Callable[[Any], Any] | None = None
    default: Any = SAME
    complete: str = ""
    help: str = ""


@dataclass(frozen=True)
class Keyword:
    """How a key is given to `sojourn.simulate`.

    Parameters
    ----------
    name : default: that of the key.
    default : default: that of the key.
    what : where Python takes other values than a file.
    read : checks or converts what Python gives; default: what a file could hold.
    """

    name: str = ""
    default: Any = SAME
    what: str = ""
    read: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Key:
    """What a key means and holds, and where else it can be said, as the annotation of the key.

    Parameters
    ----------
    what : its meaning, in a sentence; other keys are named as in ``{cluster.procs}``.
    value : what it holds, to be read behind "is not".
    option, keyword : its forms on the command line and in Python; None where it has none.
    """

    what: str
    value: str
    option: Option | None = None
    keyword: Keyword | None = None

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe the key for editors."""
        text = f"{with_names(self.what)} Holds {self.value}."
        return {**handler(schema), "description": text}


def alternatives(names: Iterable[str]) -> str:
    """Return ``a, b or c``."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def with_names(text: str, name_of: Callable[[str], str] = lambda key: key) -> str:
    """Return a text in which keys in braces have the names that its reader knows them by."""
    return _NAMED.sub(lambda match: name_of(match[1]), text)


class Keys(BaseModel):
    """Keys of a table."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _path(value: Any) -> str:
    # Unlike texts of pydantic, names of files may have bytes in them that are no UTF-8.
    if not isinstance(value, str) or not value:
        raise AssertionError
    return value


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


Count = Annotated[int, Field(ge=1, le=10**9)]
File = Annotated[str, PlainValidator(_path), WithJsonSchema({"type": "string", "minLength": 1})]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# As many as a cluster can have.
Processors = Annotated[int, Field(ge=1, le=2**31 - 1)]
Seconds = Annotated[float, Field(allow_inf_nan=False), TIME]
Watts = Annotated[float, Field(ge=0, allow_inf_nan=False), POWER]


def is_score_file(text: str) -> bool:
    """Whether a text names a score in a file, ``FILE.py:NAME``."""
    return ".py:" in text


def reads(parse: Callable[[Any], object], but: str | None = None) -> AfterValidator:
    """Refuse what a parser refuses, in the parser's words; one word is not asked about."""

    def check(value: Any) -> Any:
        try:
            if value != but:
                parse(value)
        except (InputError, OverflowError) as error:
            raise ValueError(str(error)) from None
        return value

    return AfterValidator(check)


@dataclass(frozen=True, eq=False)
class OneOf:
    """A name that must be known, as the annotation of a key.

    Parameters
    ----------
    names : all there are.
    what : they name.
    or_file : whether ``FILE.py:NAME`` will do too; the file is looked for when it is needed.
    """

    names: Collection[str]
    what: str
    or_file: bool = True

    def read(self, name: str) -> str:
        """Return a name that is known; ValueError for any other."""
        if name in self.names or (self.or_file and is_score_file(name)):
            return name
        near = did_you_mean(name, self.names) or f"; choose from {', '.join(self.names)}"
        raise ValueError(f"no {self.what} is called '{name}'{near}")

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check the name after its type."""
        return core_schema.no_info_after_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """List the names for editors."""
        known: dict[str, Any] = {"type": "string", "enum": list(self.names)}
        file = {"type": "string", "pattern": r"\.py:"}
        return {"anyOf": [known, file]} if self.or_file else known
