"""Write the tables of ``scenario.md`` from the keys: ``python docs/reference/make_scenario.py``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sojourn.run.keys import OF_LOGS, OF_MODELS, Described, described, with_names

PAGE = Path(__file__).with_name("scenario.md")

_TABLE = re.compile(r"(<!-- keys: ([a-z. ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_LOGS = ("log", *OF_LOGS)
_MODELS = ("model", *(name for names in OF_MODELS.values() for name in names))


def _keys(which: str) -> Iterator[Described]:
    """Keys of a table, or of one kind of workload."""
    table, _, kind = which.partition(" ")
    for each in described().values():
        *above, name = each.path
        of_kind = {"logs": name in _LOGS, "models": name in _MODELS}
        wanted = of_kind.get(kind, not kind or not any(of_kind.values()))
        if ".".join(above) == table and wanted:
            yield each


def _default(value: Any) -> str:
    if value is None or not isinstance(value, str | bool | int | float):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"{value:g}"


def option(each: Described) -> str:
    """Return the option that sets a key, of two forms the one that changes something."""
    forms = each.flag.split("/")
    return forms[-1] if each.default is True else forms[0]


def _row(each: Described) -> str:
    told = with_names(each.key.what, lambda key: f"`{key}`").replace("|", "\\|")
    told = f"{told} *{each.key.value}*".replace("|", "\\|").replace("\\\\|", "\\|")
    shown = f"`{option(each)}`" if option(each) else ""
    return f"| `{each.path[-1]}` | {told} | {_default(each.default)} | {shown} |"


def text() -> str:
    """Return the page with the tables as they should be."""

    def table(found: re.Match[str]) -> str:
        rows = "\n".join(map(_row, _keys(found[2])))
        return f"{found[1]}| key | | default | option |\n|---|---|---|---|\n{rows}\n{found[3]}"

    return _TABLE.sub(table, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
