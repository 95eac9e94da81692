"""What a site's ``slurm.conf`` says about its machine [slurm].

- `lines`: statements of a configuration file; `reading`: nodes, partitions, switches
- `gres`: types of generic resources from ``gres.conf``; `power`: power saving;
  `machine`: all of it as a cluster
"""

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
