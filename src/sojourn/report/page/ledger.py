"""Where the energy of a run goes: by cause, and by node, partition, user or account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...cluster.power import states_energy
from ...measures.registry import get as measure
from ..text.classes import LEDGER
from .parts import Cell, Section, Table
from .subjects import RunFolder
from .words import percent, value_text

_ROWS = 20
_KWH = 3.6e6
_CAUSES = tuple(name for name in LEDGER if name not in ("lost_energy", "energy"))
_SPENT = ("cost", "carbon")


def section_of_energy(run: RunFolder) -> list[Section]:
    """Return the section of where the kWh go; none where no energy is stated."""
    energy = run.summary.get("energy") or {}
    if not states_energy(run.summary) or not energy.get("total_joules"):
        return []
    tables = [_by_cause(energy)]
    tables += [_ledger(by, rows) for by, rows in (run.summary.get("ledger") or {}).items()]
    return [Section("energy", "Where the energy would go", (), (), tables)]


def _by_cause(energy: Mapping[str, Any]) -> Table:
    whole = float(energy["total_joules"])
    rows: list[list[Cell]] = []
    for name in _CAUSES:
        joules = float(energy.get(name.replace("_energy", "_joules")) or 0.0)
        if joules:
            rows.append([LEDGER[name], _kwh(joules), percent(joules / whole)])
    rows.append([LEDGER["energy"], _kwh(whole), percent(1.0)])
    return Table(["", "energy", "share"], rows, "Energy of all nodes by cause")


def _ledger(by: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    causes = [name for name in LEDGER if any(row.get(name) for row in rows)]
    spent = [name for name in _SPENT if any(name in row for row in rows)]
    largest = sorted(rows, key=lambda row: -float(row.get("energy") or 0.0))
    cells: list[list[Cell]] = [
        [
            str(row.get("class")),
            *(_kwh(float(row.get(name) or 0.0)) for name in causes),
            *(_value(name, float(row.get(name) or 0.0)) for name in spent),
        ]
        for row in largest[:_ROWS]
    ]
    heads = [by, *(LEDGER[name] for name in causes)]
    heads += [measure("carbon_kg" if name == "carbon" else name).label for name in spent]
    left = len(rows) - len(cells)
    note = f"{left:,} more are not shown." if left > 0 else ""
    return Table(heads, cells, f"Energy by {by}, largest first", note)


def _kwh(joules: float) -> str:
    return value_text(measure("energy_kwh"), joules / _KWH)


def _value(name: str, value: float) -> str:
    if name == "carbon":
        return value_text(measure("carbon_kg"), value / 1000)
    return value_text(measure(name), value)
