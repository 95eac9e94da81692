"""What a cluster is made of, for people: nodes by kind, partitions, queues, pools."""

from __future__ import annotations

import math
from typing import Any

from ...errors import plural
from ...jobs.formats.slurm_fields import fold_nodes
from .layout import Terminal, as_number, new_table

_KINDS = 12


def show_cluster(facts: dict[str, Any], where: str | None) -> None:
    """Print a cluster from its `cluster_facts`; `where` is the query that took some nodes."""
    console = Terminal()
    _show_report(console, facts["report"])
    rows = [("where", where)] if where else []
    console.facts([*rows, *_totals(facts)])
    console.print()
    _show_kinds(console, facts)
    _show_power_states(console, facts)
    _show_partitions(console, facts["partitions"])
    _show_queues(console, facts)
    if facts["pools"]:
        table = new_table("pool", "count")
        for name, count in facts["pools"].items():
            table.add_row(name, f"{count:,}")
        console.below(table)


def _totals(facts: dict[str, Any]) -> list[tuple[str, str]]:
    total, speed, kind = facts["totals"], facts["speed"], _processor(facts)
    if not total["nodes"]:
        return [("processors", f"{total['procs']:,}, which are only counted")]
    rows = [
        ("nodes", f"{total['nodes']:,}"),
        (
            "processors",
            f"{total['procs']:,}, each a {kind} ({_cores(facts)}{total['chips']:,} chips)",
        ),
        ("memory", _sum(total, "memory", "GB")),
    ]
    rows += [
        (row["resource"], f"{row['count']:,} on {_nodes(row['nodes'])}")
        for row in facts["resources"]
    ]
    if speed["average"] is None:
        rows.append(("speed", "not known: all processors are equally fast"))
    else:
        words = ", ".join(f"{name} {as_number(speed[name], 6)}" for name in speed)
        rows.append(("speed", f"{words} operations/s of a {kind}"))
    if total["watts"] is None:
        rows.append(("watts", "not known: no energy is stated"))
    else:
        full = _sum(total, "watts", "W")
        rows.append(("watts", f"idle {_sum(total, 'idle_watts', 'W')}, at full load {full}"))
    if total["efficiency"] is not None:
        words = f"{as_number(total['efficiency'])} operations/s per W at full load"
        rows.append(("efficiency", words))
    return rows


def _processor(facts: dict[str, Any]) -> str:
    """What counts as a processor: threads of a core may count as cores."""
    threads = facts["threads_per_core"]
    if facts["processor"] != "core" or max(threads, default=1) == 1:
        return str(facts["processor"])
    return "hardware thread" if min(threads) > 1 else "core or a hardware thread of one"


def _cores(facts: dict[str, Any]) -> str:
    """How many cores chips have, unless threads are counted for them."""
    if max(facts["threads_per_core"], default=1) > 1:
        return ""
    return f"{facts['totals']['cores']:,} cores on "


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _sum(total: dict[str, Any], name: str, unit: str) -> str:
    if total[name] is None:
        return "not known"
    unknown = total[f"{name}_unknown"]
    more = f" (and what is not known of {unknown:,} nodes)" if unknown else ""
    return f"{as_number(total[name])} {unit}{more}"


def _show_kinds(console: Terminal, facts: dict[str, Any]) -> None:
    """Print models, or kinds of nodes where they differ in what they have."""
    if not facts["nodes"]:
        return
    # Nodes of one name may differ where it is no model: those of a slurm.conf are called by theirs.
    several = len(facts["kinds"]) > len(facts["models"]) and facts["speed"]["average"] is None
    by_kind = bool(facts["resources"] or several)
    if by_kind:
        kinds = facts["kinds"]
        names = [row["resource"] for row in facts["resources"]]
        cores = "cores" if max(facts["threads_per_core"]) == 1 else "threads"
        table = new_table("model", "nodes", cores, "memory\nGB", *names)
        for kind in kinds[:_KINDS]:
            own = (kind["resources"].get(name, 0) for name in names)
            numbers = (kind["cores"], kind["memory"], *own)
            table.add_row(kind["model"], f"{kind['nodes']:,}", *map(as_number, numbers))
    else:
        kinds = facts["models"]
        table = new_table("model", "nodes", "processors")
        for kind in kinds[:_KINDS]:
            table.add_row(kind["model"], f"{kind['nodes']:,}", f"{kind['procs']:,}")
    console.print(table)
    others = len(kinds) - _KINDS
    if others > 0:
        what = "kinds" if by_kind else "models"
        console.note(f"and {others:,} {what} more; --json has every node")


def _show_power_states(console: Terminal, facts: dict[str, Any]) -> None:
    """Print depths of sleep with their break-even times, levels, and power saving."""
    depths = [(kind, sleep) for kind in facts["power_states"] for sleep in kind["sleep"]]
    if depths:
        table = new_table(
            *("model", "sleep", "W\nidle", "W\nasleep", "enter\ns", "enter\nW"),
            *("leave\ns", "leave\nW", "break-even\nidle time"),
        )
        table.columns[1].justify = "left"
        for kind, sleep in depths[:_KINDS]:
            names = ("watts", "enter", "enter_watts", "leave", "leave_watts")
            numbers = (kind["idle_watts"], *(sleep[name] for name in names))
            even = sleep["break_even"]
            unknown = "not known" if kind["idle_watts"] is None else "never"
            words = unknown if even is None else f"{as_number(even)} s"
            table.add_row(kind["model"], sleep["name"], *map(as_number, numbers), words)
        console.below(table)
    levels = [(kind, level) for kind in facts["power_states"] for level in kind["levels"]]
    if levels:
        table = new_table("model", "speed", "W\nidle", "W\n100 %")
        for kind, level in levels[: 2 * _KINDS]:
            numbers = (level["speed"], level["idle_watts"], level["watts"])
            table.add_row(kind["model"], *map(as_number, numbers))
        console.below(table)
    for kind in facts["power_states"]:
        if kind["off_watts"] or kind["failed_watts"]:
            words = f"{kind['off_watts']:g} W when off, {kind['failed_watts']:g} W when failed"
            console.note(f"{kind['model']}: {words}")
    saving = facts["power_saving"]
    if saving:
        console.print()
        console.facts(_saving(saving))


def _saving(saving: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how a site saves power, in words."""

    def rate(name: str) -> str:
        per_minute = saving[name]
        return "no limit" if math.isinf(per_minute) else f"{per_minute:g} nodes a minute"

    def idle(seconds: float) -> str:
        return "never" if math.isinf(seconds) else f"after {seconds:g} s of idleness"

    own = [f"; {name} {idle(seconds)}" for name, seconds in saving["by_partition"]]
    nodes = [
        f"{'all' if least is None else least} of {fold_nodes(names)}"
        for names, least in saving["excluded_nodes"]
    ]
    stay = [*nodes, *(f"partition {name}" for name in saving["excluded_partitions"])]
    stay += [f"nodes in state {name}" for name in saving["excluded_states"]]
    if saving["idle_time"] == math.inf and not saving["by_partition"]:
        return [("stay on", ", ".join(stay))] if stay else []
    return [
        ("power saving", idle(saving["idle_time"]) + "".join(own)),
        ("switched off", f"{rate('enter_rate')}, can be woken {saving['enter_timeout']:g} s later"),
        ("switched on", f"{rate('leave_rate')}, fails after {saving['leave_timeout']:g} s"),
        *([("stay on", ", ".join(stay))] if stay else []),
    ]


def _show_partitions(console: Terminal, partitions: list[dict[str, Any]]) -> None:
    if not partitions:
        return
    table = new_table("partition", "nodes", "processors")
    table.add_column("limits")
    for part in partitions:
        counts = f"{len(part['nodes']):,}", f"{part['procs']:,}"
        table.add_row(part["name"], *counts, part["limits"])
    console.below(table)


def _show_queues(console: Terminal, facts: dict[str, Any]) -> None:
    if not facts["queues"]:
        return
    table = new_table("queue")
    for name in ("order", "limits"):
        table.add_column(name)
    for queue in facts["queues"]:
        table.add_row(*(queue[name] for name in ("name", "order", "limits")))
    console.below(table)
    if len(facts["queues"]) > 1:
        console.note(f"between queues: {facts['between']}")


def _show_report(console: Terminal, report: dict[str, Any] | None) -> None:
    """Print what was read, and each thing that was repaired or refused."""
    from ...cluster import Remark

    if report is None:
        return
    console.print(
        f"{report['source']}: {plural(report['rows'], 'row')} read, {report['servers']:,} kept "
        f"({report['repaired']:,} repaired), {report['refused']:,} refused",
        soft_wrap=True,
    )
    for row in report["remarks"]:
        remark = Remark(row["action"], row["what"], tuple(row["lines"]), row["example"])
        console.warn(f"  {remark}")
    console.print()
