"""Options of the command line, made from the keys of a scenario.

A verb says which keys it takes and is handed the scenario that they make. Keys take long to load,
so that the options of a verb are made when it is called, or its help is asked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
import typer.core
import typer.main

from ..errors import OptionError
from . import _completion

if TYPE_CHECKING:
    from ..run.keys import Described
    from ..run.scenario import Scenario


def option(
    metavar: str, help: str, panel: str | None = None, *, flag: str = "", **more: Any
) -> Any:
    """Return an option of a verb, as Typer has it, which is typed with a value.

    Parameters
    ----------
    metavar : what stands for its value in the help.
    help, panel : of the help.
    flag : as it is typed; default: from the name of the parameter.
    more : further arguments of `typer.Option`.
    """
    flags = [flag] if flag else []
    return typer.Option(*flags, metavar=metavar, help=help, rich_help_panel=panel, **more)


AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON alone on standard output, nothing else.")
]

RunFolder = Annotated[
    Path | None,
    option("DIR", "Folder for the results; a run that is there is replaced.", "Results"),
]

READING = "how a log is read"
"""Stands for all options about that."""

CLEANING = "which jobs of a log are kept"
"""Stands for all options about that."""

_PANELS = ("Machine", "Scheduling", "Nodes", "Cost", "Jobs", "Results")


@dataclass(frozen=True)
class Chosen:
    """What was typed.

    Parameters
    ----------
    given : the keys that were given, as a scenario file has them; those with None were taken back.
    options : every option by name, for the provenance.
    """

    given: Mapping[str, Any]
    options: Mapping[str, Any]

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that the options make."""
        return self.over({})

    def over(self, given: Mapping[str, Any]) -> Scenario:
        """Return the scenario that the options make of another one, in which they win."""
        from ..run.command import TYPED, merged
        from ..run.scenario import Scenario

        return Scenario.from_mapping(merged(given, self.given), source=TYPED)

    def options_over(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options, with what other keys say where nothing was typed."""
        from ..run.keys import described_by_flag

        options = dict(self.options)
        for name in options:
            path = described_by_flag()[name].path
            if _value_at(self.given, path) is None and _value_at(given, path) is not None:
                options[name] = _value_at(given, path)
        return options


def _value_at(given: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    for step in path:
        given = given.get(step) if isinstance(given, Mapping) else None  # type: ignore[assignment]
    return given


_Verb = Callable[..., None]


def takes(*names: str, without: Iterable[str] = (), **changed: Any) -> Callable[[_Verb], _Verb]:
    """Let a verb take options that are keys of a scenario; it gets them as a `Chosen`.

    Parameters
    ----------
    names : of the options, such as ``policy_file``, `READING`, `CLEANING`; none: all there are.
    without : these.
    changed : other forms of some: a `typer.Option` or `typer.Argument`.
    """

    def decorate(verb: _Verb) -> _Verb:
        verb.__dict__["takes"] = lambda: _with_options(verb, names, set(without), changed)
        return verb

    return decorate


class _Help:
    """A command in whose help options that take no value show none."""

    def get_params(self, ctx: Any) -> Any:
        parameters = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


_ONCE = ("--sleep", "--failures", "--maintenance", "--events", "--price", "--carbon", "--defer")
"""Options that people may take to add up; of others the last one counts."""


class Command(_Help, typer.core.TyperCommand):
    """A verb."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse options that describe a part of the run twice: the first would be lost."""
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            seen: set[str] = set()
            for parameter in order:
                name = parameter.name or ""
                if name in seen and parameter.opts[0] in _ONCE:
                    raise OptionError(f"{parameter.opts[0]}: is given twice; leave one out")
                seen.add(name)
        return super().parse_args(ctx, args)


class VerbGroup(_Help, typer.core.TyperGroup):
    """Several verbs behind one word."""


def add_verb(app: typer.Typer, verb: _Verb) -> None:
    """Add a verb, or a group of them, to the command line.

    Options that are keys of a scenario (`takes`) are made when they are needed.
    """
    if isinstance(verb, typer.Typer):
        app.add_typer(verb)
        return
    if "takes" not in verb.__dict__:
        app.command(cls=Command)(verb)
        return

    class Verb(Command):
        """The command, which is made behind what the list of all commands shows of it."""

        @cached_property
        def _made(self) -> Any:
            inner = typer.Typer(add_completion=False)
            inner.command(name=verb.__name__)(verb.__dict__["takes"]())
            return typer.main.get_command(inner)

        @property
        def params(self) -> Any:
            return self._made.params

        @params.setter
        def params(self, value: Any) -> None: ...

        @property
        def callback(self) -> Any:
            return self._made.callback

        @callback.setter
        def callback(self, value: Any) -> None: ...

    def shown() -> None: ...

    shown.__doc__ = verb.__doc__
    app.command(name=verb.__name__, cls=Verb)(shown)


def _with_options(
    verb: _Verb, names: tuple[str, ...], without: set[str], changed: dict[str, Any]
) -> _Verb:
    """A function that has every option as a parameter, as Typer wants it."""
    from ..run.command import keys_of
    from ..run.keys import described_by_flag

    keys = {
        name: key
        for name, key in described_by_flag().items()
        if (name in names or _group(key) in names or not names) and name not in without
    }
    made = [
        _parameter(name, key, changed.get(name))
        for name, key in sorted(keys.items(), key=lambda item: _place(item[1], changed))
    ]
    hints = get_type_hints(verb, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(verb).parameters.items()
        if name != "chosen"
    ]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @functools.wraps(verb)
    def command(context: typer.Context, **given: Any) -> None:
        typed = {name: given.pop(name) for name in keys}
        # What was not typed is left to the scenario, be it the same.
        said = {name: value for name, value in typed.items() if _is_typed(context, name)}
        verb(chosen=Chosen(keys_of(said), typed), **given)

    parameters = sorted([context, *made, *own], key=_is_option)
    command.__dict__["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {made.name: made.annotation for made in parameters}
    del command.__dict__["__wrapped__"]
    return command


def _group(key: Described) -> str:
    """What an option about a log is about."""
    from ..run.keys import CLEANED_BY

    option = key.key.option
    if option is None or option.panel != "Jobs" or not key.flag.startswith("-"):
        return ""
    return CLEANING if key.path[-1] in CLEANED_BY else READING


def _place(key: Described, changed: Mapping[str, Any]) -> int:
    """Place of a key in the help: arguments before options, and these by their panels."""
    option = key.key.option
    assert option is not None
    is_argument = isinstance(changed.get(key.option_name), typer.models.ArgumentInfo)
    if is_argument or not key.flag.startswith("-"):
        return -1
    return _PANELS.index(option.panel) if option.panel in _PANELS else len(_PANELS)


def _is_option(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is no argument: those come first."""
    return not any(
        isinstance(part, typer.models.ArgumentInfo) for part in get_args(parameter.annotation)
    )


def _is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line, be it with its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parameter(name: str, key: Described, changed: Any) -> inspect.Parameter:
    kind, form = as_option(key)
    default: Any = None if key.is_table else key.typed
    if isinstance(changed or form, typer.models.ArgumentInfo):
        default = inspect.Parameter.empty
    elif (
        changed is not None
        or default is None
        or (kind is not bool and not isinstance(default, kind))
    ):
        kind, default = kind | None, None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, changed or form],
    )


def as_option(key: Described) -> tuple[Any, Any]:
    """Return the type of what is typed for a key, and its form as Typer has it."""
    from ..run.command import TYPED
    from ..run.keys import with_names

    option = key.key.option
    assert option is not None
    help = with_names(option.help or key.key.what, TYPED.name_of)
    kind = option.kind or _kind(key.field.annotation)
    if not key.flag.startswith("-"):
        return Path, typer.Argument(metavar=key.flag, help=help)
    complete = getattr(_completion, option.complete) if option.complete else None
    # Of flags of two forms only those have both that say so.
    names = [key.flag] if kind is bool or option.flag else []
    return kind, typer.Option(
        *names,
        metavar=option.metavar,
        help=help,
        rich_help_panel=option.panel,
        autocompletion=complete,
    )


def _kind(annotation: Any) -> Any:
    """The type of a word that is typed for what a key holds."""
    kinds = {kind for kind in _plain(annotation) if kind is not type(None)}
    return next(iter(kinds)) if len(kinds) == 1 and kinds <= {bool, int, float} else str


def _plain(annotation: Any) -> Iterable[Any]:
    if hasattr(annotation, "__metadata__"):
        yield from _plain(annotation.__origin__)
    elif isinstance(annotation, type) or not get_args(annotation):
        yield annotation
    elif isinstance(get_args(annotation)[0], str):
        yield str
    else:
        for part in get_args(annotation):
            yield from _plain(part)
