"""The Standard Workload Format: exact, tolerant, and clear about what is wrong."""

from __future__ import annotations

import gzip
import lzma
import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.errors import LogError, OptionError
from sojourn.jobs import Jobs, read_swf, write_swf
from sojourn.jobs.log import read_jobs
from sojourn.jobs.schema import SWF_FIELDS

LINE = "1 0 5 100 4 90.5 -1 4 200 -1 1 2 3 4 5 6 -1 -1"


def line(**values: object) -> str:
    fields = dict(zip(SWF_FIELDS, LINE.split(), strict=True))
    return " ".join(str(values.get(name, text)) for name, text in fields.items())


def written(tmp_path, text: str | bytes):
    path = tmp_path / "log.swf"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_all_fields(tmp_path) -> None:
    jobs = read_swf(written(tmp_path, LINE + "\n"))
    expected = [float(token) for token in LINE.split()]
    assert [jobs[name][0] for name in SWF_FIELDS] == expected
    assert jobs.procs.tolist() == [4]
    assert jobs.report.findings == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (LINE, 1),
        (f"{LINE}\r\n{LINE}\r\n", 2),
        (f"\n\n  \t {LINE.replace(' ', chr(9))}  \n \n", 1),
        (f"; a\n{LINE}\n; in the middle\n  ;b\n{LINE}\n;", 2),
        (f"\ufeff; Version: 2.2\n{LINE}\n", 1),
        (f"{LINE}\x0b\n{LINE}\x0c\n", 2),
    ],
)
def test_forgiving_layout(tmp_path, text: str, count: int) -> None:
    jobs = read_swf(written(tmp_path, text), strict=True)
    assert len(jobs) == count
    assert jobs.report.findings == ()


def test_comments_are_kept_in_order(tmp_path) -> None:
    text = b"; MaxProcs: 64\r\n;\n;  caf\xc3\xa9 \n; caf\xe9\n" + LINE.encode() + b"\n ; late\n"
    jobs = read_swf(written(tmp_path, text))
    assert jobs.header == ("; MaxProcs: 64", ";", ";  café ", "; café", "; late")
    assert jobs.max_procs == 64


@pytest.mark.parametrize(
    ("bad", "kind", "field"),
    [
        (" ".join(LINE.split()[:17]), "too-few-fields", None),
        ("7", "too-few-fields", None),
        (LINE + " 9", "too-many-fields", None),
        (LINE + " -1" * 7, "too-many-fields", None),
        (line(wait="abc"), "not-a-number", "wait"),
        (line(wait="1_000"), "not-a-number", "wait"),
        (line(wait="1e"), "not-a-number", "wait"),
        (line(wait="--1"), "not-a-number", "wait"),
        (line(wait="1.2.3"), "not-a-number", "wait"),
        (line(wait="."), "not-a-number", "wait"),
        (line(wait="0x10"), "not-a-number", "wait"),
        (line(think_time="1;"), "not-a-number", "think_time"),
        (line(status="1.5"), "not-an-integer", "status"),
        (line(status="15e-1"), "not-an-integer", "status"),
        (line(status="1.00000000000000000000001"), "not-an-integer", "status"),
        (line(status="1e-999999999999999999999"), "not-an-integer", "status"),
        (line(submit="nan"), "not-finite", "submit"),
        (line(submit="-Inf"), "not-finite", "submit"),
        (line(job="NaN"), "not-finite", "job"),
        (line(submit="1e999"), "too-large", "submit"),
        (line(submit="9" * 400), "too-large", "submit"),
        (line(user=str(2**63)), "too-large", "user"),
        (line(user="1e400"), "too-large", "user"),
        (line(user="1e99999999999999999999"), "too-large", "user"),
        (line(user="9" * 6000), "too-large", "user"),
    ],
)
def test_malformed_lines(tmp_path, bad: str, kind: str, field: str | None) -> None:
    path = written(tmp_path, f"; head\n{LINE}\n\n{bad}\n{LINE}\n{bad}")
    jobs = read_swf(path)
    assert len(jobs) == 2
    assert jobs.wait.tolist() == [5, 5]
    (finding,) = jobs.report.findings
    assert (finding.rule, finding.count, finding.first) == (kind, 2, (4, 6))
    assert (finding.unit, finding.action) == ("line", "skip")
    with pytest.raises(LogError) as caught:
        read_swf(path, strict=True)
    assert (caught.value.line, caught.value.field) == (4, field)
    assert "\n" not in str(caught.value)


def test_strict_names_the_first_bad_line_of_any_kind(tmp_path) -> None:
    path = written(tmp_path, "\n".join([LINE, line(submit="1e999"), line(wait="x"), LINE]))
    with pytest.raises(LogError, match="line 2, field 'submit'"):
        read_swf(path, strict=True)


def test_more_bad_lines_than_one_batch_of_notes(tmp_path) -> None:
    path = written(tmp_path, "; c\nx\n" * 70_000 + LINE + "\n" + line(wait="1e-300") + "\n")
    jobs = read_swf(path)
    assert len(jobs.header) == 70_000
    assert jobs.report.count("not-a-number") == 70_000
    assert jobs.report.findings[0].first == (2, 4, 6, 8, 10)
    assert jobs.wait.tolist() == [5, 1e-300]


@pytest.mark.parametrize(
    "token", ["16.0", "+16", "16.", "1.6e1", "160e-1", "016", "16.0" + "0" * 30]
)
def test_whole_numbers_in_any_notation(tmp_path, token: str) -> None:
    assert read_swf(written(tmp_path, line(requested=token))).requested.tolist() == [16]


def test_largest_integers(tmp_path) -> None:
    text = f"{line(user=2**63 - 1)}\n{line(user=-(2**63))}\n{line(user=10**18 + 1)}\n"
    jobs = read_swf(written(tmp_path, text))
    assert jobs.user.tolist() == [2**63 - 1, -(2**63), 10**18 + 1]


def decimals(rng: random.Random) -> str:
    """Numbers that are hard to round: long, half way between two floats, or very large or small."""
    shape = rng.randrange(7)
    if shape == 0:
        return repr(rng.random() * 10.0 ** rng.randint(-8, 18))
    if shape == 1:
        digits = str(rng.randrange(10 ** rng.randint(1, 19)))
        point = rng.randrange(len(digits) + 1)
        return digits[:point] + "." + digits[point:]
    if shape == 2:
        return f"{rng.randrange(1, 10**19)}e{rng.randint(-30, 30)}"
    if shape == 3:
        half = rng.randrange(2**52, 2**53) * 2 + 1
        power = rng.randint(0, 4)
        return f"{half * 5**power}e-{power}"
    if shape == 4:
        return f"{rng.randrange(10**25)}.{rng.randrange(10**12)}"
    if shape == 5:
        return repr(rng.uniform(1, 10) * 10.0 ** rng.randint(-307, 307))
    return rng.choice(
        ["-0", "0.0", "-0.0", "5e-324", "1.7976931348623157e308", ".5", "5.", "0e999"]
    )


def test_decimals_are_rounded_as_python_rounds_them(tmp_path) -> None:
    rng = random.Random(20)
    tokens = [decimals(rng) for _ in range(60_000)]
    path = written(tmp_path, "\n".join(line(submit=token) for token in tokens))
    submit = read_swf(path, strict=True).submit
    expected = np.array([float(token) for token in tokens])
    wrong = np.flatnonzero(submit.view(np.int64) != expected.view(np.int64))
    assert [tokens[k] for k in wrong[:5]] == []


def test_widths(tmp_path) -> None:
    text = "\n".join(
        line(job=k, requested=r, allocated=a)
        for k, (r, a) in enumerate([(8, 4), (-1, 4), (8, 0), (0, -1)])
    )
    path = written(tmp_path, text)
    assert read_swf(path).procs.tolist() == [8, 4, 8, -1]
    assert read_swf(path, width="allocated").procs.tolist() == [4, 4, 8, 0]
    assert read_swf(path, width="max").procs.tolist() == [8, 4, 8, 0]
    assert read_swf(path).report.findings[0].first == (1,)
    with pytest.raises(OptionError, match="did you mean 'allocated'"):
        read_swf(path, width="alocated")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_by_content_not_by_name(tmp_path, pack) -> None:
    packed = pack((LINE + "\n").encode() * 500)
    assert len(read_swf(written(tmp_path, packed))) == 500
    with pytest.raises(LogError, match="cut short or damaged"):
        read_swf(written(tmp_path, packed[:-9]))
    with pytest.raises(LogError, match="cut short or damaged"):
        read_swf(written(tmp_path, packed[:40] + b"\xff\xff\xff" + packed[43:]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \r\n\t\n", "is empty"),
        (b"; only\n; comments\n", "no job"),
        (b"\x7fELF\x02\0\0\0" * 30, "binary file"),
        (LINE.encode("utf-16"), "binary file"),
        (bytes(range(128, 256)) * 30, "none of 1 lines"),
        (b"<html>\n<body>Not found</body>\n</html>\n", "none of 3 lines.*line 1: a field"),
        (b"1,2,3\n" * 4, "none of 4 lines"),
        (LINE.encode() + b"\n\0", "binary file"),
    ],
)
def test_files_that_are_no_logs(tmp_path, content: bytes, message: str) -> None:
    with pytest.raises(LogError, match=message) as caught:
        read_swf(written(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_paths_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(LogError, match="no such file"):
        read_swf(tmp_path / "absent.swf")
    with pytest.raises(LogError, match="is a directory"):
        read_swf(tmp_path)
    with pytest.raises(LogError, match="cannot be read"):
        read_swf(str(tmp_path / "a\0b"))
    path = written(tmp_path, LINE)
    path.chmod(0)
    if not os.access(path, os.R_OK):
        with pytest.raises(LogError, match="permissions"):
            read_swf(path)


def test_many_blank_lines_take_no_memory(tmp_path) -> None:
    jobs = read_swf(written(tmp_path, b"\n" * 1_000_000 + LINE.encode()))
    assert jobs.submit.base is None or jobs.submit.base.nbytes < 5_000_000


@pytest.mark.parametrize("name", ["out.swf", "out.swf.gz", "out.swf.xz"])
def test_writing_and_reading_back(tmp_path, name: str) -> None:
    text = f"; MaxProcs: 9\n;\n; ünï\n{LINE}\n{line(job=2, submit=0.1, status=-5)}\n"
    jobs = read_swf(written(tmp_path, text))
    write_swf(jobs, tmp_path / name)
    data = (tmp_path / name).read_bytes()
    plain = {"gz": gzip.decompress, "xz": lzma.decompress, "swf": bytes}[name.split(".")[-1]](data)
    assert plain.decode() == text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.swf", name]
    write_swf(jobs, tmp_path / name, header=["Note: other"])
    assert read_swf(tmp_path / name).header == ("; Note: other",)


FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70).map(float),
    st.integers(0, 10**9).map(lambda n: n / 1000),
)
INTS = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(
        st.tuples(*(INTS if dtype.kind == "i" else FLOATS for dtype in SWF_FIELDS.values())),
        min_size=1,
        max_size=6,
    ),
    header=st.lists(st.text(st.characters(exclude_characters="\n\0", codec="utf-8")), max_size=3),
)
def test_every_value_survives(tmp_path_factory, rows: list, header: list[str]) -> None:
    columns = dict(zip(SWF_FIELDS, zip(*rows, strict=True), strict=True))
    requested = np.array(columns["requested"], np.int64)
    procs = np.where(requested > 0, requested, np.array(columns["allocated"], np.int64))
    jobs = Jobs({**columns, "procs": procs}, header=header)
    path = tmp_path_factory.mktemp("swf") / "x.swf"
    write_swf(jobs, path)
    twin = read_swf(path, strict=True)
    assert twin.header == jobs.header
    for name in (*SWF_FIELDS, "procs"):
        assert twin[name].tobytes() == jobs[name].tobytes(), name


def test_width_is_written_where_the_fields_do_not_say_it(tmp_path) -> None:
    jobs = Jobs({"submit": [0, 1], "runtime": [1.5, 2], "procs": [3, 4], "requested": [9, 4]})
    write_swf(jobs, tmp_path / "x.swf")
    twin = read_swf(tmp_path / "x.swf")
    assert twin.procs.tolist() == [3, 4]
    assert twin.runtime.tolist() == [1.5, 2.0]
    assert (tmp_path / "x.swf").read_text().startswith("1 0 -1 1.5 -1 ")


def test_a_comment_that_is_called_as_a_column_stays(tmp_path) -> None:
    jobs = read_swf(written(tmp_path, LINE)).replace(header=["Licences", "Licences: 1 matlab"])
    write_swf(jobs, tmp_path / "x.swf")
    assert read_swf(tmp_path / "x.swf").header == ("; Licences",)


def test_failed_writing_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    jobs = read_swf(written(tmp_path, LINE))
    target = tmp_path / "old.swf"
    target.write_text("old")
    monkeypatch.setattr("sojourn.jobs.formats.swf.formatted", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_swf(jobs, target)
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(LogError, match="cannot be written"):
        write_swf(jobs, tmp_path / "no" / "folder.swf")


def test_real_logs_survive(tmp_path, data_dir) -> None:
    for name in ("swf/KTH-SP2-1996-2.swf.gz", "swf/lublin_256.swf"):
        jobs = read_swf(data_dir / name, strict=True)
        write_swf(jobs, tmp_path / "copy.swf")
        twin = read_swf(tmp_path / "copy.swf", strict=True)
        assert twin.header == jobs.header
        for column in jobs.names:
            assert np.array_equal(twin[column], jobs[column])


def test_real_log_agrees_with_numpy(data_dir) -> None:
    path = data_dir / "swf" / "KTH-SP2-1996-2.swf.gz"
    table = np.loadtxt(path, comments=";")
    jobs = read_swf(path)
    assert table.shape == (len(jobs), 18) == (28_489, 18)
    for k, name in enumerate(SWF_FIELDS):
        assert np.array_equal(table[:, k], jobs[name]), name
    assert jobs.max_procs == 100
    assert jobs.header.get("Computer") == "IBM SP2"


def test_columns_that_are_not_needed_are_checked_but_not_kept(tmp_path) -> None:
    lines = [
        line(job=1, user=7, think_time="1e3"),
        line(job=2, used_memory="x"),
        line(job=3, executable="1.5"),
        line(job=4, preceding="99999999999999999999"),
        line(job=5, cpu_time="1e400"),
        # Exact numbers of fields that are not kept must not land in those that are.
        line(job=6, used_memory="123456789012345678901234567890", status="12e2", estimate="7.25"),
    ]
    path = written(tmp_path, "\n".join(lines))
    whole = read_swf(path)
    few = read_swf(path, only=["user", "estimate", "label"])
    assert few.job.tolist() == whole.job.tolist() == [1, 6]
    assert few.report == whole.report
    kept = ("job", "submit", "runtime", "allocated", "requested", "estimate", "user", "procs")
    assert few.names == kept
    for name in kept:
        assert few[name].tolist() == whole[name].tolist()
    with pytest.raises(LogError, match=r"line 2.*used_memory"):
        read_swf(path, only=["user"], strict=True)


def test_the_column_of_partitions_is_read_though_nobody_needs_it_otherwise(tmp_path) -> None:
    path = written(tmp_path, "\n".join(line(job=k, executable=7 + k) for k in (1, 2)))
    few = read_jobs(path, only=["user"], partition_column="executable")
    assert few.partition.tolist() == [8, 9]
    for only in (None, ["user"]):
        with pytest.raises(OptionError, match=r"'exe'.*executable"):
            read_jobs(path, only=only, partition_column="exe")
