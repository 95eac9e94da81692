"""``sojourn cluster``: what a cluster file holds, and the servers that need no file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ._options import AsJson

_MODELS = 12


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    group = typer.Typer(
        name="cluster",
        help="Clusters: what a file holds, and the servers that are known by name.",
        no_args_is_help=True,
    )
    group.command(name="inspect")(inspect)
    group.command(name="list")(listing)
    app.add_typer(group)


def inspect(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="SPECpower table or description (.csv, .toml, also .gz, .xz), or counts such as "
            "'64 x X5670'.",
        ),
    ],
    where: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Servers to take, such as 'published <= 2011-12'."),
    ] = None,
    processor: Annotated[
        str | None,
        typer.Option(
            metavar="core|chip|node", help="What counts as a processor; default: core, or the file."
        ),
    ] = None,
    keep_noncompliant: Annotated[
        bool, typer.Option("--keep-noncompliant", help="Keep results that SPEC found fault with.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail at the first row to be repaired or refused.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Describe a cluster: what was read, repaired and refused; nodes, speed, memory, watts.

    Example: sojourn cluster inspect ssj2008.csv --where 'published <= 2011-12 and cores >= 8'
    """
    from ..cluster import find_cluster
    from ..cluster.facts import cluster_facts
    from ..output import as_json

    kept = "keep" if keep_noncompliant else "refuse"
    cluster = find_cluster(file, processor=processor, noncompliant=kept, strict=strict)
    if where is not None:
        cluster = cluster.select(where)
    told = cluster_facts(cluster)
    if json:
        print(as_json({**told, "where": where}))
        return
    _show(told, where)


def listing(
    where: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Servers to show, such as 'year >= 2017'."),
    ] = None,
    json: AsJson = False,
) -> None:
    """List the built-in servers, which files and counts can name.

    Example: sojourn cluster list --where 'vendor == Acer'
    """
    from ..cluster import library
    from ..cluster.query import facts_of
    from ..output import as_json

    cluster = library() if where is None else library().select(where)
    rows = [facts_of(node.server) for node in cluster.nodes]
    if json:
        print(as_json(rows))
        return
    from ._tables import as_number, new_console, new_table

    table = new_table(
        "model", "published", "chips", "cores", "memory\nGB", "ops/s\n100 %", "W\n100 %", "W\nidle"
    )
    for row in rows:
        numbers = (row[k] for k in ("chips", "cores", "memory", "ops", "watts", "idle_watts"))
        table.add_row(row["model"], row["published"], *map(as_number, numbers))
    new_console().print(table)


def _show(told: dict[str, Any], where: str | None) -> None:
    from rich.text import Text

    from ._tables import as_number, facts_table, new_console, new_table

    console = new_console()
    _show_report(console, told["report"])
    total, speed = told["totals"], told["speed"]
    kind = told["processor"]
    rows = [("where", where)] if where else []
    rows += [
        ("nodes", f"{total['nodes']:,}"),
        (
            "processors",
            f"{total['procs']:,}, each a {kind} ({total['cores']:,} cores on "
            f"{total['chips']:,} chips)",
        ),
        ("memory", _sum(total, "memory", "GB")),
        (
            "speed",
            f"slowest {as_number(speed['slowest'], 6)}, average {as_number(speed['average'], 6)}, "
            f"fastest {as_number(speed['fastest'], 6)} operations/s of a {kind}",
        ),
        (
            "watts",
            f"idle {_sum(total, 'idle_watts', 'W')}, at full load {as_number(total['watts'])} W",
        ),
        ("efficiency", f"{as_number(total['efficiency'])} operations/s per W at full load"),
    ]
    console.print(facts_table(rows))
    console.print()
    table = new_table("model", "nodes", "processors")
    for model in told["models"][:_MODELS]:
        table.add_row(Text(model["model"]), f"{model['nodes']:,}", f"{model['procs']:,}")
    console.print(table)
    others = len(told["models"]) - _MODELS
    if others > 0:
        console.print(Text(f"and {others:,} models more; --json has every node", style="dim"))


def _sum(total: dict[str, Any], name: str, unit: str) -> str:
    from ._tables import as_number

    if total[name] is None:
        return "not known"
    unknown = total[f"{name}_unknown"]
    more = f" (and what is not known of {unknown:,} nodes)" if unknown else ""
    return f"{as_number(total[name])} {unit}{more}"


def _show_report(console: Any, report: dict[str, Any] | None) -> None:
    """Print what was read, and each thing that was repaired or refused."""
    from rich.text import Text

    from ..cluster import Remark

    if report is None:
        return
    console.print(
        Text(
            f"{report['source']}: {report['rows']:,} rows read, {report['servers']:,} kept "
            f"({report['repaired']:,} repaired), {report['refused']:,} refused"
        ),
        soft_wrap=True,
    )
    for each in report["remarks"]:
        remark = Remark(each["action"], each["what"], tuple(each["lines"]), each["example"])
        console.print(Text(f"  {remark}"), style="yellow", soft_wrap=True)
    console.print()
