"""Shifting of single jobs on the German grid of 2022 through `simulate`, row by row.

Every hour of the year one job is submitted to a machine with a processor for each: nobody waits for
another one. A processor draws 1 kW where it is busy, and nothing where it is not, so that the
grams of a job are the sums of the published tables. See `test_carbon_shifting` for the last hour.
"""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn.cluster import ConstantPower

from .test_carbon_shifting import HOUR, TABLES, table, whole_year


@pytest.fixture(scope="module")
def series(data_dir, tmp_path_factory):
    """The whole year as a file; its last hour is known from the table of 24 hours."""
    path = tmp_path_factory.mktemp("grid") / "DE-2022.csv"
    lines = [f"{HOUR * at},{value!r}" for at, value in enumerate(whole_year(data_dir).tolist())]
    path.write_text("time,g_per_kwh\n" + "\n".join(lines) + "\n")
    return str(path)


def grams(series, rows, length, defer):
    """Grams of CO2 of a job of 1 kW that is submitted at each of the first hours."""
    jobs = sojourn.Jobs(
        {
            "submit": np.arange(rows) * HOUR,
            "runtime": np.full(rows, length * HOUR),
            "procs": np.ones(rows, dtype=int),
        }
    )
    machine = sojourn.Cluster.homogeneous(rows, power=ConstantPower(1000.0, 0.0))
    result = sojourn.simulate(jobs, machine, "fcfs", carbon=series, defer=defer)
    assert result.summary["energy"]["carbon_kg"] == pytest.approx(
        result.jobs["carbon"].sum() / 1000, rel=1e-12
    )
    return result.jobs.sort_values("job")["carbon"].to_numpy()


@pytest.mark.parametrize(("length", "slack"), TABLES)
def test_every_row(data_dir, series, length, slack):
    theirs = table(data_dir, length, slack)
    rows = len(theirs)
    for column, defer in enumerate((None, f"window:{slack}h", f"pieces:{slack}h")):
        ours = grams(series, rows, length, defer)
        assert ours == pytest.approx(theirs[:, column], rel=1e-9), defer


def test_a_table_of_one_hour_is_a_series(data_dir):
    """Its column ``slack_0`` is the hourly series from second 0 on."""
    path = data_dir / "carbon" / "DE-2022-job_1-slack_24.csv.gz"
    theirs = table(data_dir, 1, 24)
    # Without the hour that stands in no table the last day has less to choose from.
    ours = grams(str(path), 8000, 1, "window:24h")
    assert ours == pytest.approx(theirs[:8000, 1], rel=1e-9)
    wide = data_dir / "carbon" / "DE-2022-job_6-slack_24.csv.gz"
    with pytest.raises(sojourn.errors.OptionError, match="slack_0 has sums over 6 hours"):
        grams(str(wide), 10, 1, "window:24h")
