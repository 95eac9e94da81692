"""The report to hand over: one file that opens in any browser, with nothing from the network.

- `writing`: from a folder to the file
- `subjects`, `folder`: runs, comparisons and studies, and how they are on disk
- `sections`, `tables`, `parts`: which numbers, tables and charts a page has, and in which order
- `aggregate`, `points`, `collect`, `fairness`: what is computed for them
- `timeline`, `charts`: what is drawn, as plain data for Plotly
- `words`, `answers`, `methods`, `provenance`: what is said
- `pack`: arrays in a page
- ``templates``: the page itself, its style and its scripts
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
