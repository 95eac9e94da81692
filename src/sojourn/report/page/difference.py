"""The page of a difference: two sides on one log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...__about__ import __version__
from ...errors import OptionError
from ...files.staging import atomic_path
from ...study.difference import Change, ClassChange, Difference
from ..figures.style import number
from .answers import Answer
from .pack import Packer
from .parts import Cell, Page, Section, Table
from .writing import rendered

__all__ = ["write_difference"]

_SHOWN = 30
_METHOD = (
    "Both sides run on the log itself, which gives the numbers, and on {draws} logs drawn from its "
    "blocks ({block}) with replacement, which give the intervals: those of the ratio of both "
    "sides on the same draw, by Student's t and the delta method. A difference is called better "
    "or worse where its 95 % interval does not hold 0. Classes are judged one by one: of twenty "
    "classes without any difference one is called so by chance."
)


def write_difference(found: Difference, path: str | os.PathLike[str]) -> Path:
    """Write a difference as a page of HTML that is complete in itself, and return its path."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{path}: a report is a page of HTML; name it FILE.html")
    text = rendered(_page(found), Packer())
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    return target


def _page(found: Difference) -> Page:
    question = (
        f"What changes from {found.a} to {found.b} for the {found.jobs:,} jobs of "
        f"{Path(found.log).name}?"
    )
    answer = Answer(f"{found.a} and {found.b}", question, tuple(found.in_words()))
    sections = [_adequacy(found), _lines(found), _measures(found)]
    sections += [_classes(by, rows, found) for by, rows in found.classes.items() if rows]
    if found.not_modelled:
        rows: list[list[Cell]] = [[what] for what in found.not_modelled]
        sections.append(
            Section("not-modelled", "Not modelled", (), (), [Table(["what, and why"], rows)])
        )
    return Page(
        answer,
        [],
        sections,
        {},
        [_METHOD.format(draws=found.draws, block=found.block)],
        [],
        [("made by", f"sojourn {__version__}"), ("log", found.log)],
    )


def _adequacy(found: Difference) -> Section:
    trust = found.trust
    if trust is None:
        text = "The log recorded no starts, so nobody knows how near these runs are to them."
        return Section("adequacy", "How near the model comes to the log", (text,))
    rows: list[list[Cell]] = [
        ["jobs with recorded starts", f"{trust.jobs:,}"],
        ["mean wait, recorded", f"{trust.recorded:,.0f} s"],
        [f"mean wait, {found.a}", f"{trust.wait:,.0f} s"],
        ["root mean square difference of times in the system", f"{trust.P:,.0f} s"],
        ["over the mean time in the system", f"{trust.relative:.1%}"],
        ["jobs within a minute", f"{trust.near:.1%}"],
    ]
    table = Table(["", "value"], rows, f"{found.a} and the log")
    return Section("adequacy", "How near the model comes to the log", (), (), [table])


def _lines(found: Difference) -> Section:
    rows: list[list[Cell]] = [
        [line.name, line.a if line.a is not None else "-", line.b if line.b is not None else "-"]
        for line in found.lines
    ]
    if not rows:
        return Section("lines", "Lines that differ", ("None.",))
    table = Table(["line", found.a, found.b], rows, keys=3)
    return Section("lines", "Lines that differ", (), (), [table])


def _measures(found: Difference) -> Section:
    rows = [[_with_unit(each), *_cells(each)] for each in found.measures]
    table = Table(["measure", found.a, found.b, "difference", "change", "verdict"], rows)
    left = found.only_a + found.only_b
    texts = [f"{left:,} jobs that run on one side only are left out."] if left else []
    return Section("measures", "All jobs", texts, (), [table])


def _classes(by: str, rows: tuple[ClassChange, ...], found: Difference) -> Section:
    cells: list[list[Cell]] = [
        [row.name, f"{row.jobs:,}", *_cells(row.wait), _cells(row.slowdown)[2]]
        for row in rows[:_SHOWN]
    ]
    heads = [by, "jobs", f"mean wait, {found.a}", found.b, "difference", "change", "verdict"]
    note = f"The {_SHOWN} classes with most jobs of {len(rows)}." if len(rows) > _SHOWN else ""
    table = Table([*heads, "bounded slowdown"], cells, note=note)
    return Section(f"by-{by}", f"By {by}", (), (), [table])


def _with_unit(change: Change) -> str:
    return f"{change.measure} ({change.unit})" if change.unit else change.measure


def _cells(change: Change) -> list[Any]:
    found = change.difference
    share = f"{change.share:+.1%}" if change.share == change.share else "-"
    reach = f"{number(found.low)} to {number(found.high)}"
    between = (number(found.estimate), reach)
    return [number(change.a), number(change.b), between, share, change.verdict]
