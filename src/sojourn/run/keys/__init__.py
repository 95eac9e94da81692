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
from .defer import EXAMPLES, DeferKeys, read_deferral, typed_deferral
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
    "DeferKeys",
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
    defer: Annotated[
        DeferKeys,
        Key(
            "Which jobs are held for cheap or clean electricity, and how.",
            "a table",
            Option(
                "Cost",
                "KIND:SLACK",
                "--defer",
                str,
                typed_deferral,
                None,
                help=f"Hold jobs for cheap or clean electricity: {EXAMPLES}. Default: none.",
            ),
            Keyword(
                default=None,
                what=f"How jobs are held for cheap or clean electricity: {EXAMPLES}; see the table "
                "defer of a scenario.",
                read=read_deferral,
            ),
        ),
    ] = DeferKeys()
    run: Annotated[RunKeys, Key("Chance, and what is written.", "a table")] = RunKeys()


@dataclass(frozen=True)
class Described:
    """A key of a scenario, its place, and what is said of it.

    Parameters
    ----------
    path, name : its place, and that as it is typed in a file: ``cluster.procs``.
    table, field, key : where it is declared.
    default : what it holds where nothing is said.
    is_table : whether it holds further keys.
    flag, first_flag : its option, and of two forms the first; empty where it has none.
    option_name : of its option, as provenances have it.
    typed : default of its option, as it would be typed.
    keyword : name of its keyword of `sojourn.simulate`; empty where it has none.
    """

    path: tuple[str, ...]
    name: str
    table: type[BaseModel]
    field: FieldInfo
    key: Key
    default: Any
    is_table: bool
    flag: str
    first_flag: str
    option_name: str
    typed: Any
    keyword: str


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table that a key holds, or one of those in its list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(model_in, get_args(annotation))), None)


@cache
def described() -> dict[str, Described]:
    """Return every key by its dotted name, tables before their keys."""
    return {key.name: key for key in _described(ScenarioKeys, ())}


def _described(model: type[BaseModel], above: tuple[str, ...]) -> Iterator[Described]:
    for name, field in model.model_fields.items():
        key = next(item for item in field.metadata if isinstance(item, Key))
        path, table = (*above, name), model_in(field.annotation)
        option, keyword, default = key.option, key.keyword, field.default
        is_table = table is not None and not get_args(field.annotation)
        flag = "" if option is None else option.flag or "--" + name.replace("_", "-")
        first = flag.partition("/")[0]
        yield Described(
            path,
            ".".join(path),
            model,
            field,
            key,
            default,
            is_table,
            flag,
            first,
            first.lstrip("-").replace("-", "_").lower(),
            default if option is None or option.default is SAME else option.default,
            "" if keyword is None else keyword.name or name,
        )
        if is_table and table is not None:
            yield from _described(table, path)


@cache
def described_by_flag() -> dict[str, Described]:
    """Return the keys that are options, by the names that provenances have for these."""
    return {key.option_name: key for key in described().values() if key.key.option is not None}


@cache
def described_by_keyword() -> dict[str, Described]:
    """Return the keys that `sojourn.simulate` takes, by the names of its keywords."""
    return {key.keyword: key for key in described().values() if key.keyword}


@cache
def adapter(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return what checks the value of one key of a table alone."""
    field = model.model_fields[name]
    # Every key has at least its meaning as metadata.
    kind: Any = Annotated[field.annotation, *field.metadata]
    return TypeAdapter(kind, config=Keys.model_config)
