"""Measures of a run: how they are computed, and what tables and pages say of them.

- `formulas`: arrays in, numbers out; their names are found here too
- `catalogue`: the measures of every run, with label, unit, better end and bounds
- `registry`: all measures, those of users too; light to import
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # NumPy is loaded with the formulas, which not everybody needs who needs the registry.
    formulas = import_module(f"{__name__}.formulas")
    if name not in formulas.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(formulas, name)
