"""Results as text for people: units, thousands, the best marked.

- `layout`: how tables and numbers look
- `cleaning`, `facts`: what became of a log, and what it holds
- `summary`, `events`: a run; `comparison`: several; `recorded`: what the log knows beside them
- `classes`: jobs by user, partition and so on
"""

from __future__ import annotations

from .classes import show_classes, show_compared_classes
from .cleaning import show_report
from .comparison import show_comparison
from .facts import show_facts
from .layout import as_number, as_seconds, facts_table, new_console, new_table, print_whole
from .recorded import show_not_acted_on, show_recorded
from .summary import show_peas, show_summary

__all__ = [
    "as_number",
    "as_seconds",
    "facts_table",
    "new_console",
    "new_table",
    "print_whole",
    "show_classes",
    "show_compared_classes",
    "show_comparison",
    "show_facts",
    "show_not_acted_on",
    "show_peas",
    "show_recorded",
    "show_report",
    "show_summary",
]
