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
    Delimiter,
    Log,
    LogFormat,
    LogOptions,
    ReadOptions,
    Rules,
    Strict,
    Timezone,
    WaitFrom,
    Width,
    chosen_rules,
)
from .nodes import ClusterName, NodeOptions, Placement
from .policy import PolicyFile, PolicyName, chosen_policies, chosen_policy
from .results import AsJson, By, Results
from .running import Estimates, OverLimit, RunOptions
from .text import names, number_or_text, pairs, seconds

__all__ = [
    "AsJson",
    "By",
    "ClusterName",
    "Columns",
    "CostOptions",
    "CountedOptions",
    "Delimiter",
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
    "ReadOptions",
    "Results",
    "Rules",
    "RunOptions",
    "Strict",
    "Timezone",
    "WaitFrom",
    "Width",
    "chosen_policies",
    "chosen_policy",
    "chosen_rules",
    "names",
    "number_or_text",
    "pairs",
    "seconds",
]
