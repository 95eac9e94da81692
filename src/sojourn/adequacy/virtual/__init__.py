"""A real Slurm with virtual nodes, on this machine.

- `needs`: what it takes, and what is missing
- `conf`: the ``slurm.conf``; `cluster`: its daemons, from start to stop
- `stream`: jobs, submitted and followed; `reading`: what became of each
- `clock`: a clock that can be moved on; `modeltime`: which does so when nothing is under way
- `running`: all of it, as one call
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
