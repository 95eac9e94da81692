"""Every picture by its name; each function returns a `matplotlib.figure.Figure`.

- over time: `workload`, `utilisation`, `power`; `fragmentation`, of the resources of named nodes
- who ran where: `gantt`, `occupation`, and `assign_servers`, which names the servers; `node_gantt`
  of a run on named nodes
- what a cluster is made of: `cluster`
- what jobs met: `distributions`, `compare`; `class_waits`, of the classes of a log
- what a threshold costs: `trade_off`
- theory: `fitted`, a log beside its model; `limit_curves`, who finishes in time
- how large a machine must be: `stability_curves`, `size_curves`
- how true a model is: `stream_pair`, `stream_differences`
- one page of a run: `overview`
- `save` writes a figure to a PNG, SVG or PDF file
"""

from .adequacy import stream_differences, stream_pair
from .capacity import size_curves, stability_curves
from .curves import compare, distributions, trade_off
from .fitting import fitted
from .limits import limit_curves
from .machine import cluster
from .nodes import node_gantt
from .page import overview
from .resources import fragmentation
from .schedule import gantt, occupation
from .servers import Pieces, assign_servers
from .style import save
from .timeline import power, utilisation, workload
from .waits import class_waits

__all__ = [
    "Pieces",
    "assign_servers",
    "class_waits",
    "cluster",
    "compare",
    "distributions",
    "fitted",
    "fragmentation",
    "gantt",
    "limit_curves",
    "node_gantt",
    "occupation",
    "overview",
    "power",
    "save",
    "size_curves",
    "stability_curves",
    "stream_differences",
    "stream_pair",
    "trade_off",
    "utilisation",
    "workload",
]
