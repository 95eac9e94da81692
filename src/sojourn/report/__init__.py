"""What a run looks like: pictures of schedules, paths and distributions.

- `plots`: every picture by its name
- `timeline`, `resources`, `schedule`, `nodes`, `machine`, `curves`, `waits`, `fitting`,
  `limits`, `adequacy`, `page`: how they are drawn
- `servers`, `binning`, `boxes`: what is computed for them
- `style`: colours, axes and files

The names of `plots` can be had from here too; Matplotlib is imported when the first is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .plots import (
        Pieces,
        assign_servers,
        class_waits,
        cluster,
        compare,
        distributions,
        fitted,
        fragmentation,
        gantt,
        limit_curves,
        node_gantt,
        occupation,
        overview,
        power,
        save,
        size_curves,
        stability_curves,
        stream_differences,
        stream_pair,
        trade_off,
        utilisation,
        workload,
    )

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


__getattr__ = attach(__name__, {"plots": __all__})
