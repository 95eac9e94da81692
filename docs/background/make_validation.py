"""Run the cases of ``tests/theory`` and write ``theory-vs-simulation.md``, in a few minutes.

Call it as ``python docs/background/make_validation.py``.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from textwrap import fill

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from theory.cases import CASES  # noqa: E402
from theory.replications import JOBS, REPLICATIONS, WARM_UP, Row  # noqa: E402

PAGE = HERE / "theory-vs-simulation.md"

_HEAD = """\
# Theory against simulation

<!-- Written by docs/background/make_validation.py from the cases in tests/theory. -->

The formulas of `sojourn.theory` know nothing of the engine, and the engine nothing of them. Where
both answer the same question, one checks the other. Each of the {cases} parameter sets below was
run {replications} times with its own random numbers; an interval is Student's, at 99 %, from the
differences between runs alone, because the waits of one run depend on each other. Runs of
{jobs:,} jobs start empty, and their first {warm_up:.0f} % is left out. Loads are at most 0.85, so
what is left of the start is far below the width of an interval.

{verdict}

The last digits of the simulation may differ with another version of NumPy; the column *theory* is
compared with the code by the test suite (`tests/theory/test_against_engine.py`), which runs all of
this again.
"""

_NOTES = {
    "M/M/s": "`multiserver_wait`: jobs of one server.",
    "two servers": "`two_server`: jobs need one server with probability p₁, else both; μ by class.",
    "two servers, random switching": (
        "`two_server(..., speeds, switch)` against `randomized`: a departure lowers the speed with "
        "probability *down*, an arrival raises it with probability *up*. A busy server draws "
        "20 + 30 v³ W at speed v, an idle one 15 + v W."
    ),
    "two servers, count hysteresis": (
        "`two_server(..., speeds, thresholds)` against `count_hysteresis`, with the same watts."
    ),
    "small system": "`small_system`: p and μ by width.",
    "small system, random switching": "The same with random switching.",
    "small system, count hysteresis": "The same with count hysteresis.",
    "stability constant": (
        "`stability_constant`: all jobs wait at time 0, and every C E[S] seconds one starts."
    ),
    "saturated, rates by class": "`saturated_system`: the same with service rates by width.",
    "random speed scaling": (
        "`max_throughput`: jobs arrive at the rate found, beside a backlog that never runs out; "
        "they must leave at that rate too."
    ),
    "infinite servers": (
        "`infinite_servers`: each sub-request is a job, which the engine kills at its limit; under "
        "concurrent release a request is one wide job. No reading named: each sub-request has its "
        "own limit, and the others run on."
    ),
    "infinite servers, any distribution": (
        "`batch_infinite_servers`: the same with other service times and limits."
    ),
    "nodes that sleep": (
        '`sleeping_nodes` against nodes with `leave_varies = "exponential"` and '
        "`--sleep idle:exp(T)`, of 200 W busy, 95 W idle, 125 W while they boot and 10 W off."
    ),
}

_WIDTH = 98
_COLUMNS = ("parameters", "measure", "theory", "simulation", "99 % interval", "inside")


_TAIL = """\
## Delays, job by job

`kiefer_wolfowitz` and the engine under FCFS give the same delay to every one of 20,000 jobs, to the
last bit where times are whole seconds, on 1 to 1,000 servers (a test beside the others), and on
the logs of [reproductions](reproductions.md).
"""


def heading(model: str) -> str:
    """Return the title of the section of a model."""
    return model[0].upper() + model[1:]


def figure(value: float) -> str:
    """Return a number as the page has it."""
    return f"{value:.6g}"


def _table(rows: list[Row]) -> list[str]:
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---|---|---:|---:|---:|---|"]
    before = ""
    for row in rows:
        ends = (row.simulation - row.half_width, row.simulation + row.half_width)
        cells = (
            row.parameters if row.parameters != before else "",
            row.measure,
            figure(row.theory),
            f"{row.simulation:.5g}",
            "{:.5g} … {:.5g}".format(*ends),
            "yes" if row.covers(row.theory) else "**no**",
        )
        before = row.parameters
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _verdict(rows: list[Row]) -> str:
    inside = sum(row.covers(row.theory) for row in rows)
    found = sum(not row.covers(1.1 * row.theory) for row in rows)
    return fill(
        f"**{inside} of {len(rows)} intervals cover the theory**, where 99 in 100 are expected to. "
        f"A theory 10 % too high would be rejected by {found} of them.",
        _WIDTH,
    )


def text() -> str:
    """Return the whole page; runs every case."""
    rows = [row for case in CASES for row in case.compare()]
    parts = [
        _HEAD.format(
            cases=len(CASES),
            replications=REPLICATIONS,
            jobs=JOBS,
            warm_up=100 * WARM_UP,
            verdict=_verdict(rows),
        )
    ]
    for model, mine in groupby(rows, key=lambda row: row.model):
        parts.append(
            "\n".join(
                [
                    f"## {heading(model)}",
                    "",
                    fill(_NOTES[model], _WIDTH),
                    "",
                    *_table(list(mine)),
                    "",
                ]
            )
        )
    return "\n".join([*parts, _TAIL])


def read(page: str) -> list[tuple[str, str, str, str]]:
    """Return heading, parameters, measure and theory of every row of the page."""
    found, title, parameters = [], "", ""
    for line in page.splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] != _COLUMNS[0]:
            parameters = cells[0] or parameters
            found.append((title, parameters, cells[1], cells[2]))
    return found


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
