"""What jobs run on: `cluster` counts the servers or names the nodes, `power` says what they draw.

- `cluster`: `Cluster`, counted or of named nodes; `server`: one model of server, and a node
- `partition`: sets of nodes with limits, and queues; `power`: watts of a counted server by rate;
  `states`: levels, depths of sleep, off, failed, and when sleeping saves energy
- `read`: a cluster from any file or counts; `specpower`: published results; `description`: what
  people write; `slurm`: a site's slurm.conf; `batsim`: platforms of Batsim; `write`: a cluster as
  a file
- `report`: what reading changed; `facts`: what it is made of; `query`: which servers; `library`:
  servers known by name
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
