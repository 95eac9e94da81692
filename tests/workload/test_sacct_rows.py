"""Rows of sacct whose columns, delimiters and line breaks are not as they should be."""

from __future__ import annotations

import itertools
import time

import pytest

from sojourn.errors import LogError
from sojourn.jobs.formats._sacct_rows import LAYOUTS, Columns, Spread
from sojourn.jobs.formats.sacct import read_sacct

NAMES = list(LAYOUTS["hpc-cost"])
DAY = "2024-03-01T"


def bare(job, step=""):
    first = ["COMPLETED", f"{job}{step}", "1", "100M", "1", ""]
    times = [f"{DAY}12:00:00", f"{DAY}12:00:00", f"{DAY}12:01:00", "00:05:00", "00:00:00"]
    rest = [f"{DAY}12:06:00", "0:0", "0:0", "1", "1", *[""] * 5, "00:05:00", *["00:01"] * 3]
    return "|".join([*first, *times, *rest])


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "bare.out"
    rows = (bare(k, step) for k in range(1, 440) for step in ("", ".batch"))
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_right_names_are_read(dump):
    assert len(read_sacct(dump, columns=NAMES)) == 439


@pytest.mark.parametrize(
    "names",
    [
        [*NAMES, "User"],
        [*NAMES, "Comment"],
        [*NAMES[:5], "JobName", *NAMES[5:]],
        ["JobName", "SubmitLine", *NAMES],
        NAMES[:-1],
    ],
)
def test_names_that_do_not_fit_are_refused_in_time(dump, names):
    began = time.process_time()
    with pytest.raises(LogError, match=r"line 1: only \d+ of \d+ rows fit the \d+ columns given"):
        read_sacct(dump, columns=names)
    assert time.process_time() - began < 20


def test_rows_that_never_end_take_time_in_proportion(tmp_path):
    """Texts everywhere, and no row complete: the looking ahead is bounded for the whole file."""
    names = "JobID|JobName|SubmitLine|Comment|Submit|Start|End|State|Extra|WorkDir"
    path = tmp_path / "never.out"
    good = f"1|a|b|c|{DAY}12:00:00|{DAY}12:01:00|{DAY}12:02:00|COMPLETED|x|/"
    path.write_text("\n".join([names, good, *["2|a|b||||c|d|e|f|g|h|i"] * 5_000]) + "\n")
    began = time.process_time()
    assert len(read_sacct(path)) == 1
    assert time.process_time() - began < 30


def every_placing(names, parts):
    """All ways to give each column its parts in order, tried one by one."""
    columns = Columns(names, "|")
    for cuts in itertools.combinations(range(1, len(parts)), len(names) - 1):
        bounds = [0, *cuts, len(parts)]
        spans = list(itertools.pairwise(bounds))
        if any(b - a > 1 and not columns.is_free[k] for k, (a, b) in enumerate(spans)):
            continue
        fields = ["|".join(parts[a:b]) for a, b in spans]
        if not any(columns.misfits(fields)):
            yield [b - a for a, b in spans], fields


@pytest.mark.parametrize("seed", range(60))
def test_placing_is_that_of_trying_all(seed):
    import random

    rng = random.Random(seed)
    names = rng.sample(["jobid", "jobname", "submit", "state", "comment", "reqcpus", "user"], 5)
    words = ["7", "a", f"{DAY}12:00:00", "COMPLETED", "", "4", "b c"]
    parts = [rng.choice(words) for _ in range(rng.randint(5, 9))]
    found = Spread(Columns(names, "|"), "|".join(parts)).fields()
    ways = sorted(every_placing(names, parts))
    assert found == (ways[0][1] if ways else None)
