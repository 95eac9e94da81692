"""Rows whose cells have moved: put back where only one place is possible, else refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_tables import HEADER, row, text

from sojourn.cluster import read_specpower

NAMES = [name.strip() for name in HEADER]
GOOD = row(nodes=2, chips=4, memory=48, ops=1_234_567, full=431.0, idle=97.5)


def read(folder, *rows, header=None):
    path = folder / "table.csv"
    path.write_text(text(row(), *rows, header=header))
    return read_specpower(path)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return read(tmp_path_factory.mktemp("good"), GOOD).nodes[1].server


def test_text_that_was_not_quoted(tmp_path, good):
    at = NAMES.index("System")
    broken = [*GOOD[:at], *GOOD[at].split(","), *GOOD[at + 1 :]]
    cluster = read(tmp_path, broken)
    assert cluster.nodes[1].server == good
    assert cluster.nodes[1].server.facts["system"] == "Model 7 (Intel Xeon X5570,2.93 GHz)"
    (remark,) = cluster.report.repaired
    assert (remark.what, remark.lines) == ("cells had to be moved 1 column to the left", (3,))


@pytest.mark.parametrize("name", ["Form Factor", "1st Level Cache", "Operating System", "DIMMS"])
@pytest.mark.parametrize("padded", [False, True])
def test_lost_cell(tmp_path, good, name, padded):
    at = NAMES.index(name)
    broken = GOOD[:at] + GOOD[at + 1 :] + [""] * padded
    cluster = read(tmp_path, broken)
    assert cluster.nodes[1].server == good
    (remark,) = cluster.report.repaired
    assert remark.what == "cells had to be moved 1 column to the right"


def test_lost_number_is_not_guessed(tmp_path):
    at = NAMES.index("Average watts @ 50% of target load")
    cluster = read(tmp_path, GOOD[:at] + GOOD[at + 1 :])
    assert len(cluster.nodes) == 1
    (remark,) = cluster.report.refused
    assert remark.lines == (3,)


def test_moved_cells_of_a_noncompliant_result(tmp_path):
    at = NAMES.index("DIMMS")
    bad = row(Result="NC")
    cluster = read(tmp_path, bad[:at] + bad[at + 1 :])
    assert [remark.what for remark in cluster.report.refused] == ["non-compliant result"]


def test_column_names_that_lack_one(tmp_path, good):
    """Every row is one cell longer than the names: all are put right."""
    at = NAMES.index("Operating System")
    cluster = read(tmp_path, GOOD, header=HEADER[:at] + HEADER[at + 1 :])
    assert cluster.nodes[1].server == good
    assert cluster.report.count("repaired") == 2


@given(
    at=st.integers(0, len(HEADER) - 1),
    count=st.integers(1, 3),
    filler=st.sampled_from([None, "", "x", "7", "Jan-2011", "1,024"]),
    padded=st.booleans(),
)
def test_never_a_wrong_server(tmp_path_factory, good, at, count, filler, padded):
    """Cells lost (filler None) or put in, anywhere: the same server is found, or none."""
    if filler is None:
        broken = GOOD[:at] + GOOD[at + count :]
        broken += [""] * (count * padded)
    else:
        broken = GOOD[:at] + [filler] * count + GOOD[at:]
        broken = broken[: len(GOOD)] if padded else broken
    cluster = read(tmp_path_factory.mktemp("shift"), broken)
    found = [node.server for node in cluster.nodes[1:]]
    assert found in ([], [good, good])
    assert cluster.report.count("refused") == (not found)
