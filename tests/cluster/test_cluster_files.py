"""Files that are no clusters: one clear line each."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spec_tables import HEADER, row, text

from sojourn.cluster import _table, read_cluster, read_specpower
from sojourn.errors import ClusterError, InputError, LogError


@pytest.fixture
def refused(tmp_path):
    def call(content: bytes | str, told: str, name: str = "cluster.csv") -> ClusterError:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(ClusterError, match=told) as caught:
            read_cluster(path)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(str(path))
        assert caught.value.path == str(path)
        return caught.value

    return call


def test_error_names_file_line_and_field(refused):
    error = refused("cores,ops,watts\n4,fast,100\n", "is not a number")
    assert (error.line, error.field) == (2, "ops")
    assert error.problem == "'fast' is not a number; correct it"
    assert isinstance(error, InputError)
    assert not isinstance(error, LogError)


def test_what_is_not_a_file(tmp_path):
    for path, told in ((tmp_path, "is a directory"), (tmp_path / "x", "no such file")):
        for read in (read_cluster, read_specpower):
            with pytest.raises(ClusterError, match=told):
                read(path)
    with pytest.raises(ClusterError, match="cannot be read"):
        read_cluster("\0")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path):
    path = tmp_path / "cluster.csv"
    path.touch(mode=0)
    with pytest.raises(ClusterError, match="permissions"):
        read_cluster(path)


@pytest.mark.parametrize("content", ["", "\n \n\n", "\ufeff"])
def test_empty(refused, content):
    refused(content, "is empty")


def test_binary(refused):
    refused(b"\x7fELF\x02\x01\x01\0\0\0", "is a binary file")
    refused(b"cores,ops,watts\n1,\0,3\n", "is a binary file")
    refused(b"\0" * 5000, "is a binary file")
    refused(b"[[node]]\0", "is a binary file", "cluster.toml")


def test_damaged_archives(refused):
    whole = gzip.compress(random.Random(1).randbytes(5000))
    refused(whole[:1000], "cut short or damaged", "cluster.csv.gz")
    refused(b"\x1f\x8b\x08nothing", "cut short or damaged", "cluster.csv.gz")
    refused(b"\xfd7zXZ\x00nothing", "cut short or damaged", "cluster.csv.xz")


def test_something_else(refused):
    refused("a,b\n1,2\n", "is no cluster file: its columns are 'a, b'")
    refused("; Version: 2.2\n1 0 10 100 4\n", "is no cluster file")


def test_missing_columns(refused):
    told = "ssj_ops @ 100% of target load"
    places = [at for at, name in enumerate(HEADER) if name.strip() != told]
    short = [[cells[at] for at in places] for cells in (HEADER, row())]
    refused(text(short[1], header=short[0]), f"line 1: has no column '{told}'")
    refused(
        "Vendor,Processor,#Chips,RAM (GB),OPS@100%Load,Watts@100%Load\nA,B,1,4,5,6\n",
        "line 1: has no column '# Cores'",
    )
    wrong = [name.replace("Average watts @ 100%", "Mean watts @ 100%") for name in HEADER]
    refused(
        text(row(), header=wrong),
        "has no column 'Average watts @ 100% of target load'; if it is 'Mean watts @ 100% of",
    )


def test_column_twice(refused):
    refused(
        text([*row(), "8"], header=[*HEADER, "Cores"]),
        "line 1: two columns for one thing: '# Cores' and 'Cores'",
    )


def test_quote_that_never_ends(refused):
    refused('cores,ops,watts\n1,"1,1\n' + "x" * 200_000, "is not a table")


def test_line_that_never_ends(refused, tmp_path):
    refused("cores,ops,watts\n1,1," + "1" * (1 << 20), "line 2: is longer than 1,048,576 charac")
    refused("c" * (1 << 21), "line 1: is longer than")
    refused("x = '" + "c" * (1 << 21), "line 1: is longer than", "cluster.toml")
    path = tmp_path / "short.csv"
    path.write_text("cores,ops,watts\n1,1,11111\n")
    assert next(_table.read_table(path, longest=16).rows) == (2, ["1", "1", "11111"])
    with pytest.raises(ClusterError, match="line 1: is longer than 14 characters"):
        _table.read_table(path, longest=14)


@pytest.mark.parametrize("packed", [False, True])
def test_endless_line_takes_no_memory(tmp_path, packed):
    """64 MB without a line end, read with 48 MB of address space beyond what is there."""
    path = tmp_path / "cluster.csv"
    with gzip.open(path, "wb", 1) if packed else open(path, "wb") as file:
        file.write(b"cores,ops,watts\n")
        for _ in range(64):
            file.write(b"1" * (1 << 20))
    code = (
        "import resource, sys; from sojourn.cluster import read_cluster\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "limit = size + (48 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "try: read_cluster(sys.argv[1])\n"
        "except Exception as error: print(error)\n"
    )
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert "line 2: is longer than 1,048,576 characters" in done.stdout


def test_description_that_never_ends(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text("# comment\n" * 2_000_000)
    with pytest.raises(ClusterError, match="is too long for a description"):
        read_cluster(path)


@given(
    content=st.binary(max_size=60)
    | st.text("namecoreswattsops[]=,;\t\n\"'0123456789.-", max_size=80).map(str.encode),
    name=st.sampled_from(["c.csv", "c.toml", "c"]),
)
def test_anything_is_a_cluster_or_an_error(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    told = ""
    try:
        assert read_cluster(path).is_named
    except ClusterError as error:
        told = str(error)
    assert len(told.split("\n")) == 1


@given(
    changes=st.dictionaries(
        st.integers(0, len(HEADER) - 1),
        st.sampled_from(["", "x", "0", "-1", "1e400", "nan", "1e300", "0.5", "9" * 30, "é", '"']),
        max_size=4,
    )
)
def test_any_cells_are_read_or_refused(tmp_path_factory, changes):
    cells = [changes.get(at, cell) for at, cell in enumerate(row())]
    path = tmp_path_factory.mktemp("cells") / "c.csv"
    path.write_text(text(row(), cells))
    cluster = read_specpower(path, noncompliant="keep")
    assert cluster.report.servers + cluster.report.count("refused") == 2
    columns = cluster.columns
    assert (columns.procs >= 1).all()
    assert (columns.slowness > 0).all()
    assert (columns.watts >= 0).all()
