"""Who runs when, and how fast: each policy a small formula.

- `orders`: the named orders of the queue; `score`: `@score`, for one's own
- `files`: a user's own scores from a file; `columns`: what they see; `checking`: their mistakes
- `policy`: `Policy`, an order with a backfilling rule, and how it is written as text
- `control`: service-rate controls
- `placement`: which nodes a job gets; `constraints`: what jobs ask of them
"""

from .constraints import Asked, Constraints
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
from .files import load_node_score, load_score
from .orders import ORDERS
from .placement import PLACEMENTS, Placement, parse_placement
from .policy import BACKFILLS, POLICIES, Policy, parse_policy
from .score import NodeScore, Score, score

__all__ = [
    "BACKFILLS",
    "ORDERS",
    "PLACEMENTS",
    "POLICIES",
    "Asked",
    "Constraints",
    "Control",
    "NodeScore",
    "Placement",
    "Policy",
    "Score",
    "constant",
    "control",
    "count_hysteresis",
    "load_node_score",
    "load_score",
    "parse_control",
    "parse_placement",
    "parse_policy",
    "randomized",
    "score",
    "threshold",
    "workload_hysteresis",
]
