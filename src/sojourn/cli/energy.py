"""``sojourn energy``: where the energy of a recorded run went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import AsJson
from ._results import print_json


def energy(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="Recorded run: Batsim's out_jobs.csv, out_pstate_changes.csv, out_schedule.csv.",
        ),
    ],
    cluster: Annotated[
        Path, typer.Option(metavar="FILE.xml", help="Platform with the watts of its hosts.")
    ],
    load: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Load of every job on its nodes; default: what the recorded energy of each says.",
        ),
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="TARIFF|FILE",
            help="Price of a kWh: '0.15, 8:0.30, 20:0.15 EUR', or CSV of time,price_per_kwh.",
        ),
    ] = None,
    carbon: Annotated[
        str | None,
        typer.Option(metavar="G|FILE", help="Grams of CO2 per kWh, or CSV of time,g_per_kwh."),
    ] = None,
    starts: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Second 0 of the run, such as 2024-05-01T00:00+02:00."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show how much energy nodes used while busy, idle, asleep and switching, from a recorded run.

    Jobs and changes of states are replayed at the watts of the platform, and the sum is compared
    with what the record says.

    Example: sojourn energy out --cluster platform.xml --price 0.25 --carbon 300
    """
    from ..adequacy import read_batsim_energy
    from ..measures.cost import Clock, parse_carbon, parse_price
    from ..measures.energy import KINDS

    clock = Clock.of(start=starts)
    tariff = None if price is None else parse_price(price, clock)
    intensity = None if carbon is None else parse_carbon(carbon, clock)
    replayed = read_batsim_energy(run, cluster, load=load)
    ledger = replayed.ledger
    costs = None if tariff is None else ledger.cost(tariff, clock).tolist()
    grams = None if intensity is None else ledger.emissions(intensity).tolist()
    states = [
        {
            "state": kind,
            "node_seconds": float(ledger.seconds[:, at].sum()),
            "joules": float(ledger.joules[:, at].sum()),
            **({} if costs is None else {"cost": costs[at]}),
            **({} if grams is None else {"carbon_kg": grams[at] / 1000}),
        }
        for at, kind in enumerate(KINDS)
    ]
    recorded = replayed.recorded.get("consumed_joules")
    facts = {
        "run": str(run),
        "nodes": len(ledger.joules),
        "joules": ledger.energy,
        "recorded_joules": recorded,
        "difference": None if not recorded else ledger.energy / recorded - 1,
        "currency": "" if tariff is None else tariff.currency,
        "states": states,
    }
    if json:
        print_json(facts)
        return
    _show(facts)


def _show(facts: dict[str, Any]) -> None:
    from ..report.text import Terminal, as_number, new_table

    console = Terminal()
    rows = [
        ("run", f"{facts['run']}: {facts['nodes']:,} nodes"),
        ("energy", f"{as_number(facts['joules'] / 3.6e6)} kWh ({facts['joules']:,.0f} J)"),
    ]
    if facts["difference"] is not None:
        joules, apart = facts["recorded_joules"], facts["difference"]
        rows.append(("recorded", f"{joules:,.0f} J, {abs(apart):.1e} of it apart"))
    console.facts(rows)
    used = [row for row in facts["states"] if row["node_seconds"]]
    names = {"cost": f"cost\n{facts['currency']}", "carbon_kg": "CO2\nkg"}
    more = [name for name in names if used and name in used[0]]
    table = new_table(
        *("state", "node\nhours", "of all\ntime", "kWh", "of all\nenergy"),
        *(names[name] for name in more),
    )
    time = sum(row["node_seconds"] for row in used)
    for row in used:
        share = row["joules"] / facts["joules"] if facts["joules"] else 0.0
        table.add_row(
            row["state"],
            as_number(row["node_seconds"] / 3600),
            f"{100 * row['node_seconds'] / time:.1f} %",
            as_number(row["joules"] / 3.6e6),
            f"{100 * share:.1f} %",
            *(as_number(row[name]) for name in more),
        )
    console.below(table)
