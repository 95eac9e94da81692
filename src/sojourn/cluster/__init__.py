"""What jobs run on: `cluster` counts the servers or names the nodes, `power` says what they draw.

- `cluster`: `Cluster`, counted or of named nodes; `server`: one model of server, and a node
- `partition`: sets of nodes with limits, and queues
- `power`: watts of a counted server by rate
- `read`: a cluster from any file; `specpower`: published results; `description`: what people
  write; `counts`: how many of what; `slurm`: a site's slurm.conf; `write`: a cluster as a file
- `report`: what reading found; `query`: which servers; `library`: servers known by name
"""

from .cluster import Cluster, NodeColumns
from .counts import parse_cluster
from .library import find_server, library
from .partition import BETWEEN, Partition, Queue
from .power import XEON_5430, AssumedPower, ConstantPower, Power, RatePower, ScaledPower
from .query import parse_query
from .read import find_cluster, read_cluster
from .report import ClusterReport, Remark
from .server import LEVELS, PROCESSORS, Node, Server
from .specpower import read_specpower
from .write import write_cluster

__all__ = [
    "BETWEEN",
    "LEVELS",
    "PROCESSORS",
    "XEON_5430",
    "AssumedPower",
    "Cluster",
    "ClusterReport",
    "ConstantPower",
    "Node",
    "NodeColumns",
    "Partition",
    "Power",
    "Queue",
    "RatePower",
    "Remark",
    "ScaledPower",
    "Server",
    "find_cluster",
    "find_server",
    "library",
    "parse_cluster",
    "parse_query",
    "read_cluster",
    "read_specpower",
    "write_cluster",
]
