"""Shifting of single jobs on the German grid of 2022, row by row of published tables.

Their series has 8,760 hours. A table has no row for the last start at which the job fits, but the
start counts for the rows before it; so the last hour stands in no table itself.
"""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest

from sojourn import shift_emissions

HOUR = 3600.0
TABLES = [(1, 24), (6, 24), (24, 168)]


def table(data_dir, length, slack):
    path = data_dir / "carbon" / f"DE-2022-job_{length}-slack_{slack}.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    names = ("slack_0", "non_interrupt", "interrupt")
    return np.array([[float(row[name]) for name in names] for row in rows])


def whole_year(data_dir):
    """The hours from the table of one-hour jobs; the last one from that of 24 hours.

    There the best of the last starts is the one without a row: it has that hour.
    """
    hours = table(data_dir, 1, 24)[:, 0]
    at_once, best, _ = table(data_dir, 24, 168)[-1]
    return np.append(hours, best - at_once + hours[-24])


@pytest.fixture(scope="module")
def series(data_dir):
    return whole_year(data_dir)


@pytest.mark.parametrize(("length", "slack"), TABLES)
def test_every_row(data_dir, series, length, slack):
    theirs = table(data_dir, length, slack)
    ours = shift_emissions(series, length=length * HOUR, slack=slack * HOUR)
    assert len(ours.time) == len(theirs) + 1 == 8760 - length + 1
    for column, name in enumerate(("at_once", "uninterrupted", "interrupted")):
        assert getattr(ours, name)[:-1] == pytest.approx(theirs[:, column], rel=1e-12), name
