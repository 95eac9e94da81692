"""What a run looks like; each picture is a function that returns a `matplotlib.figure.Figure`.

- over time: `workload`, `utilisation`, `power`, `rates`; `fragmentation`, of the resources of
  named nodes
- who ran where: `gantt`, `occupation`, and `assign_servers`, which names the servers; `node_gantt`
  of a run on named nodes
- what a cluster is made of: `cluster`
- waits and slowdowns: `distributions`, `compare`; `class_waits`, of the classes of a log
- what a threshold costs: `trade_off`
- theory: `fitted`, a log beside its model; `limit_curves`, who finishes in time
- how large a machine must be: `stability_curves`, `size_curves`
- how true a model is: `stream_pair`, `stream_differences`
- one page of a run: `overview`
- `save` writes a figure to a PNG, SVG or PDF file

The modules `binning` and `boxes` compute for them; `style` has colours, axes and files.
Matplotlib is imported when the first is used.
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
