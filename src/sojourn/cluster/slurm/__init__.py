"""What a site's ``slurm.conf`` says about its machine [slurm].

- `lines`: statements of a configuration file; `reading`: nodes, partitions, switches
- `machine`: all of it, with the types of resources of ``gres.conf``, as a cluster; `power`: power
  saving
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
