"""Large tables of plain numbers: read at once, and in every way as cell by cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import LogError
from sojourn.workload import Jobs, _plain_table, csv, read_csv

NAMES = (
    *("job", "submit", "runtime", "procs", "estimate", "user", "status", "memory", "colour"),
    *("rack", "features", "begin", "whole_node", "memory_per_node", "cores_per_node", "start"),
)
PLAIN = st.integers(-3, 10**6).map(str)
REAL = st.floats(0, 1e12).map(repr)
STRANGE = st.sampled_from(
    [
        *["", " ", " 7", "7 ", "+5", "-0", "007", "1.0", "2.5", "1e3", "1e400", ".5", "5.", "0x10"],
        *[
            "nan",
            "NaN",
            "nan(1)",
            "inf",
            "-inf",
            "1_000",
            "9223372036854775807",
            "9223372036854775808",
        ],
        *["123456789012345678901", "anna", "4G", "1-02:03:04", "2021-02-11T22:36:19", "'7", "٣"],
        *["0.1000000000000000055511151231257827", "9007199254740993", "\t7", "1\x0b"],
    ]
)
CELL = st.one_of(PLAIN, PLAIN, PLAIN, REAL)


def outcome(path: Path, **options: object) -> object:
    """Everything that a reader says, or its complaint."""
    try:
        jobs = read_csv(path, **options)
    except LogError as error:
        return str(error)
    columns = {name: (jobs[name].dtype, jobs[name].tobytes()) for name in jobs.names}
    return columns, jobs.label.tolist(), list(jobs.header), jobs.report, jobs.source


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> tuple[object, object]:
    """The outcomes at once and cell by cell."""
    with monkeypatch.context() as patch:
        patch.setattr(_plain_table, "_LARGE", 0)
        at_once = outcome(path, **options)
        patch.setattr(_plain_table, "_LARGE", 2**62)
        return at_once, outcome(path, **options)


@settings(deadline=None, max_examples=400)
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=3, max_size=8),
    rows=st.lists(st.lists(CELL, min_size=8, max_size=8), min_size=1, max_size=6),
    strange=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7), STRANGE), max_size=2),
    together=st.sampled_from([1, 2, 1 << 14]),
    layout=st.tuples(
        st.sampled_from([",", ";", "\t", "|", " "]),
        st.sampled_from(["\n", "\r\n", "\n\n", "\r"]),
        st.sampled_from(["", "\ufeff", "\n", " \n", ",,\n"]),
        st.sampled_from(["", "\n", "\n  \n", "\n1\n"]),
    ),
)
def test_both_readers_agree(tmp_path_factory, names, rows, strange, together, layout) -> None:
    names = [*{**dict.fromkeys(("submit", "runtime", "procs")), **dict.fromkeys(names)}]
    cells = [(row * 2)[: len(names)] for row in rows]
    for row, column, cell in strange:
        cells[row % len(cells)][column % len(names)] = cell
    sep, end, before, after = layout
    text = before + end.join(sep.join(row) for row in [names, *cells]) + after
    path = tmp_path_factory.mktemp("plain") / "jobs.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        for module in (_plain_table, csv):
            patch.setattr(module, "ROWS", together)
        for options in ({}, {"sep": sep}):
            at_once, by_cell = both(path, patch, **options)
            assert at_once == by_cell


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("submit,runtime,procs\n0,10,4\n5,2.5,1\n", True),
        ("\ufeffsubmit,runtime,procs\r\n0,10,4\r\n", True),
        ("submit,runtime,procs,estimate,colour\n0,10,4,,red\n", True),
        ("submit,runtime,procs,submit2,submit2\n0,10,4,1,1\n", True),
        ("submit,runtime,procs,colour,rack,watts\n0,10,4,red,007,2.5\n1,1,1,,,\n", True),
        ("submit,runtime,procs,whole_node\n0,10,4,yes\n1,1,1,01\n", True),
        ("submit,runtime,procs,colour\n0,10,4,caf\u00e9\n", False),
        ("submit,runtime,procs\n0,10,4\n5,1:00:00,1\n", False),
        ('submit,runtime,procs\n0,"10",4\n', False),
        ("submit,runtime,procs\n0,10,0x10\n", False),
        ("submit runtime procs\n0 10  4\n", False),
        ("submit,runtime,procs\n0,10\n", False),
        ("submit,runtime,procs\n", False),
        ("label,submit,runtime,procs\n12_3,0,10,4\n", False),
    ],
)
def test_what_is_plain(tmp_path: Path, monkeypatch, text: str, is_plain: bool) -> None:
    read = []

    def sheet(self, choice, timezone):
        read.append(made := original(self, choice, timezone))
        return made

    original = _plain_table.PlainTable.sheet
    monkeypatch.setattr(_plain_table.PlainTable, "sheet", sheet)
    path = tmp_path / "jobs.csv"
    path.write_text(text, encoding="utf-8", newline="")
    at_once, by_cell = both(path, monkeypatch)
    assert at_once == by_cell
    assert any(made is not None and len(made) for made in read) is is_plain


def test_a_large_table_is_read_at_once_and_a_bad_line_of_it_named(tmp_path: Path) -> None:
    rows = 60_000
    lines = [f"{k},{k * 0.1!r},{k % 97},{1 + k % 8}" for k in range(1, rows + 1)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(["job,submit,runtime,procs", *lines]))
    jobs = read_csv(path)
    assert path.stat().st_size > _plain_table._LARGE
    numbers = np.arange(1, rows + 1)
    expected = {"submit": numbers * 0.1, "runtime": numbers % 97, "procs": 1 + numbers % 8}
    for name, column in Jobs({"job": numbers, **expected}).to_pandas().items():
        assert np.array_equal(jobs[str(name)], column)
    further = [f"{line},{k % 3},{k / 8!r},rack {k % 5}" for k, line in enumerate(lines)]
    path.write_text("\n".join(["job,submit,runtime,procs,mics,watts,rack", *further]))
    open_table = read_csv(path)
    assert open_table.further == ("mics", "watts", "rack")
    assert open_table["mics"].tolist() == [k % 3 for k in range(rows)]
    assert open_table["watts"].tolist() == [k / 8 for k in range(rows)]
    assert open_table.labels("rack").tolist() == [f"rack {k % 5}" for k in range(rows)]
    lines[40_000] = "40001,ten,3,1"
    path.write_text("\n".join(["job,submit,runtime,procs", *lines]))
    with pytest.raises(LogError, match=r"line 40002.*'ten'"):
        read_csv(path)
