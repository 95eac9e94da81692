"""Who runs when, and how fast: each policy a small formula.

- `orders`: the named orders of the queue; `score`: `@score`, for one's own
- `policy`: `Policy`, an order with a backfilling rule, and how it is written as text
- `control`: service-rate controls
"""

from .control import (
    Control,
    constant,
    control,
    count_hysteresis,
    parse_control,
    randomized,
    threshold,
    workload_hysteresis,
)
from .orders import ORDERS
from .policy import BACKFILLS, POLICIES, Policy, load_score, parse_policy
from .score import Score, score

__all__ = [
    "BACKFILLS",
    "ORDERS",
    "POLICIES",
    "Control",
    "Policy",
    "Score",
    "constant",
    "control",
    "count_hysteresis",
    "load_score",
    "parse_control",
    "parse_policy",
    "randomized",
    "score",
    "threshold",
    "workload_hysteresis",
]
