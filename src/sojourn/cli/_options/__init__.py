"""Options that several verbs share, and what they are turned into.

- `log`, `running`, `policy`: what is simulated, and how
- `counted`, `nodes`, `cost`: what it runs on
- `results`: what becomes of it; `text`: values as they are typed
"""

from __future__ import annotations

from .cost import CostOptions
from .counted import CountedOptions, Procs
from .log import (
    Columns,
    Log,
    LogFormat,
    LogOptions,
    Rules,
    Strict,
    Width,
    chosen_rules,
    read_jobs,
)
from .nodes import ClusterName, NodeOptions, Placement
from .policy import PolicyFile, PolicyName, chosen_policies, chosen_policy
from .results import AsJson, Results
from .running import Estimates, OverLimit, RunOptions
from .text import number_or_text, pairs, seconds

__all__ = [
    "AsJson",
    "ClusterName",
    "Columns",
    "CostOptions",
    "CountedOptions",
    "Estimates",
    "Log",
    "LogFormat",
    "LogOptions",
    "NodeOptions",
    "OverLimit",
    "Placement",
    "PolicyFile",
    "PolicyName",
    "Procs",
    "Results",
    "Rules",
    "RunOptions",
    "Strict",
    "Width",
    "chosen_policies",
    "chosen_policy",
    "chosen_rules",
    "number_or_text",
    "pairs",
    "read_jobs",
    "seconds",
]
