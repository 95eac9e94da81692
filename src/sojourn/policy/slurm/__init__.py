"""A model of Slurm 22.05: two loops over one queue, on particular nodes [slurm].

- `conf`, `site`, `scheduling`: what a ``slurm.conf`` says; `nodes`: its nodes as arrays
- `requests`: what each job of a log or stream asks for
- `priority`: the numbers of multifactor priorities, and the tree of accounts
- `controller`: a run of the engine's loop with Slurm's controller as its discipline, which is in
  `engine/passes/slurm*`: the order of what is due, the queue and the main loop's pass, the backfill
  loop's, its map of the future, which nodes a job gets, priorities
- `model`: a stream from its requests to its starts and ends
- `policy`: `SlurmPolicy`, with any line of the file changed; `site_cluster`: its nodes as a cluster
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
