"""Several runs side by side, the best marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from ...measures.entry import Measure
from .layout import Terminal, as_number, new_table
from .summary import show_recorded

_CHANGES = ("wait_mean", "bounded_slowdown_mean")
_ASIDE = ("wait_median", "killed")  # left out where there are more columns than these
_MANY = 8
_LISTED = 8  # runs or points whose jobs that never fit are said one by one


def show_comparison(
    rows: Sequence[dict[str, Any]],
    measures: Sequence[Measure],
    *,
    assumed: str = "",
    recorded: Mapping[str, Mapping[str, Any]] | None = None,
    unaccepted: Mapping[str, int] | None = None,
    currency: str = "",
) -> None:
    """Print one line per run; ``*`` marks the best, changes are against the first.

    Parameters
    ----------
    rows : measures of each run, with its policy and on named nodes its placement.
    measures : which columns are shown, in their order.
    assumed : the watts that energies rest on where nobody gave any.
    recorded : by run, recorded beside simulated waits, as a summary has them.
    unaccepted : by run, jobs that never fit.
    currency : of costs.
    """
    from ...run.compare import best, change

    shown = list(measures)
    if len(shown) > _MANY:
        # Beside other events that strike jobs, that some are killed is no aside.
        aside = _ASIDE[:1] if any(measure.kind == "events" for measure in shown) else _ASIDE
        shown = [measure for measure in shown if measure.name not in aside]

    units = {measure.name: measure.unit_of_column(rows) for measure in shown}

    def text(row: dict[str, Any], measure: Measure) -> str:
        value = row[measure.name]
        if measure.unit == "share":
            return f"{measure.shown(value):.2f} %" if math.isfinite(value) else "-"
        return as_number(value / units[measure.name].size)

    def heading(measure: Measure) -> str:
        if measure.name == "cost":
            return f"cost\n{currency}".rstrip()
        return measure.column("" if measure.unit == "share" else units[measure.name].name)

    titles = []
    for measure in shown:
        titles += [heading(measure), *(["change"] if measure.name in _CHANGES else [])]
    table = new_table("run" if "run" in rows[0] else "policy", *titles, "time\ns")
    tops = {measure.name: best(rows, measure) for measure in shown}
    for place, row in enumerate(rows):
        cells: list[str | Text] = []
        for measure in shown:
            top = place in tops[measure.name]
            mark, style = ("*", "bold green") if top else (" ", "")
            cells.append(Text(text(row, measure) + mark, style=style))
            if measure.name in _CHANGES:
                relative = change(row, rows[0], measure) if place else math.nan
                cells.append(f"{100 * relative:+.1f} %" if math.isfinite(relative) else "")
        table.add_row(_label(row), *cells, f"{row['seconds']:.2f}")
    console = Terminal()
    console.whole(table)
    names = {measure.name for measure in shown}
    for words in _legend(names, _label(rows[0]), assumed if "energy_kwh" in names else ""):
        console.note(words)
    if counts := unaccepted_in_words(list((unaccepted or {}).items())):
        console.warn(f"jobs that never fit, and are in no number above: {counts}")
    show_recorded(console, recorded or {})


def unaccepted_in_words(counts: Sequence[tuple[str, float]], *, chosen: bool = False) -> str:
    """Return how many jobs of each run or point never fit, of many the ends.

    Empty if all are alike, as waits and energies are of the same jobs then; of points that a search
    has chosen among others, which may have served more jobs, only if all could be served.
    """
    several = {count for _, count in counts}
    if len(several) < 2 and not (chosen and any(several)):
        return ""
    if len(counts) > _LISTED:
        ordered = sorted(counts, key=lambda count: count[1])
        least, most = (f"{name} {as_number(count)}" for name, count in (ordered[0], ordered[-1]))
        return f"from {least} to {most}"
    return ", ".join(f"{name} {as_number(count)}" for name, count in counts)


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
