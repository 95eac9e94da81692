"""Is the machine big enough? Theory and simulation, side by side.

- `saturation`: how many jobs a machine can take, by working off a `backlog`
- `demand`: what a log asks for
- `stable`: whether a machine keeps up with a log, and the smallest that does
- `planning`: how many processors keep waits within a target; `targets`, `search` and `weeks`: what
  a target is, the sizes that are tried, and how it holds week by week
- `limits`: how many jobs finish within their time limits
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .backlog import Backlog, Saturation
    from .demand import Demand, demand_of
    from .limits import TimeLimits, time_limits
    from .planning import Plan, grown, plan
    from .saturation import log_backlog, saturated_throughput
    from .search import Size, expected_waits
    from .stable import Bound, Stability, least_processors, stability
    from .targets import Target, parse_target
    from .weeks import Week

_HOME = {
    "backlog": ["Backlog", "Saturation"],
    "demand": ["Demand", "demand_of"],
    "limits": ["TimeLimits", "time_limits"],
    "planning": ["Plan", "grown", "plan"],
    "saturation": ["log_backlog", "saturated_throughput"],
    "search": ["Size", "expected_waits"],
    "stable": ["Bound", "Stability", "least_processors", "stability"],
    "targets": ["Target", "parse_target"],
    "weeks": ["Week"],
}

__all__ = [
    "Backlog",
    "Bound",
    "Demand",
    "Plan",
    "Saturation",
    "Size",
    "Stability",
    "Target",
    "TimeLimits",
    "Week",
    "demand_of",
    "expected_waits",
    "grown",
    "least_processors",
    "log_backlog",
    "parse_target",
    "plan",
    "saturated_throughput",
    "stability",
    "time_limits",
]

__getattr__ = attach(__name__, _HOME)
