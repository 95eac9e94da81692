"""The report to hand over: one file that opens in any browser, with nothing from the network.

- `writing`: from a folder to the file
- `subjects`, `folder`: runs, comparisons and studies, and how they are on disk
- `sections`, `tables`, `parts`: which numbers, tables and charts a page has, and in which order
- `aggregate`, `classes`, `points`, `collect`, `spread`: what is computed for them
- `timeline`, `charts`: what is drawn, as plain data for Plotly
- `words`, `answers`, `methods`, `provenance`: what is said
- `pack`: arrays in a page
- ``templates``: the page itself, its style and its scripts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .writing import make_report, write_report

__all__ = ["make_report", "write_report"]

__getattr__ = attach(__name__, {"writing": __all__})
