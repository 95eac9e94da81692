"""The keys of a scenario about what jobs run on."""

from __future__ import annotations

from typing import Annotated, Literal

from ...cluster.query import parse_query
from . import typed
from .describing import A_COUNT, TRUE, File, Key, Keys, Option, Processors, reads

_NODES = "Nodes"


class ClusterKeys(Keys):
    """What jobs run on: processors that are counted, or named nodes."""

    procs: Annotated[
        Processors | None,
        Key(
            "Processors of the machine; default: MaxProcs of the log.",
            A_COUNT,
            Option("Machine", "P"),
        ),
    ] = None
    nodes: Annotated[
        File | None,
        Key(
            "Cluster of named nodes: a description or SPECpower table (.toml, .csv), a slurm.conf, "
            "or counts such as '64 x X5670' or '64 x (16 cores, 32G, 2 gpu)'; in place of "
            "{cluster.procs} and {power.levels}.",
            "a SPECpower table or description, or counts such as '64 x X5670'",
            Option(_NODES, "FILE|COUNTS", "--cluster", read=typed.cluster),
        ),
    ] = None
    where: Annotated[
        Annotated[str, reads(parse_query)] | None,
        Key(
            "Servers of the cluster to take, such as 'published <= 2011-12'.",
            "a condition such as 'published <= 2011-12'",
            Option(_NODES, "QUERY"),
        ),
    ] = None
    processor: Annotated[
        Literal["core", "chip", "node"] | None,
        Key(
            "What counts as a processor; default: core, or what the file says.",
            "core, chip or node",
            Option(_NODES, "core|chip|node"),
        ),
    ] = None
    keep_noncompliant: Annotated[
        bool, Key("Keep SPECpower results that SPEC found fault with.", TRUE, Option(_NODES))
    ] = False
