"""Options of ``sojourn simulate`` and the keys that say the same.

By this table a command is saved as a scenario, and a key with the name of an option is understood.
"""

from __future__ import annotations

__all__ = ["OPTIONS"]

OPTIONS: dict[str, tuple[str, ...]] = {
    "log": ("workload", "log"),
    "log_format": ("workload", "format"),
    "columns": ("workload", "columns"),
    "delimiter": ("workload", "delimiter"),
    "timezone": ("workload", "timezone"),
    "wait_from": ("workload", "wait_from"),
    "partition_column": ("workload", "partition_column"),
    "width": ("workload", "width"),
    "first": ("workload", "first"),
    "strict": ("workload", "strict"),
    "keep_zero": ("workload", "keep_zero"),
    "rules": ("workload", "rules"),
    "events": ("workload", "events"),
    "warmup": ("workload", "warmup"),
    "procs": ("cluster", "procs"),
    "cluster": ("cluster", "nodes"),
    "where": ("cluster", "where"),
    "processor": ("cluster", "processor"),
    "keep_noncompliant": ("cluster", "keep_noncompliant"),
    "policy": ("policy", "name"),
    "policy_file": ("policy", "order"),
    "placement": ("policy", "placement"),
    "estimates": ("policy", "estimates"),
    "over_limit": ("policy", "over_limit"),
    "passes": ("policy", "passes"),
    "foresight": ("policy", "foresight"),
    "node_failure": ("policy", "node_failure"),
    "memory": ("policy", "constraints", "memory_per_core"),
    "memory_per_node": ("policy", "constraints", "memory_per_node"),
    "whole_nodes": ("policy", "constraints", "whole_node"),
    "feature": ("policy", "constraints", "feature"),
    "power_budget": ("policy", "constraints", "power_budget"),
    "reference_rate": ("control", "reference_rate"),
    "watts_busy": ("power", "busy"),
    "watts_idle": ("power", "idle"),
    "watts": ("power", "levels"),
    "price": ("power", "price"),
    "carbon": ("power", "carbon"),
    "starts": ("power", "starts"),
    "seed": ("run", "seed"),
    "trajectory": ("run", "trajectory"),
    "format": ("run", "format"),
    "by": ("run", "by"),
    "plots": ("run", "plots"),
    "debug": ("run", "decisions"),
}
"""The key of each option, in the order of a file; the rate is several keys, see `saving`."""
