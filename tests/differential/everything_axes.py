"""The axes of the covering array: what each value means to sojourn and to the oracle."""

from __future__ import annotations

import math
from typing import Any

from oracle import orders

from sojourn.policy import Policy

from .cast import aging, aging_exactly
from .named_harness import CHOICES
from .pairwise import Row

ORDERS: dict[str, tuple[Any, Any]] = {
    "fcfs": ("fcfs", orders.fcfs),
    "sjf": ("sjf", orders.sjf),
    "ljf": ("ljf", orders.ljf),
    "lcfs": ("lcfs", orders.lcfs),
    "wfp3": ("wfp3", orders.wfp3),
    "own": (aging, aging_exactly),
}
BACKFILLS: dict[str, tuple[str, float, str]] = {
    "none": ("none", 1, "none"),
    "first-fit": ("first-fit", 1, "first-fit"),
    "easy": ("easy", 1, "easy"),
    "easy:2": ("easy", 2, "easy"),
    "easy:inf": ("easy", math.inf, "easy"),
    "conservative": ("conservative", 1, "conservative"),
    "preempt": ("preempt", 1, "preempt"),
    "spf": ("remaining", 1, "shortest-remaining"),
    "lpf": ("remaining", 1, "longest-remaining"),
}
# Jobs of the oracle's kinds of machine; what "nodes" may ask for is given as `Constraints`, what
# "resources" and "partitions" may as columns of the table of jobs.
MACHINES = {
    "counted": "counted",
    "plain nodes": "plain",
    "nodes": "constrained",
    "resources": "vectors",
    "partitions": "partitions",
}
EVENTS = {
    "none": "none",
    "down": "down",
    "cancel": "withdraw",
    "reserve": "reserve",
    "all": "any",
}
PLACEMENTS = {choice.name: choice for choice in CHOICES}
AXES: dict[str, tuple[str, ...]] = {
    "placement": tuple(PLACEMENTS),
    "backfill": tuple(BACKFILLS),
    "order": tuple(ORDERS),
    "machine": tuple(MACHINES),
    "events": tuple(EVENTS),
    "control": ("1", "2", "switching"),
    "passes": ("instant", "event"),
    "foresight": ("nodes", "log"),
    "log": ("kept", "not kept"),
    "queues": ("none", "priority", "round-robin", "weights"),
    "stepping": ("no", "yes"),
    "sleep": ("never", "idle", "keep"),
    "checkpoints": ("no", "yes"),
    "cap": ("none", "constant", "steps", "sets"),
}
BY_HAND = ("none", "first-fit")
"""Disciplines that are a rule of whom to start, which a Python function can follow."""


def policy_of(row: Row) -> Policy:
    """The policy of a row; an error of sojourn where there is none."""
    backfill, reservations, _ = BACKFILLS[row["backfill"]]
    second = row.get("backfill order")
    return Policy(ORDERS[row["order"]][0], backfill, reservations, second)
