"""One test per numbered equation of [gomez2012], worked out by hand.

Two servers of two cores each: `fast` does 300 operations per second on a core and draws 20 W
there, `slow` 100 operations and 30 W. The average core (1) does 200, so that a job takes 2/3 of
its recorded runtime on `fast` and twice of it on `slow` (2). First fit looks at `fast` first:

====  ======  =======  =====  =====================  =====  ===  ====  ========
 j    submit  runtime  procs  cores                  start  end  wait  response
====  ======  =======  =====  =====================  =====  ===  ====  ========
 1       0       30      1    fast                     0     20    0      20
 2       0       30      2    fast, slow               0     60    0      60
 3      10        9      2    fast, slow              20     38   10      28
====  ======  =======  =====  =====================  =====  ===  ====  ========
"""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import measures
from sojourn.cluster import Cluster, Server
from sojourn.measures.energy import peas_energy

FAST = Server("fast", 2, 600.0, (0.0, 40.0))
SLOW = Server("slow", 2, 200.0, (0.0, 60.0))
PAIR = Cluster.of([FAST, SLOW])
THREE = sojourn.Jobs({"submit": [0, 0, 10], "runtime": [30, 30, 9], "procs": [1, 2, 2]})

WAIT = [0.0, 0.0, 10.0]
RESPONSE = [20.0, 60.0, 28.0]
# Node and processors of each job's rows: first fit takes what is left of `fast`, then `slow`.
FIRST_ROW = [0, 1, 3, 5]
ROW_NODE = [0, 0, 1, 0, 1]
ROW_PROCS = [1, 1, 1, 1, 1]


def test_equation_1_averages_over_processors_not_over_servers():
    assert PAIR.average_ops == 200
    uneven = Cluster.of([Server("fast", 1, 300.0, (0.0, 20.0)), SLOW])
    assert uneven.average_ops == pytest.approx(500 / 3, rel=1e-15)


def test_equation_2_slowness_is_the_average_over_the_own_speed():
    assert PAIR.columns.slowness.tolist() == pytest.approx([2 / 3, 2.0], rel=1e-15)


def test_equation_2_the_slowest_processor_of_a_job_sets_its_runtime():
    """Jobs 2 and 3 have a core of each server and run twice as long as recorded."""
    result = sojourn.simulate(THREE, PAIR, "fcfs", estimates="exact", clean=())
    assert result.start.tolist() == pytest.approx([0, 0, 20])
    assert result.end.tolist() == pytest.approx([20, 60, 38])


def test_equation_3_average_waiting_time():
    assert measures.average_wait(np.array(WAIT)) == pytest.approx(10 / 3)


def test_equation_4_average_response_time():
    assert measures.average_response(np.array(RESPONSE)) == 36


def test_equations_3_and_4_of_a_run():
    table = sojourn.simulate(THREE, PAIR, "fcfs", estimates="exact", clean=()).jobs
    assert table["wait"].tolist() == pytest.approx(WAIT)
    assert table["sojourn"].tolist() == pytest.approx(RESPONSE)


def test_equations_3_and_4_count_accepted_jobs_only():
    """A job of five processors is not accepted on four, and has no part in the averages."""
    more = sojourn.Jobs({"submit": [0, 0, 0, 10], "runtime": [9, 30, 30, 9], "procs": [5, 1, 2, 2]})
    table = sojourn.simulate(more, PAIR, "fcfs", estimates="exact", clean=()).jobs
    accepted = table[table["start"].notna()]
    assert len(accepted) == 3
    assert measures.average_wait(accepted["wait"].to_numpy()) == pytest.approx(10 / 3)


def test_equation_5_all_processors_draw_full_power_for_the_simulated_runtime():
    """Job 1: 20 W for 20 s. Job 2: 50 W for 60 s. Job 3: 50 W for 18 s."""
    joules = peas_energy(
        [0, 0, 20], [20, 60, 38], FIRST_ROW, ROW_NODE, ROW_PROCS, PAIR.columns.watts
    )
    assert joules.tolist() == pytest.approx([400, 3000, 900], rel=1e-15)


def test_equation_5_leaves_out_idle_processors():
    """Erratum 1: on a cluster with idle watts the figure is the same."""
    idle = Cluster.of(
        [Server("fast", 2, 600.0, (10.0, 40.0)), Server("slow", 2, 200.0, (50.0, 60.0))]
    )
    joules = peas_energy([0], [20], [0, 1], [0], [1], idle.columns.watts)
    assert joules.tolist() == [400]


def test_equation_5_of_a_run():
    table = sojourn.simulate(THREE, PAIR, "fcfs", estimates="exact", clean=()).jobs
    assert table["peas_energy"].tolist() == pytest.approx([400, 3000, 900])
