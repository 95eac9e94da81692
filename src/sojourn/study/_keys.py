"""What the keys of a scenario have in common: how they are described, and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic_core import CoreSchema, core_schema

from ..errors import InputError
from ..workload.schema import did_you_mean
from ._units import POWER, TIME

__all__ = [
    "A_COUNT",
    "A_NUMBER",
    "A_POWER",
    "A_TIME",
    "TRUE",
    "Count",
    "File",
    "Keys",
    "Number",
    "OneOf",
    "Positive",
    "Processors",
    "Says",
    "Seconds",
    "Watts",
    "is_score_file",
    "number_or_text",
    "reads",
]

Count = Annotated[int, Field(ge=1, le=10**9)]
File = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# As many as a cluster can have.
Processors = Annotated[int, Field(ge=1, le=2**31 - 1)]
Seconds = Annotated[float, Field(allow_inf_nan=False), TIME]
Watts = Annotated[float, Field(ge=0, allow_inf_nan=False), POWER]

A_COUNT = "a whole number, 1 or more"
A_NUMBER = "a number above 0"
A_POWER = "a number of W, 0 or more, or a text such as '2 kW'"
A_TIME = "a number of seconds, or a text such as '30 d'"
TRUE = "true or false"


@dataclass(frozen=True)
class Says:
    """What a key means and what it holds, as the annotation of the key."""

    what: str
    value: str

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe the key for editors."""
        return {**handler(schema), "description": f"{self.what}: {self.value}."}


class Keys(BaseModel):
    """Keys of a table."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def is_score_file(text: str) -> bool:
    """Whether a text names a score in a file, ``FILE.py:NAME``."""
    return ".py:" in text


def number_or_text(value: str | None) -> float | str | None:
    """Return a text as the number that it is; anything else as it is."""
    try:
        return value if value is None else float(value)
    except ValueError:
        return value


def reads(parse: Callable[[Any], object]) -> AfterValidator:
    """Refuse what a parser refuses, in the parser's words."""

    def check(value: Any) -> Any:
        try:
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
