"""Several runs side by side, the best marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from .layout import HOUR, as_number, new_console, new_table
from .recorded import show_recorded

if TYPE_CHECKING:
    from ...compare import Measure

__all__ = ["show_comparison"]

_WIDEST = 300
_CHANGES = ("wait_mean", "bounded_slowdown_mean")
_ASIDE = ("wait_median", "killed")  # left out where there are more columns than these


def show_comparison(
    rows: Sequence[dict[str, Any]],
    measures: Sequence[Measure] | None = None,
    *,
    assumed: str = "",
    recorded: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Print one line per run; ``*`` marks the best, changes are against the first.

    Parameters
    ----------
    rows : measures of each run, with its policy and on named nodes its placement.
    measures : which columns the rows have; default: those of every comparison.
    assumed : the watts that energies rest on where nobody gave any.
    recorded : by run, recorded beside simulated waits, as a summary has them.
    """
    from ...compare import MEASURES, best, change

    if measures is None:
        stated = not rows[0].get("power_model")
        measures = [each for each in MEASURES if stated or each.path[0] != "energy"]
    hours = any(row["wait_mean"] > HOUR for row in rows)
    unit, scale = ("h", HOUR) if hours else ("s", 1.0)
    headings = {
        "wait_mean": f"mean\nwait {unit}",
        "wait_median": f"median\nwait {unit}",
        "wait_p95": f"95 %\nwait {unit}",
        "sojourn_mean": f"mean\nresp. {unit}",
        "bounded_slowdown_mean": "bounded\nslowdown",
        "utilisation": "utili-\nsation",
        "makespan": "makespan\nh",
        "energy_kwh": "energy\nkWh",
        "peas_kwh": "jobs'\nkWh",
        "power_peak": "peak\nkW",
        "cost": "cost",
        "carbon_kg": "CO2\nkg",
        "killed": "killed\njobs",
        "cancelled": "cancel-\nled",
        "restarts": "re-\nstarts",
    }
    # What comes first is what a reader looks for; more columns than that find no place.
    shown = sorted(measures, key=lambda measure: list(headings).index(measure.name))
    if len(measures) > len(MEASURES):
        # Beside other things that befall jobs, that some are killed is no aside.
        aside = _ASIDE[:1] if shown[-1].name == "restarts" else _ASIDE
        shown = [measure for measure in shown if measure.name not in aside]

    def text(row: dict[str, Any], measure: Measure) -> str:
        value = row[measure.name]
        if measure.name == "utilisation":
            return f"{100 * value:.2f} %" if math.isfinite(value) else "-"
        if measure.name == "makespan":
            return as_number(value / HOUR)
        if measure.name == "power_peak":
            return as_number(value / 1e3)
        return as_number(value / scale if measure.name.startswith(("wait", "sojourn")) else value)

    titles = []
    for measure in shown:
        titles += [headings[measure.name], *(["change"] if measure.name in _CHANGES else [])]
    table = new_table("run" if "run" in rows[0] else "policy", *titles, "time\ns")
    tops = {measure.name: best(rows, measure) for measure in shown}
    for place, row in enumerate(rows):
        cells = []
        for measure in shown:
            top = place in tops[measure.name]
            mark, style = ("*", "bold green") if top else (" ", "")
            cells.append(Text(text(row, measure) + mark, style=style))
            if measure.name in _CHANGES:
                relative = change(row, rows[0], measure) if place else math.nan
                cells.append(Text(f"{100 * relative:+.1f} %" if math.isfinite(relative) else ""))
        table.add_row(Text(_label(row)), *cells, f"{row['seconds']:.2f}")
    console = new_console()
    # Columns cut short would say nothing; lines that wrap still do.
    wide = console.options.update(width=_WIDEST, max_width=_WIDEST)
    console.width = max(console.width, table.__rich_measure__(console, wide).maximum)
    console.print(table)
    names = {measure.name for measure in shown}
    for words in _legend(names, _label(rows[0]), assumed if "energy_kwh" in names else ""):
        console.print(Text(words, style="dim"), soft_wrap=True)
    show_recorded(console, recorded or {})


def _legend(names: set[str], first: str, assumed: str) -> Iterator[str]:
    """What the table does not say by itself."""
    yield f"* best; change against {first}"
    yield "all of it is simulated: what jobs would wait; time: of the simulation alone"
    if "peas_kwh" in names:
        yield "jobs' kWh: only processors of jobs, at full load; energy: busy and idle nodes"
    if "sojourn_mean" in names:
        yield "resp.: response time, from submit to end"
    if assumed:
        yield f"energy and what rests on it: {assumed}"


def _label(row: dict[str, Any]) -> str:
    if "run" in row:
        return str(row["run"])
    return f"{row['policy']}, {row['placement']}" if "placement" in row else str(row["policy"])
