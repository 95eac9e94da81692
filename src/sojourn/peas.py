"""The configuration file of a run on named nodes, as ``sojourn peas`` takes it.

A run in the manner of [gomez2012] is a workload, a cluster and a configuration; this is the last.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from .cluster.query import parse_query
from .cost import Clock, parse_tariff
from .errors import InputError, OptionError
from .policy import parse_placement, parse_policy
from .workload._files import read_text
from .workload._toml import load_toml

__all__ = ["ConstraintKeys", "CostKeys", "PeasConfig", "read_config"]


def _must_read(parse: Callable[[Any], object]) -> AfterValidator:
    """Refuse what a parser refuses, in the parser's words."""

    def check(value: Any) -> Any:
        try:
            parse(value)
        except InputError as error:
            raise ValueError(str(error)) from None
        return value

    return AfterValidator(check)


_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Memory = Annotated[float, Field(ge=0, le=1e9)]
_Factor = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Tariff = Annotated[str | Annotated[float, Field(allow_inf_nan=False)], _must_read(parse_tariff)]
_Moment = Annotated[str | datetime, _must_read(lambda start: Clock.of(None, start))]
_Number = Annotated[str, Field(pattern=r"^-?\d{1,18}$")]
_Column = Literal["user", "group", "queue", "partition"]
_ByColumn = Annotated[dict[_Column, dict[_Number, str]], Field(max_length=4)]


class _Keys(BaseModel):
    """Keys of a table; what each holds is its description."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ConstraintKeys(_Keys):
    """What jobs ask of their nodes besides processors: ``[constraints]``."""

    memory_per_core: Annotated[
        _Memory | Literal["log"] | None, Field(description='a number of GB, 0 or more, or "log"')
    ] = None
    memory_per_node: Annotated[_Memory | None, Field(description="a number of GB, 0 or more")] = (
        None
    )
    whole_node: Annotated[bool | None, Field(description="true or false")] = None
    feature: Annotated[
        str | _ByColumn | None,
        Field(description='a word, or one for each queue such as {queue = {3 = "gpu"}}'),
    ] = None
    power_budget: Annotated[_Amount | None, Field(description="a number of W, 0 or more")] = None


class CostKeys(_Keys):
    """What a kWh costs: ``[cost]``."""

    price: Annotated[_Tariff | None, Field(description="a number or a tariff")] = None
    carbon: Annotated[
        _Amount | str | None, Field(description="a number of g per kWh, 0 or more, or a file")
    ] = None
    starts: Annotated[
        _Moment | None, Field(description="a time such as 2011-05-01T00:00:00+09:00")
    ] = None


class PeasConfig(_Keys):
    """A configuration; None is what the file does not say.

    Every key means what the option of ``sojourn peas`` with its name does.
    """

    policy: Annotated[
        Annotated[str, _must_read(parse_policy)] | None,
        Field(description="the name of a policy"),
    ] = None
    placement: Annotated[
        Annotated[str, _must_read(parse_placement)] | None,
        Field(description="the name of a placement"),
    ] = None
    processor: Annotated[
        Literal["core", "chip", "node"] | None, Field(description="core, chip or node")
    ] = None
    estimates: Annotated[
        _Factor | Literal["user", "exact"] | None,
        Field(description='"user", "exact" or a factor above 0'),
    ] = None
    first: Annotated[
        Annotated[int, Field(ge=1)] | None, Field(description="a number of jobs, 1 or more")
    ] = None
    where: Annotated[
        Annotated[str, _must_read(parse_query)] | None,
        Field(description="a condition on servers such as 'cores >= 8'"),
    ] = None
    seed: Annotated[
        Annotated[int, Field(ge=0, lt=2**63)] | None, Field(description="a whole number, 0 or more")
    ] = None
    foresight: Annotated[Literal["nodes", "log"] | None, Field(description='"nodes" or "log"')] = (
        None
    )
    constraints: Annotated[ConstraintKeys, Field(description="a table")] = ConstraintKeys()
    cost: Annotated[CostKeys, Field(description="a table")] = CostKeys()

    def options(self) -> dict[str, Any]:
        """Return what the file says, as the options of the command line that say the same."""
        asked, cost = self.constraints, self.cost
        told = {
            "policy": self.policy,
            "placement": self.placement,
            "processor": self.processor,
            "estimates": _text(self.estimates),
            "first": self.first,
            "where": self.where,
            "seed": self.seed,
            "foresight": self.foresight,
            "memory": _text(asked.memory_per_core),
            "memory_per_node": asked.memory_per_node,
            "whole_nodes": asked.whole_node,
            "feature": None if asked.feature is None else list(_features(asked.feature)),
            "power_budget": asked.power_budget,
            "price": _text(cost.price),
            "carbon": _text(cost.carbon),
            "starts": _text(cost.starts),
        }
        return {name: value for name, value in told.items() if value is not None}


def _text(value: float | str | datetime | None) -> str | None:
    return None if value is None else str(value)


def _features(feature: str | dict[_Column, dict[str, str]]) -> Iterator[str]:
    """Features as the command line takes them: ``gpu``, or ``queue:3=gpu``."""
    if isinstance(feature, str):
        yield feature
        return
    for column, words in feature.items():
        yield from (f"{column}:{value}={word}" for value, word in words.items())


_TABLES: dict[str, type[_Keys]] = {"constraints": ConstraintKeys, "cost": CostKeys}


def read_config(path: str | os.PathLike[str]) -> PeasConfig:
    """Read a configuration in TOML.

    Parameters
    ----------
    path : the file. A file that it names (``carbon``) is looked for beside it.

    Raises
    ------
    OptionError
        When it is not TOML, has a key that is not known, or a value that its key cannot have.
    """
    text = read_text(path)
    try:
        told = load_toml(text)
    except ValueError as error:
        raise OptionError(_one_line(f"{path}: is not TOML: {error}; correct it")) from None
    try:
        config = PeasConfig.model_validate(told)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise OptionError(_one_line(f"{path}, {_problem(dict(first), told)}")) from None
    carbon = config.cost.carbon
    if not isinstance(carbon, str):
        return config
    beside = config.cost.model_copy(update={"carbon": str(Path(path).parent / carbon)})
    return config.model_copy(update={"cost": beside})


def _problem(error: dict[str, Any], told: dict[str, Any]) -> str:
    """Say which key is wrong, and what it should be."""
    table = _TABLES.get(str(error["loc"][0])) if len(error["loc"]) > 1 else None
    keys = [str(key) for key in error["loc"][: 2 if table else 1]]
    model, name = table or PeasConfig, keys[-1]
    where = f"key '{'.'.join(keys)}'"
    if name not in model.model_fields:
        return f"{where}: {_unknown(name, model)}"
    if error["type"] == "value_error":
        return f"{where}: {error['ctx']['error']}"
    value: Any = told
    for key in keys:
        value = value[key]
    return f"{where}: {repr(value)[:60]} is not {model.model_fields[name].description}; correct it"


def _unknown(name: str, model: type[_Keys]) -> str:
    """Say what was meant by a key that is not known."""
    homes: dict[str, type[_Keys]] = {"": PeasConfig, **_TABLES}
    for table, other in homes.items():
        if other is not model and name in other.model_fields:
            return f"belongs into [{table}]" if table else "belongs above all tables"
    known = list(model.model_fields)
    # Options are shorter than keys: --memory is far from memory_per_core, and yet the same.
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(known)}"
    return f"is not known; {hint}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
