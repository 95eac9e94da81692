"""The keys of a scenario about nodes that fail, what jobs save, and windows of maintenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from ...errors import OptionError, did_you_mean
from ...files.access import is_no_file
from ...jobs.models.failures import REPAIRS, Failures
from ...policy.checkpoints import RULES, Checkpoint
from ..build.maintenance import Maintenance
from .describing import (
    A_COUNT,
    A_NUMBER,
    TIME,
    TRUE,
    Count,
    File,
    Key,
    Keys,
    Positive,
    alternatives,
)

_Made = TypeVar("_Made")

_LONG = "a number of seconds above 0, or a text such as '5 y'"
_LENGTH = "a number of seconds, 0 or more, or a text such as '2 min'"
_Long = Annotated[float, Field(gt=0, allow_inf_nan=False), TIME]
_Length = Annotated[float, Field(ge=0, allow_inf_nan=False), TIME]
_YES = {"yes": True, "true": True, "no": False, "false": False}


class FailureKeys(Keys):
    """Nodes that fail: how often and for how long, or as a log has it."""

    mtbf: Annotated[_Long | None, Key("Mean time between failures of a node.", _LONG)] = None
    repair: Annotated[_Long, Key("Mean time to repair.", _LONG)] = 86400.0
    shape: Annotated[
        Positive,
        Key(
            "Shape of the Weibull distribution of times between failures; 1: exponential.", A_NUMBER
        ),
    ] = 1.0
    repairs: Annotated[
        Literal["exponential", "constant", "lognormal"],
        Key("Distribution of times to repair.", alternatives(REPAIRS)),
    ] = "exponential"
    spread: Annotated[
        Positive, Key("Of a lognormal repair, the standard deviation of its logarithm.", A_NUMBER)
    ] = 1.0
    rack: Annotated[
        float,
        Field(ge=0, le=1),
        Key("Probability that a failure takes the whole rack with it.", "a number from 0 to 1"),
    ] = 0.0
    per_rack: Annotated[
        Count | None,
        Key("Nodes of a rack, in the order of the cluster; default: its racks.", A_COUNT),
    ] = None
    level: Annotated[
        Count,
        Key(
            "Which of the cluster's racks: 1, the innermost of a node; 2, what holds that; and so "
            "on.",
            A_COUNT,
        ),
    ] = 1
    procs: Annotated[
        Count,
        Key(
            "Processors that fail together, where they are only counted: those of a node.", A_COUNT
        ),
    ] = 1
    seed: Annotated[
        int | None,
        Field(ge=0),
        Key("Of the failures alone; default: that of the run.", "a whole number, 0 or more"),
    ] = None
    log: Annotated[
        File | None,
        Key("Table of recorded failures: node, down, up; in place of the others.", "a file"),
    ] = None


class CheckpointKeys(Keys):
    """Checkpoints, from which jobs go on after a failure."""

    every: Annotated[
        Literal["daly", "young"] | _Long | None,
        Key(
            "Work between two dumps; daly and young: by the failures, and the nodes of the job.",
            f"{alternatives(RULES)}, a number of seconds above 0, or a text such as '1 h'",
        ),
    ] = None
    dump: Annotated[_Length, Key("Time that a dump takes.", _LENGTH)] = 60.0
    restore: Annotated[_Length, Key("Time that a job takes to come back.", _LENGTH)] = 60.0
    at_end: Annotated[
        bool, Key("Dump at the very end too, where the work is a multiple of the interval.", TRUE)
    ] = False


class MaintenanceKeys(Keys):
    """Windows in which processors or nodes are kept free, again and again."""

    every: Annotated[
        _Long | None, Key("From one window to the next; default: there is one.", _LONG)
    ] = None
    first: Annotated[
        _Length, Key("Begin of the first window, since the first submit.", _LENGTH)
    ] = 0.0
    length: Annotated[_Long | None, Key("Of a window.", _LONG)] = None
    announced: Annotated[
        _Length | None,
        Key("How long ahead each is known; default: from the beginning.", _LENGTH),
    ] = None
    count: Annotated[
        Count | None, Key("How many windows; default: to the last submit.", A_COUNT)
    ] = None
    nodes: Annotated[
        str | None,
        Key(
            "Names of nodes or racks, or patterns, separated by spaces; default: all.",
            "a text such as 'r1-*'",
        ),
    ] = None
    procs: Annotated[
        Count | None, Key("Processors, where they are only counted; default: all.", A_COUNT)
    ] = None


def make_failures(keys: FailureKeys) -> Failures | None:
    """Return what the keys describe; None where nothing fails."""
    if keys.mtbf is None and keys.log is None:
        return None
    if "rack" not in keys.model_fields_set:
        for name in ("per_rack", "level"):
            if name in keys.model_fields_set:
                raise OptionError(
                    f"failures: {name} alone takes no rack down; give rack, a probability",
                    key=f"failures.{name}",
                )
    return Failures(**keys.model_dump())


def make_checkpoint(keys: CheckpointKeys) -> Checkpoint | None:
    """Return what the keys describe; None where jobs save nothing."""
    if keys.every is None:
        return None
    if not isinstance(keys.every, str) and keys.dump > keys.every:
        raise OptionError(
            f"checkpoint: a dump takes {keys.dump:g} s, longer than the {keys.every:g} s of work "
            "between two; give a longer time between, or a shorter dump",
            key="checkpoint.dump",
        )
    return Checkpoint(**keys.model_dump())


def make_maintenance(keys: MaintenanceKeys) -> Maintenance | None:
    """Return what the keys describe; None where there is none."""
    return None if keys.length is None else Maintenance(**keys.model_dump())


def typed_failures(text: str) -> dict[str, Any]:
    """Return the keys of ``mtbf=5y,repair=1d``, or of the file of a log."""
    if "=" not in text:
        if is_no_file(text):
            raise ValueError(
                f"'{text[:40]}' is neither KEY=VALUE,KEY=VALUE, such as mtbf=5y,repair=1d, nor a "
                "file; give one"
            )
        return {"log": text}
    return _pairs(text, FailureKeys)


def typed_checkpoint(text: str) -> dict[str, Any]:
    """Return the keys of ``daly``, ``3600`` or ``every=1h,dump=60``."""
    if "=" not in text:
        return {"every": _value(text)}
    return _pairs(text, CheckpointKeys)


def typed_maintenance(text: str) -> dict[str, Any]:
    """Return the keys of ``every=4w,first=2d,length=8h``."""
    return _pairs(text, MaintenanceKeys)


def given_failures(given: Any) -> Failures:
    """Return failures from Python: as they are, as they are typed, or as keys."""
    return _from_python("failures", given, Failures, FailureKeys, typed_failures, make_failures)


def given_checkpoint(given: Any) -> Checkpoint:
    """Return checkpoints from Python: as they are, as they are typed, or as keys."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = {"every": float(given)}
    return _from_python(
        "checkpoint", given, Checkpoint, CheckpointKeys, typed_checkpoint, make_checkpoint
    )


def given_maintenance(given: Any) -> Maintenance:
    """Return windows from Python: as they are, as they are typed, or as keys."""
    return _from_python(
        "maintenance", given, Maintenance, MaintenanceKeys, typed_maintenance, make_maintenance
    )


def _value(text: str) -> Any:
    """A word as the number, or the yes or no, that it is."""
    word = text.strip()
    if word.lower() in _YES:
        return _YES[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _pairs(text: str, keys: type[Keys]) -> dict[str, Any]:
    """``a=b,c=d`` as a dictionary of keys."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise ValueError(f"'{text}': write KEY=VALUE,KEY=VALUE")
        if name not in keys.model_fields:
            near = did_you_mean(name, keys.model_fields)
            raise ValueError(
                f"'{text}': no key is called '{name}'"
                f"{near or '; choose from ' + ', '.join(keys.model_fields)}"
            )
        if name in values:
            raise ValueError(f"'{text}': {name} is given twice; leave one out")
        values[name] = value if name in ("nodes", "log") else _value(value)
    return values


def _from_python(
    name: str,
    given: Any,
    kind: type[_Made],
    keys: type[Keys],
    typed: Callable[[str], dict[str, Any]],
    make: Callable[[Any], _Made | None],
) -> _Made:
    if isinstance(given, kind):
        return given
    if not isinstance(given, str | Mapping):
        raise OptionError(f"{name} {given!r}: give a text, a table of keys or a {kind.__name__}")
    try:
        table = typed(given) if isinstance(given, str) else dict(given)
    except ValueError as error:
        raise OptionError(f"{name} {error}") from None
    try:
        made = make(keys.model_validate(table))
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0])
        field = keys.model_fields.get(key)
        about = (
            next((item for item in field.metadata if isinstance(item, Key)), None)
            if field
            else None
        )
        if about is None:
            known = ", ".join(keys.model_fields)
            raise OptionError(f"{name}: no key is called '{key}'; choose from {known}") from None
        wanted = about.value
        if problem["type"] == "value_error":
            wanted = str(problem["ctx"]["error"])
            raise OptionError(f"{name}: {key}: {wanted}") from None
        raise OptionError(f"{name}: {key} = {table[key]!r} is not {wanted}") from None
    if made is None:
        needed = {"failures": "mtbf or log", "checkpoint": "every", "maintenance": "length"}[name]
        raise OptionError(f"{name}: give {needed}")
    return made
