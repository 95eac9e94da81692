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
from .failures import (
    CheckpointKeys,
    FailureKeys,
    MaintenanceKeys,
    given_checkpoint,
    given_failures,
    given_maintenance,
    typed_checkpoint,
    typed_failures,
    typed_maintenance,
)
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
    "CheckpointKeys",
    "ClusterKeys",
    "ConstraintKeys",
    "ControlKeys",
    "DeferKeys",
    "Described",
    "FailureKeys",
    "Key",
    "Keys",
    "Keyword",
    "LevelKeys",
    "MaintenanceKeys",
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

_FAILURES = "Failures"

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
                help=f"Service rate: {examples_of_controls()}. Of some nodes: gpu=0.8,cpu=0.9. "
                "Default: always 1.",
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
    failures: Annotated[
        FailureKeys,
        Key(
            "How nodes fail.",
            "a table",
            Option(
                _FAILURES,
                "SPEC|FILE",
                "--failures",
                str,
                typed_failures,
                None,
                help="Failures of nodes: mtbf=5y,repair=1d[,shape=0.7][,rack=0.1[,per_rack=16]]"
                "[,procs=16][,seed=1], or a table with the columns node, down, up.",
            ),
            Keyword(
                default=None,
                what="How nodes fail: a text such as ``mtbf=5y,repair=1d``, the table of a "
                "scenario, the file of a log of failures, or `sojourn.jobs.Failures`.",
                read=given_failures,
            ),
        ),
    ] = FailureKeys()
    checkpoint: Annotated[
        CheckpointKeys,
        Key(
            "What jobs save, to go on from there after a failure.",
            "a table",
            Option(
                _FAILURES,
                "SPEC",
                "--checkpoint",
                str,
                typed_checkpoint,
                None,
                help="Checkpoints, from which jobs go on after a failure: daly, 3600, or "
                "every=1h,dump=60,restore=120; a dump and a restore take 60 s if nothing is said.",
            ),
            Keyword(
                default=None,
                what="Checkpoints, from which jobs go on after a failure: ``daly``, seconds of "
                "work between dumps, a text such as ``every=1h,dump=60,restore=120``, the table of "
                "a scenario, or `sojourn.policy.Checkpoint`.",
                read=given_checkpoint,
            ),
        ),
    ] = CheckpointKeys()
    maintenance: Annotated[
        MaintenanceKeys,
        Key(
            "Windows of maintenance.",
            "a table",
            Option(
                _FAILURES,
                "SPEC",
                "--maintenance",
                str,
                typed_maintenance,
                None,
                help="Windows in which the machine is kept free: "
                "every=4w,first=2d,length=8h[,announced=1w][,count=3][,nodes=r1-*].",
            ),
            Keyword(
                default=None,
                what="Windows of maintenance: a text such as ``every=4w,first=2d,length=8h``, or "
                "the table of a scenario.",
                read=given_maintenance,
            ),
        ),
    ] = MaintenanceKeys()
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
