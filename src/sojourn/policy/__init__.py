"""Who runs when, and how fast: each policy a small formula.

- `orders`: the named orders of the queue; `score`: `@score`, for one's own
- `files`: a user's own scores from a file; `modules`: what it imports; `columns`: what scores
  see; `checking`: their mistakes
- `policy`: `Policy`, an order with a backfilling rule, and how it is written as text
- `control`: service-rate controls; `domains`: those of sets of nodes
- `deferral`: until when jobs are held for cheap or clean electricity
- `cap`: how many watts may be drawn
- `placement`: which nodes a job gets; `constraints`: what jobs ask of them
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
