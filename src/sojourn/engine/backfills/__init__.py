"""The backfilling rules: a file each, which is found by being there.

The name of a rule is that of its file, and the first line of the file says what it does. What it
holds, `BACKFILL`, is read when a run needs it: it is compiled code, and names must be had without.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["BACKFILLS", "Backfill", "load_backfill"]

OWN_PASS = -1


@dataclass(frozen=True)
class Backfill:
    """Who may start out of order, and by which pass.

    Parameters
    ----------
    discipline : the class of its tables, registered with its pass (`passes.discipline`).
    code : `s.backfill`, where several rules share a pass.
    indexed : the class that serves fixed orders over a queue index, if there is one.
    several : the rule with more than one reservation, if it can have them.
    own_order : whether backfilling may go by an order of its own.
    plans : whether it looks at the planned ends of running jobs in fixed orders too.
    plans_ahead : whether it plans starts of waiting jobs.
    keeps_promises : whether it relies on starts that were promised in earlier passes.
    preempts : whether running jobs may be stopped.
    fixed_order : whether its order must not depend on the time.
    orders : the orders that it takes; empty for all.
    """

    discipline: Any
    code: int = OWN_PASS
    indexed: Any = None
    several: Backfill | None = None
    own_order: bool = False
    plans: bool = False
    plans_ahead: bool = False
    keeps_promises: bool = False
    preempts: bool = False
    fixed_order: bool = False
    orders: tuple[str, ...] = ()


def _says(path: Path) -> str:
    """What a file says first, as a part of a sentence."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = text.partition("\n")[0].removesuffix(".")
    return first[:1].lower() + first[1:]


BACKFILLS = {
    path.stem.replace("_", "-"): _says(path)
    for path in sorted(Path(__file__).parent.glob("[!_]*.py"))
}
"""What may start out of order, by name."""


@cache
def load_backfill(name: str) -> Backfill:
    """Return the rule of a name in `BACKFILLS`."""
    module = import_module(f".{name.replace('-', '_')}", __name__)
    rule: Backfill = module.BACKFILL
    return rule
