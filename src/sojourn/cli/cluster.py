"""``sojourn cluster``: what a cluster file holds, and the servers that need no file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import plural
from ._options import AsJson, Command, VerbGroup, option
from ._results import print_json

cluster = typer.Typer(
    name="cluster",
    cls=VerbGroup,
    help="Clusters: what a file holds, and the servers that are known by name.",
    no_args_is_help=True,
)


@cluster.command(cls=Command)
def inspect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Description or SPECpower table (.toml, .csv, also .gz, .xz), slurm.conf, or "
            "counts such as '64 x X5670' or '64 x (16 cores, 32G, 2 gpu)'.",
        ),
    ],
    where: Annotated[
        str | None, option("QUERY", "Servers to take, such as 'published <= 2011-12'.")
    ] = None,
    processor: Annotated[
        str | None,
        option("core|chip|node", "What counts as a processor; default: core, or the file."),
    ] = None,
    keep_noncompliant: Annotated[
        bool, typer.Option("--keep-noncompliant", help="Keep results that SPEC found fault with.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail at the first row to be repaired or refused.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Describe a cluster: what was read and left out; nodes, resources, partitions, queues.

    Example: sojourn cluster inspect ssj2008.csv --where 'published <= 2011-12 and cores >= 8'
    """
    from ..cluster import find_cluster
    from ..cluster.facts import cluster_facts
    from ..report.text.cluster import show_cluster

    kept = "keep" if keep_noncompliant else "refuse"
    machine = find_cluster(file, processor=processor, noncompliant=kept, strict=strict)
    if where is not None:
        machine = machine.select(where)
    if machine.queues:
        from ..policy.orders import order_of_queue

        for queue in machine.queues:
            order_of_queue(queue.name, queue.order)
    facts = cluster_facts(machine)
    if json:
        print_json({**facts, "where": where})
        return
    show_cluster(facts, where)


@cluster.command(cls=Command)
def convert(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="What cluster inspect takes, such as a slurm.conf."),
    ],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Description to write: .toml, or .csv of nodes.")
    ],
) -> None:
    """Write a cluster as a description, to which what its file has no place for can be added.

    Watts, depths of sleep and levels are keys of a .toml file; a slurm.conf has none of them.

    Example: sojourn cluster convert slurm.conf machine.toml
    """
    from ..cluster import find_cluster, write_cluster

    machine = find_cluster(file)
    write_cluster(machine, out)
    print(
        f"{plural(len(machine.nodes), 'node')} in {out}"
        if machine.is_named
        else f"a count in {out}"
    )


@cluster.command(name="list", cls=Command)
def listing(
    where: Annotated[
        str | None, option("QUERY", "Servers to show, such as 'year >= 2017'.")
    ] = None,
    json: AsJson = False,
) -> None:
    """List the built-in servers, which files and counts can name.

    Example: sojourn cluster list --where 'vendor == Acer'
    """
    from ..cluster import library
    from ..cluster.query import facts_of

    servers = library() if where is None else library().select(where)
    rows = [facts_of(node.server) for node in servers.nodes]
    if json:
        print_json(rows)
        return
    from ..report.text import Terminal, as_number, new_table

    table = new_table(
        "model", "published", "chips", "cores", "memory\nGB", "ops/s\n100 %", "W\n100 %", "W\nidle"
    )
    for row in rows:
        numbers = (row[k] for k in ("chips", "cores", "memory", "ops", "watts", "idle_watts"))
        table.add_row(row["model"], row["published"], *map(as_number, numbers))
    Terminal().print(table)
