"""What a cluster is made of: how fast its nodes are, and what they draw."""

from __future__ import annotations

from collections import Counter

import numpy as np
from matplotlib import colormaps, ticker
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, to_rgba
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from ...arrays import Floats
from ...cluster import LEVELS, Cluster, Server
from ...errors import OptionError
from . import style

Rgba = tuple[float, float, float, float]

_DOTS = 1600.0
"""Area of the dot of the largest node, in square points."""

_FEW_CURVES = 40
"""Curves up to which none is faint."""


@style.styled
def cluster(machine: Cluster, *, fig: Figure | SubFigure | None = None) -> Figure:
    """Draw the nodes by speed and power, and the power curve of each kind of node.

    On the left each kind of node is a dot: speed of a processor (operations per second) and its
    watts at full load, the dot as large as the node has cores. Nodes on one dotted line need the
    same energy for the same work. On the right the watts of a node at the eleven load levels.

    Parameters
    ----------
    machine : a cluster of named nodes.
    fig : figure to draw in; a new one when None.
    """
    if not machine.is_named:
        raise OptionError("the processors of this cluster are only counted; name nodes to draw it")
    if not (machine.has_speeds and machine.has_watts):
        raise OptionError("cluster: drawn by speed and power; give ops and watts of its nodes")
    kinds = _kinds(machine)
    servers = list(kinds)
    colors, scale = _colors(servers)
    fig = fig if fig is not None else style.new_figure(10.0, 4.6)
    left, right = (style.polish(ax) for ax in fig.subplots(1, 2))
    _draw_speeds(left, machine, servers, colors)
    _draw_curves(right, servers, colors)
    if scale is not None:
        words = "operations/s per W at full load"
        bar = style.colorbar(right, scale, words, pad=0.02, fraction=0.04)
        least, most = scale.get_clim()
        bar.set_ticks([least, (least * most) ** 0.5, most])
        bar.ax.yaxis.set_major_formatter(style.number_tick)
        bar.ax.yaxis.set_minor_locator(ticker.NullLocator())
    else:
        handles = [
            Line2D([], [], color=c, marker="o", linewidth=1.6, label=_label(server, count))
            for (server, count), c in zip(kinds.items(), colors, strict=True)
        ]
        right.legend(handles=handles, loc="upper left", handlelength=1.6)
        right.set_ylim(top=right.get_ylim()[1] * (1 + 0.05 * len(handles)))
    return style.root(fig)


def _kinds(machine: Cluster) -> Counter[Server]:
    """Count the kinds of nodes, which differ in speed, power or cores; those first in the cluster
    come first.
    """
    return Counter(
        Server(s.model, s.cores, s.ops, s.watts, chips=s.chips, idle_known=s.idle_known)
        for s in (node.server for node in machine.nodes)
    )


def _label(server: Server, count: int) -> str:
    cores = "1 core" if server.cores == 1 else f"{server.cores:,} cores"
    words = f"{f'{count:,} × ' if count > 1 else ''}{server.model}, {cores}"
    if server.watts[-1] <= 0:
        return words
    return f"{words}, {style.number(server.ops / server.watts[-1])} operations/s per W"


def _colors(servers: list[Server]) -> tuple[list[Rgba], ScalarMappable | None]:
    """One colour for each kind if they are few, else by efficiency."""
    if len(servers) <= len(style.PALETTE):
        return [to_rgba(name) for name in style.PALETTE[: len(servers)]], None
    per_watt = np.array([s.ops / s.watts[-1] if s.watts[-1] > 0 else np.nan for s in servers])
    least = float(np.nanmin(per_watt))
    scale = ScalarMappable(
        LogNorm(least, max(float(np.nanmax(per_watt)), 1.001 * least)), colormaps["viridis"]
    )
    return [(r, g, b, a) for r, g, b, a in np.asarray(scale.to_rgba(per_watt))], scale


def _draw_speeds(ax: Axes, machine: Cluster, servers: list[Server], colors: list[Rgba]) -> None:
    procs = np.array([server.procs(machine.processor) for server in servers])
    ops = np.array([server.ops for server in servers]) / procs
    watts = np.array([server.watts[-1] for server in servers]) / procs
    cores = np.array([server.cores for server in servers], dtype=np.float64)
    # Small nodes lie on top of large ones.
    order = np.argsort(-cores, kind="stable")
    largest = _DOTS / max(1.0, len(servers) / len(style.PALETTE)) ** 0.5
    ax.scatter(
        ops[order],
        watts[order],
        s=np.maximum(largest * cores[order] / cores.max(), 6.0),
        color=[(*colors[i][:3], 0.75) for i in order],
        edgecolors="white",
        linewidths=0.6,
    )
    if ops.max() > 8 * ops.min():
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.margins(0.12)
        style.log_axis(ax.xaxis)
        style.log_axis(ax.yaxis)
    else:
        ax.set_xlim(0, 1.18 * ops.max())
        ax.set_ylim(0, 1.25 * max(watts.max(), 1e-9))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
            axis.set_major_formatter(style.number_tick)
    ax.grid(False)
    _draw_equal_energy(ax, ops, watts)
    slow = machine.average_ops if machine.reference_ops is None else machine.reference_ops
    ax.axvline(slow, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0.5)
    words = "average" if machine.reference_ops is None else "reference"
    style.note(ax, words, (slow, 0.0), (3, 4), frame=("data", "axes fraction"))
    ax.set_xlabel(f"operations/s of a {machine.processor}")
    ax.set_ylabel(f"W of a {machine.processor} at full load")
    nodes = len(machine.nodes)
    counted = "1 node" if nodes == 1 else f"{nodes:,} nodes"
    style.title(ax, counted, "area: cores; dotted: equal energy for equal work")


def _draw_equal_energy(ax: Axes, ops: Floats, watts: Floats) -> None:
    """Draw lines of equal energy for equal work through the best and the worst nodes."""
    left, right = ax.get_xlim()
    low, high = ax.get_ylim()
    known = watts > 0
    if known.any():
        per_watt = ops[known] / watts[known]
        x = np.geomspace(max(left, 1e-6 * right), right, 50)
        for level in np.unique([per_watt.min(), per_watt.max()]):
            ax.plot(x, x / level, color=style.MUTED, linewidth=0.9, linestyle=":", zorder=0.4)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)


def _draw_curves(ax: Axes, servers: list[Server], colors: list[Rgba]) -> None:
    watts = np.array([server.watts for server in servers])
    load = 100 * np.array(LEVELS)
    lines = np.empty((len(servers), load.size, 2))
    lines[:, :, 0], lines[:, :, 1] = load, watts
    few = len(servers) <= len(style.PALETTE)
    ax.add_collection(
        LineCollection(
            list(lines),
            colors=colors if len(servers) <= _FEW_CURVES else [(*c[:3], 0.35) for c in colors],
            linewidths=1.6 if few else 0.8,
            rasterized=len(servers) > 200,
        ),
        autolim=False,
    )
    if few:
        for row, color in zip(watts, colors, strict=True):
            ax.plot(load, row, "o", color=color, markersize=3)
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 1.05 * max(float(watts.max()), 1e-9))
    ax.xaxis.set_major_locator(ticker.MultipleLocator(20))
    ax.yaxis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    ax.yaxis.set_major_formatter(style.number_tick)
    ax.set_xlabel("load (%)")
    ax.set_ylabel("W of a node")
    guessed = sum(not server.idle_known for server in servers)
    caption = f"idle power not known: {guessed:,} kinds" if guessed else ""
    style.title(ax, "Power by load", caption)
