"""The page of a difference: two sides on one log."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...__about__ import __version__
from ...errors import plural
from ...run.folder import provenance, write_run
from ...study.changes import Change, ClassChange
from ...study.difference import Difference
from ..figures.style import duration, number
from .answers import Answer
from .folder import read_run
from .pack import Packer
from .parts import Cell, Figure, Page, Section, Table
from .sections import distribution_charts, distributions, not_modelled, over_time
from .subjects import RunFolder
from .timeline import describe_timeline
from .writing import check_name, rendered, write_page

_SHOWN = 30
_FEW = 12  # rows that a low chart has room for
_COLORS = {"better": "@0", "worse": "@1", "no sure difference": "@muted", "same": "@muted"}
_WORDS = {
    "better": "waits less",
    "worse": "waits longer",
    "no sure difference": "no sure difference",
}
_MINUTE = 60.0
_TICKS = (60.0, 600.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)
_METHOD = (
    "Both sides run on the log itself, which gives the numbers, and on {draws} logs drawn from its "
    "blocks ({block}) with replacement, which give the intervals: those of the ratio of both "
    "sides on the same draw, by Student's t and the delta method. A difference is called better "
    "or worse where its 95 % interval does not hold 0. Classes are judged one by one: of twenty "
    "classes without any difference one is called so by chance. A class whose jobs all came in one "
    "or two blocks is the same in every draw that has it, and its interval is too narrow."
)


def write_difference(difference: Difference, path: str | os.PathLike[str]) -> Path:
    """Write a difference as a page of HTML that is complete in itself, and return its path."""
    check_name(path)
    packer = Packer()
    return write_page(rendered(_page(difference, packer), packer), path)


def _page(difference: Difference, packer: Packer) -> Page:
    question = (
        f"What changes from {difference.a} to {difference.b} for the "
        f"{plural(difference.jobs, 'job')} of {Path(difference.log).name}?"
    )
    answer = Answer(f"{difference.a} and {difference.b}", question, tuple(difference.in_words()))
    sections = [_adequacy(difference), _lines(difference), _measures(difference)]
    charts: dict[str, Any] = {}
    for by, every in difference.classes.items():
        if every:
            shown = _most_changed(by, every)
            charts[f"changes-{by}"] = _describe_changes(shown)
            sections.append(_classes(by, shown, difference))
    runs = _runs(difference)
    charts |= distribution_charts(runs) | {"timeline": describe_timeline(runs, packer)}
    sections += [distributions(runs, ()), over_time(runs)]
    sections += not_modelled(difference.not_modelled)
    return Page(
        answer,
        [],
        sections,
        charts,
        [_METHOD.format(draws=difference.draws, block=difference.block)],
        [],
        [("made by", f"sojourn {__version__}"), ("log", difference.log)],
    )


def _adequacy(difference: Difference) -> Section:
    trust = difference.trust
    if trust is None:
        text = "The log recorded no starts, so nobody knows how near these runs are to them."
        return Section("adequacy", "How near the model comes to the log", (text,))
    rows: list[list[Cell]] = [
        ["jobs with recorded starts", f"{trust.jobs:,}"],
        ["mean wait, recorded", f"{trust.recorded:,.0f} s"],
        [f"mean wait, {difference.a}", f"{trust.wait:,.0f} s"],
        ["root mean square difference of times in the system", f"{trust.P:,.0f} s"],
        ["over the mean time in the system", f"{100 * trust.relative:.1f} %"],
        ["jobs within a minute", f"{100 * trust.near:.1f} %"],
    ]
    if trust.members > 1:
        what = "the same between runs of the model whose loops begin at other moments"
        rows.append([f"{what} ({plural(trust.members, 'run')}, median)", f"{trust.itself:,.0f} s"])
    table = Table(["", "value"], rows, f"{difference.a} and the log")
    return Section("adequacy", "How near the model comes to the log", (), (), [table])


def _lines(difference: Difference) -> Section:
    rows: list[list[Cell]] = [
        [line.name, line.a if line.a is not None else "-", line.b if line.b is not None else "-"]
        for line in difference.lines
    ]
    if not rows:
        return Section("lines", "Lines that differ", ("None.",))
    table = Table(["line", difference.a, difference.b], rows, keys=3)
    return Section("lines", "Lines that differ", (), (), [table])


def _measures(difference: Difference) -> Section:
    rows = [[change.what.title, *_cells(change)] for change in difference.measures]
    table = Table(["measure", difference.a, difference.b, "difference", "change", "verdict"], rows)
    return Section("measures", "All jobs", difference.remarks(), (), [table])


def _classes(by: str, rows: Sequence[ClassChange], difference: Difference) -> Section:
    cells: list[list[Cell]] = [
        [row.name, f"{row.jobs:,}", *_cells(row.wait), _cells(row.slowdown)[2]] for row in rows
    ]
    heads = [
        by,
        "jobs",
        f"mean wait (s), {difference.a}",
        difference.b,
        "difference",
        "change",
        "verdict",
    ]
    notes = []
    every = len(difference.classes[by])
    if every > len(rows):
        notes.append(
            f"The {len(rows)} of {every} whose waits change most in all, jobs times change."
        )
    notes.append(difference.left_in_words(by))
    table = Table(heads, cells, note=" ".join(notes))
    figure = Figure(
        f"changes-{by}",
        f"Change of the mean wait by {by}, with intervals",
        "Dots are changes of the mean wait, lines their 95 % intervals.",
        tall=len(rows) > _FEW,
    )
    return Section(f"by-{by}", f"By {by}: who gains, who loses", (), (figure,), [table])


def _most_changed(by: str, rows: Sequence[ClassChange]) -> list[ClassChange]:
    """The classes whose waits change most in all: those that gain first, widths as they are."""
    weight = [-abs(row.wait.difference.estimate) * row.jobs for row in rows]
    kept = sorted(np.argsort(weight, kind="stable")[:_SHOWN].tolist())
    chosen = [rows[k] for k in kept]
    return chosen if by == "width" else sorted(chosen, key=lambda row: row.wait.difference.estimate)


def _describe_changes(rows: Sequence[ClassChange]) -> dict[str, Any]:
    """Return the chart of changes of the mean wait: a dot and its interval for each class."""
    data = []
    for verdict, words in _WORDS.items():
        mine = [row for row in rows if _COLORS[row.wait.verdict] == _COLORS[verdict]]
        if not mine:
            continue
        low, middle, high = (
            _places([getattr(row.wait.difference, name) for row in mine])
            for name in ("low", "estimate", "high")
        )
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "uid": verdict,
                "name": words,
                "x": middle.tolist(),
                "y": [row.name for row in mine],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": (high - middle).tolist(),
                    "arrayminus": (middle - low).tolist(),
                    "color": _COLORS[verdict],
                    "thickness": 1.5,
                    "width": 0,
                },
                "customdata": [_in_words(row) for row in mine],
                "hovertemplate": "%{customdata}<extra></extra>",
                "marker": {"color": _COLORS[verdict], "size": 8},
            }
        )
    ends = [abs(end) for row in rows for end in (row.wait.difference.low, row.wait.difference.high)]
    reach = max(*ends, _TICKS[0])
    ticks = [tick for tick in _TICKS if tick <= reach]
    layout = {
        "hovermode": "closest",
        "showlegend": True,
        "xaxis": {
            "title": {"text": "change of the mean wait (logarithmic); left of 0 is better"},
            "tickvals": _places([*(-tick for tick in reversed(ticks)), 0, *ticks]).tolist(),
            "ticktext": [
                *(f"\u2212{duration(tick)}" for tick in reversed(ticks)),
                "0",
                *(f"+{duration(tick)}" for tick in ticks),
            ],
            "range": (1.05 * _places([-reach, reach])).tolist(),
            "zerolinecolor": "@muted",
        },
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": [row.name for row in reversed(rows)],
            "dtick": 1,
            "range": [-0.7, len(rows) - 0.3],
        },
    }
    return {"kind": "plain", "figure": {"data": data, "layout": layout}}


def _places(seconds: Sequence[float]) -> NDArray[np.float64]:
    """Places on an axis that is straight within a minute of 0 and logarithmic beyond.

    Changes of seconds and of days are on one chart, to both sides of 0.
    """
    places: NDArray[np.float64] = np.arcsinh(np.asarray(seconds, np.float64) / _MINUTE)
    return places.round(6)


def _in_words(row: ClassChange) -> str:
    _, _, (middle, reach), share, verdict = _cells(row.wait)
    name = row.name.replace("&", "&amp;").replace("<", "&lt;")
    return f"{name}, {plural(row.jobs, 'job')}: {middle} s ({share})<br>{reach} s: {verdict}"


def _runs(difference: Difference) -> list[RunFolder]:
    """Both runs on the log itself, as a folder of each would be read."""
    origin = provenance("diff", {})
    log = Path(difference.log)
    if log.is_file():
        digest = hashlib.sha256(log.read_bytes()).hexdigest()
        origin["input"] = {"path": str(log), "sha256": digest, "jobs": difference.jobs}
    runs = []
    for name, result in zip((difference.a, difference.b), difference.runs, strict=True):
        with TemporaryDirectory() as folder:
            write_run(result, folder, origin=origin)
            runs.append(read_run(Path(folder), name))
    return runs


def _cells(change: Change) -> list[Any]:
    a, b, estimate, low, high = map(number, change.shown)
    return [a, b, (estimate, f"{low} to {high}"), change.in_percent, change.verdict]
