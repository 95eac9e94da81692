"""Groups of options, as dataclasses that several verbs take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import typer

__all__ = ["flag", "flat", "grouped", "is_given"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a verb have groups of options: parameters whose type is a dataclass.

    Typer knows only parameters, so each field of a group is shown to it as one of the verb's own.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    shown: list[inspect.Parameter] = []

    def show(name: str, default: Any, annotation: Any) -> None:
        kind = inspect.Parameter.KEYWORD_ONLY
        shown.append(inspect.Parameter(name, kind, default=default, annotation=annotation))

    for name, parameter in inspect.signature(command).parameters.items():
        group = hints[name]
        if not is_dataclass(group):
            show(name, parameter.default, group)
            continue
        groups[name] = group
        inner = get_type_hints(group, include_extras=True)
        for each in fields(group):
            show(each.name, each.default, inner[each.name])

    @functools.wraps(command)
    def verb(**given: Any) -> None:
        made = {
            name: group(**{each.name: given.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **made)

    verb.__dict__["__signature__"] = inspect.Signature(shown)
    verb.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return verb


def flat(*groups: Any) -> dict[str, Any]:
    """Return all options of some groups by name."""
    return {each.name: getattr(group, each.name) for group in groups for each in fields(group)}


def flag(name: str) -> str:
    """Return an option as it is typed."""
    return "--" + name.replace("_", "-")


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line, be it with its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
