"""The energy bill: what each job used, what idle processors used, and the power over time.

- `nodes`: nodes with names, which jobs may share; `counted`: equal servers, only counted
- `peas`: the energy of jobs as a paper counts it
"""

from __future__ import annotations

from .counted import counted_steps, most_busy
from .nodes import Bill, bill_nodes, switched_off, watts_by_busy
from .peas import peas_energy

__all__ = [
    "Bill",
    "bill_nodes",
    "counted_steps",
    "most_busy",
    "peas_energy",
    "switched_off",
    "watts_by_busy",
]
