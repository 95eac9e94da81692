"""Everything there is to say of a run, each thing in one place.

A key is a field of one of these tables. Its annotation, a `Key`, says what it means and holds, how
it is typed on the command line and whether `sojourn.simulate` takes it. Options, keywords, the
JSON Schema and the pages of the reference are made from that; adding a key is adding a field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from ...policy import examples_of_controls
from . import typed
from .cluster import ClusterKeys
from .control import ControlKeys
from .describing import SAME, Key, Keys, Keyword, Option, with_names
from .policy import ConstraintKeys, PolicyKeys
from .power import LevelKeys, PowerKeys
from .results import RunKeys
from .slurm import SlurmKeys
from .workload import CLEANED_BY, OF_LOGS, OF_MODELS, WorkloadKeys

__all__ = [
    "ASIDE",
    "CLEANED_BY",
    "OF_LOGS",
    "OF_MODELS",
    "SAME",
    "ClusterKeys",
    "ConstraintKeys",
    "ControlKeys",
    "Described",
    "Key",
    "Keys",
    "Keyword",
    "LevelKeys",
    "Option",
    "PolicyKeys",
    "PowerKeys",
    "RunKeys",
    "ScenarioKeys",
    "SlurmKeys",
    "WorkloadKeys",
    "adapter",
    "described",
    "described_by_flag",
    "described_by_keyword",
    "model_in",
    "with_names",
]

ASIDE = ("title", "question", "run")
"""Keys on which no measure depends; the seed comes with each run."""


class ScenarioKeys(Keys):
    """A scenario of sojourn: a workload, a cluster, and what decides."""

    title: Annotated[str | None, Key("A few words for tables and pictures.", "a text")] = None
    question: Annotated[str | None, Key("What the study is to answer.", "a text")] = None
    workload: Annotated[WorkloadKeys, Key("What arrives.", "a table")] = WorkloadKeys()
    cluster: Annotated[ClusterKeys, Key("What jobs run on.", "a table")] = ClusterKeys()
    policy: Annotated[PolicyKeys, Key("Who starts when, and where.", "a table")] = PolicyKeys()
    slurm: Annotated[SlurmKeys, Key("Slurm as a site has it, for policy slurm.", "a table")] = (
        SlurmKeys()
    )
    control: Annotated[
        ControlKeys,
        Key(
            "How fast the servers run.",
            "a table",
            Option(
                "Machine",
                "CONTROL",
                "--rate",
                str,
                typed.control,
                None,
                help=f"Service rate: {examples_of_controls()}. Default: always 1.",
            ),
        ),
    ] = ControlKeys()
    power: Annotated[PowerKeys, Key("Watts, and what a kWh costs.", "a table")] = PowerKeys()
    run: Annotated[RunKeys, Key("Chance, and what is written.", "a table")] = RunKeys()


@dataclass(frozen=True)
class Described:
    """A key of a scenario, its place, and what is said of it."""

    path: tuple[str, ...]
    table: type[BaseModel]
    field: FieldInfo
    key: Key

    @property
    def name(self) -> str:
        """As it is typed in a file: ``cluster.procs``."""
        return ".".join(self.path)

    @property
    def flag(self) -> str:
        """As it is typed on the command line, or an empty text."""
        option = self.key.option
        if option is None:
            return ""
        return option.flag or "--" + self.path[-1].replace("_", "-")

    @property
    def first_flag(self) -> str:
        """Its option, of two forms the first."""
        return self.flag.partition("/")[0]

    @property
    def option_name(self) -> str:
        """Name of its option, as provenances have it."""
        return self.first_flag.lstrip("-").replace("-", "_").lower()

    @property
    def keyword(self) -> str:
        """Name of its keyword of `sojourn.simulate`, or an empty text."""
        keyword = self.key.keyword
        return "" if keyword is None else keyword.name or self.path[-1]

    @property
    def default(self) -> Any:
        """What it holds where nothing is said."""
        return self.field.default

    @property
    def is_table(self) -> bool:
        """Whether it holds further keys."""
        return model_in(self.field.annotation) is not None and not get_args(self.field.annotation)


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table that a key holds, or one of those in its list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(model_in, get_args(annotation))), None)


@cache
def described() -> dict[str, Described]:
    """Return every key by its dotted name, tables before their keys."""
    return {each.name: each for each in _described(ScenarioKeys, ())}


def _described(model: type[BaseModel], above: tuple[str, ...]) -> Iterator[Described]:
    for name, field in model.model_fields.items():
        key = next(each for each in field.metadata if isinstance(each, Key))
        found = Described((*above, name), model, field, key)
        yield found
        table = model_in(field.annotation)
        if found.is_table and table is not None:
            yield from _described(table, found.path)


@cache
def described_by_flag() -> dict[str, Described]:
    """Return the keys that are options, by the names that provenances have for these."""
    return {each.option_name: each for each in described().values() if each.key.option is not None}


@cache
def described_by_keyword() -> dict[str, Described]:
    """Return the keys that `sojourn.simulate` takes, by the names of its keywords."""
    return {each.keyword: each for each in described().values() if each.keyword}


@cache
def adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return what checks the value of one key of a table alone."""
    field = model.model_fields[name]
    # Every key has at least its meaning as metadata.
    kind: Any = Annotated[field.annotation, *field.metadata]
    return TypeAdapter(kind, config=Keys.model_config)
