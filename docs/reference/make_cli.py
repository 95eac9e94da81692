"""Write ``cli.md`` from the commands themselves: ``python docs/reference/make_cli.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from sojourn.cli import app

PAGE = Path(__file__).with_name("cli.md")

_HEAD = """\
# Command line

<!-- Written by docs/reference/make_cli.py; change the help texts, then run it. -->

`sojourn VERB ...`; `sojourn VERB --help` shows what is on this page. Exit codes: 0 done, 1 the run
failed, 2 wrong input or usage, 130 interrupted. What went wrong is one line on standard error;
standard output has results only, and with `--json` JSON alone.

Environment: `SOJOURN_CACHE_DIR` is where compiled code is kept (default: `sojourn` in the user's
cache folder, or among the temporary files if that cannot be written); `SOJOURN_DATA` is the
default of `reproduce --data`; `SOJOURN_LARGEST_LOG` is how large a log may be when it is unpacked,
in GiB (default: 2); `SOJOURN_TRACEBACK=1` shows where an unforeseen error came from.
"""


def verbs() -> Iterator[tuple[str, Any]]:
    """Yield every command with its full name."""

    def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        inner = getattr(command, "commands", None)
        if not inner:
            yield name, command
            return
        for key, value in inner.items():
            yield from walk(f"{name} {key}", value)

    yield from walk("sojourn", typer.main.get_command(app))


def flags(option: Any) -> str:
    """Return an option as it is typed."""
    names = [*option.opts, *option.secondary_opts]
    return " / ".join(f"`{name}`" for name in names)


def _default(option: Any) -> str:
    value = option.default
    if option.required:
        return "*needed*"
    if option.is_flag:
        return "on" if value else ""
    return f"`{value}`" if isinstance(value, str | int | float | Path) else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _describe(name: str, command: Any) -> str:
    paragraphs = [" ".join(part.split()) for part in command.help.split("\n\n")]
    example = next(p for p in paragraphs if p.startswith("Example:"))
    told = [p for p in paragraphs if p is not example]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    names = " ".join(a.metavar or a.name.upper() for a in arguments)
    lines = [f"## {name}", "", f"```\n{name} {names} [OPTIONS]\n```".replace("  ", " "), ""]
    lines += ["\n\n".join(told), "", f"Example: `{example.removeprefix('Example:').strip()}`", ""]
    if arguments:
        lines += ["| argument | |", "|---|---|"]
        lines += [f"| `{a.metavar or a.name}` | {_cell(a.help)} |" for a in arguments] + [""]
    lines += ["| option | value | default | |", "|---|---|---|---|"]
    for option in options:
        value = f"`{_cell(option.metavar)}`" if option.metavar else ""
        lines.append(f"| {flags(option)} | {value} | {_default(option)} | {_cell(option.help)} |")
    return "\n".join(lines) + "\n"


def text() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *(_describe(name, command) for name, command in verbs())])


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
