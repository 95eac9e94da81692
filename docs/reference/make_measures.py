"""Write ``measures.md``, and the tables of measures in ``summary.md``, from the catalogue.

Run ``python docs/reference/make_measures.py`` after changing a measure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from sojourn.measures.catalogue import CATALOGUE, DISTRIBUTIONS
from sojourn.measures.entry import Measure

MEASURES = Path(__file__).with_name("measures.md")
SUMMARY = Path(__file__).with_name("summary.md")

_HEAD = """\
# Measures

<!-- Written by docs/reference/make_measures.py; change the catalogue, then run it. -->

Every measure of a run, by the name that `--minimise`, `--maximise`, `--measures` and `--precision`
take and that columns of `sojourn compare --csv` and of the [runs of a study](study-files.md) have.
All tables, charts and pages read labels, units, bounds and the better end from this one list
(`sojourn.measures.catalogue`); a [measure of your own](../guides/own-measure.md) joins it.

Numbers are kept in the unit given here, shares from 0 to 1; tables and pages choose larger units.
Intervals on pages end at the bounds. Means are over accepted jobs, or exact time averages from the
first submit to the last end.
"""
_KINDS = {
    "job": "Of jobs",
    "system": "Of the machine over time",
    "energy": "Of energy",
    "cost": "Of what energy costs",
    "count": "Numbers of jobs, nodes and processors",
    "events": "Of external events",
}
_NEEDS = {
    "": "",
    "nodes": "on named nodes",
    "events": "with external events",
    "failures": "with failures or checkpoints",
    "sleep": "where nodes sleep",
    "price": "with a price",
    "carbon": "with a carbon intensity",
    "defer": "where jobs are held",
}


def _unit(measure: Measure) -> str:
    return measure.unit or "1"


def _bounds(measure: Measure) -> str:
    low = "−∞" if math.isinf(measure.low) else f"{measure.low:g}"
    return f"{low} to {'∞' if math.isinf(measure.high) else f'{measure.high:g}'}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |".replace("  ", " ")


def _of_kind(kind: str) -> str:
    rows = [
        _row(
            f"`{each.name}`",
            each.label,
            _unit(each),
            each.better,
            _bounds(each),
            f"`{'.'.join(each.path)}`",
            ", ".join(filter(None, (each.meaning, _needed(each)))),
            each.source,
        )
        for each in CATALOGUE
        if each.kind == kind
    ]
    head = "| name | label | unit | better | from, to | in the summary | meaning | source |"
    return "\n".join([f"## {_KINDS[kind]}\n", head, "|---" * 8 + "|", *rows, ""])


def _needed(measure: Measure) -> str:
    # Every run has the mean response time; only tables of named nodes show it.
    return "" if measure.path[0] in DISTRIBUTIONS else _NEEDS[measure.needs]


def page() -> str:
    """Return the page of measures."""
    return "\n".join([_HEAD, *map(_of_kind, _KINDS)])


def _keys(measures: Iterable[tuple[str, Measure]]) -> str:
    rows = [
        _row(f"`{key}`", each.label, _unit(each), each.meaning, each.source)
        for key, each in measures
    ]
    return "\n".join(["| key | label | unit | meaning | source |", "|---|---|---|---|---|", *rows])


def tables() -> dict[str, str]:
    """Return the tables of the page of the summary, by the name of their mark."""
    every = [each for each in CATALOGUE if not each.needs]
    return {
        "distributions": _keys(DISTRIBUTIONS.items()),
        "measures": _keys((each.name, each) for each in every if each.path == (each.name,)),
        "energy": _keys((each.path[1], each) for each in every if each.path[0] == "energy"),
    }


def summary_page() -> str:
    """Return the page of the summary with its tables written anew."""
    text = SUMMARY.read_text(encoding="utf-8")
    for name, table in tables().items():
        begin, end = f"<!-- {name}: from make_measures.py -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"summary.md has no mark '{begin}'"
        text = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    MEASURES.write_text(page(), encoding="utf-8")
    SUMMARY.write_text(summary_page(), encoding="utf-8")
