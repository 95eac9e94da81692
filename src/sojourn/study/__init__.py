"""Asking a simulation a thousand times.

- `sweeping`: many points, several times each; `outcome`: what they found
- `optimising`: the best trade-offs, as a `front`
- `grid`, `plan`: which points, which runs; `store`: the runs on disk
- `runners`, `processes`, `worker_process`, `dask_runner`, `execute`: where and how runs are
  carried out
- `intervals`, `ratios`, `paired`: what replications show, and what a policy changes; `sequential`:
  how many are enough
- `batches`, `ratios`: what one long run shows; `difference`, `sides`: two configurations on one log
- `sleeping`: what sleeping saves, idle time by idle time

What is run is a scenario, see `sojourn.run`; its names are here too.
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
