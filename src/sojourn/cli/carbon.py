"""``sojourn carbon``: what it saves to start a job when the electricity is clean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError
from ._options import AsJson
from ._results import print_json


def carbon(
    series: Annotated[
        Path,
        typer.Argument(
            metavar="SERIES", help="Carbon intensities: CSV (also .gz, .xz) of time,g_per_kwh."
        ),
    ],
    length: Annotated[
        str, typer.Option(metavar="TIME", help="How long the job runs, such as 6h.")
    ] = "1h",
    slack: Annotated[
        str, typer.Option(metavar="TIME", help="How much later it may start, such as 24h.")
    ] = "24h",
    zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE", help="Time zone of the hours of the day, such as Europe/Berlin."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write the emissions at every instant as CSV."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what a job alone would save by waiting for clean electricity.

    At every instant of a series: the emissions of a job of 1 kW that starts at once, that starts
    at the best instant within the slack, and that may pause as well; in the mean, and by the hour.

    Example: sojourn carbon DE-2022.csv --length 6h --slack 24h --zone Europe/Berlin
    """
    from ..measures.cost import Clock, read_carbon, shift_emissions, shifted_by_hour
    from ..run.keys.describing import TIME
    from ..run.keys.typed import number_or_text

    def seconds(name: str, text: str) -> float:
        try:
            return float(TIME.read(number_or_text(text)))
        except ValueError as error:
            raise OptionError(f"--{name}: {error}") from None

    took, later = seconds("length", length), seconds("slack", slack)
    known = read_carbon(series, Clock.epoch())
    shifted = shift_emissions(known, length=took, slack=later)
    hours = shifted_by_hour(shifted, known, zone)
    if out is not None:
        from ..run.folder import write_rows

        columns = {
            "time": shifted.time,
            "at_once": shifted.at_once,
            "uninterrupted": shifted.uninterrupted,
            "interrupted": shifted.interrupted,
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        write_rows(out, [dict(zip(columns, row, strict=True)) for row in rows])
    whole, paused = shifted.savings()
    facts = {
        "series": str(series),
        "column": known.column,
        "length": took,
        "slack": later,
        "zone": zone or ("UTC" if known.is_dated else None),
        "instants": len(shifted.time),
        "at_once": float(shifted.at_once.mean()),
        "saving": {"uninterrupted": whole, "interrupted": paused},
        "by_hour": hours,
    }
    if json:
        print_json(facts)
        return
    _show(facts)


def _show(facts: dict[str, Any]) -> None:
    from ..report.text import Terminal, as_number, new_table

    console = Terminal()
    saving = facts["saving"]
    rows = [
        ("series", f"{facts['series']}: {facts['instants']:,} instants at which the job can start"),
        *([] if facts["column"] == "g_per_kwh" else [("values", facts["column"])]),
        ("job", f"{_hours(facts['length'])} at 1 kW, up to {_hours(facts['slack'])} later"),
        ("at once", f"{as_number(facts['at_once'])} g of CO2 in the mean"),
        ("best start", f"{_percent(saving['uninterrupted'])} less"),
        ("with pauses", f"{_percent(saving['interrupted'])} less"),
        ("hours", f"of {facts['zone']}" if facts["zone"] else "from second 0 of the series"),
    ]
    console.facts(rows)
    table = new_table("hour", "at once\ng", "best start\nless by", "with pauses\nless by")
    for row in facts["by_hour"]:
        shares = (_percent(row[name]) for name in ("uninterrupted", "interrupted"))
        table.add_row(f"{row['hour']:02}", as_number(row["at_once"]), *shares)
    console.below(table)


def _hours(seconds: float) -> str:
    if 0 < seconds < 3600:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3600:g} h"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
