"""Large tables: read at once, and in every way as cell by cell."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import LogError
from sojourn.jobs import Jobs, read_csv
from sojourn.jobs.formats import _plain_table, csv

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
        *["0000-02-11T22:36:19", "2021-02-30T22:36:19", "2021-02-11T22:36:60", "Unknown", "-1"],
        *["2021-02-11T22:36:19Z", "2021-02-11 22:36", "2021-02-11T22:36:19.5", "1613082979"],
        *["01:02:99", "1:02:03", "1-2:03:04", "0001-02:03:04", "1 day, 2:03:04", "90 min", "1:2:3"],
        *["02-03-04", "aa:bb:cc", "unlimited", "12_3", "5.batch", "caf\u00e9", "\x00", 80 * "x"],
        *[
            '"7"',
            '"a b"',
            '"a,b"',
            '"a""b"',
            '"',
            'x"y',
            '"x"y',
            '""',
            '"a\nb"',
            ' "7"',
            '",',
            ',"',
        ],
    ]
)
CELL = st.one_of(PLAIN, PLAIN, PLAIN, REAL)
DATE = st.datetimes(datetime(1970, 1, 1), datetime(2037, 1, 1)).map(
    lambda date: date.isoformat(timespec="seconds")
)
# Around the nights on which clocks change.
NIGHT = st.integers(0, 7200).map(
    lambda second: str(datetime(2021, 3, 28, 1, 30) + timedelta(seconds=second))
)
SPAN = st.tuples(st.integers(0, 400), st.integers(0, 86399)).map(
    lambda span: f"{f'{span[0]}-' if span[0] else ''}{timedelta(seconds=span[1])!s:0>8}"
)
WORD = st.sampled_from(["anna", "Bert", "", "None", "4G", "512M", "yes", "7", "rack 1"])
KINDS = {
    **dict.fromkeys(("submit", "begin", "start", "end"), (CELL, CELL, DATE, NIGHT)),
    **dict.fromkeys(("runtime", "estimate"), (CELL, CELL, SPAN)),
    **dict.fromkeys(("user", "status", "memory", "colour", "rack", "features"), (CELL, WORD)),
}


@st.composite
def columns(draw: st.DrawFn, names: list[str], rows: int) -> list[list[str]]:
    """Draw a kind of values for each column, then its values."""
    kinds = [draw(st.sampled_from(KINDS.get(name, (CELL, CELL, WORD)))) for name in names]
    return [draw(st.lists(kind, min_size=rows, max_size=rows)) for kind in kinds]


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


@settings(deadline=None, max_examples=600)
@given(
    data=st.data(),
    names=st.lists(st.sampled_from(NAMES), min_size=3, max_size=8),
    rows=st.integers(1, 6),
    strange=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7), STRANGE), max_size=2),
    together=st.sampled_from([1, 2, 1 << 14]),
    sample=st.sampled_from([0, 60, 1 << 16]),
    quoted=st.booleans(),
    layout=st.tuples(
        st.sampled_from([",", ",", ";", "\t", "|", " "]),
        st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\r"]),
        st.sampled_from(["", "", "\ufeff", "\n", " \n", ",,\n"]),
        st.sampled_from(["", "\n", "\n  \n", "\n1\n"]),
    ),
)
def test_both_readers_agree(
    tmp_path_factory, data, names, rows, strange, together, sample, quoted, layout
) -> None:
    names = [*{**dict.fromkeys(("submit", "runtime", "procs")), **dict.fromkeys(names)}]
    cells = [list(row) for row in zip(*data.draw(columns(names, rows)), strict=True)]
    if quoted:
        cells = [[f'"{cell}"' for cell in row] for row in cells]
    for row, column, cell in strange:
        cells[row % len(cells)][column % len(names)] = cell
    sep, end, before, after = layout
    text = before + end.join(sep.join(row) for row in [names, *cells]) + after
    path = tmp_path_factory.mktemp("plain") / "jobs.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        for module in (_plain_table, csv):
            patch.setattr(module, "ROWS", together)
        patch.setattr(_plain_table, "_SAMPLE", sample)
        for options in ({}, {"sep": sep}, {"timezone": "Europe/Berlin"}):
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
        ("submit,runtime,procs,colour\n0,10,4,caf\u00e9\n", True),
        ("submit,runtime,procs\n0,10,4\n5,1:00:00,1\n", True),
        ('submit,runtime,procs\n0,"10",4\n', True),
        ('submit,runtime,procs,colour\n0,10,4,"red, or\nblue"\n', True),
        ('submit,runtime,procs,colour\n0,10,4,"so ""red"""\n', False),
        ("submit,runtime,procs,user\n2021-02-11 22:36:19,1-00:00:00,4,anna\n", True),
        ("submit,runtime,procs\n0,10,four\n", False),
        ("submit,runtime,procs\n0,10,0x10\n", False),
        ("submit runtime procs\n0 10  4\n", False),
        ("submit,runtime,procs\n0,10\n", False),
        ("submit,runtime,procs\n", False),
        ("label,submit,runtime,procs\n12_3,0,10,4\n", True),
        ("job,submit,runtime,procs\n12_3,0,10,4\n", True),
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
