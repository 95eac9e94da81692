"""What arrives at a cluster: jobs, their logs, and how logs are cleaned.

- `table`: `Jobs`, the columns of a job stream; `schema`: which there are; `header`: comments
- `log`: `read_log` and `write_log` for every format of `formats`, and from a log to a run
- `clean`: cleaning rules, and `report`: what reading and cleaning changed
- `events`: what happened to a manager, and what it did; `external`: what will happen to a run
- `facts`, `recorded`, `classes`: what a log holds; `models`: generated streams

Nothing here imports Numba or pandas before it is needed.
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
