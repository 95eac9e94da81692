"""One test per numbered equation and per erratum of [rumyantsev2018], worked out by hand.

Erratum 14 concerns a figure, not a formula: see tests/golden.

Most use the same system of c = 4 servers at rate 1, FCFS:

====  ==  ==  ==  =====  ===
 j    t   S   N   start  end
====  ==  ==  ==  =====  ===
 1    0   4   2     0     4
 2    1   8   1     1     9
 3    2   2   3     4     6
 4    3   1   1     6     7
====  ==  ==  ==  =====  ===

====  ==============  ============  ===  ====  ===  =====================
 T    M (present)     S (service)    W    nu    Q   phi
====  ==============  ============  ===  ====  ===  =====================
 0    1               1               4    1    0   2
 1    1 2             1 2            11    2    0   3
 2    1 2 3           1 2            11    3    1   3
 3    1 2 3 4         1 2            10    4    2   3
 4    2 3 4           2 3             8    3    1   4
 6    2 4             2 4             4    2    0   2
 7    2               2               2    1    0   1
 9                                    0    0    0   0
====  ==============  ============  ===  ====  ===  =====================
"""

from __future__ import annotations

import numpy as np
import pytest

import sojourn
from sojourn import measures

C = 4
EPOCHS = [0, 1, 2, 3, 4, 6, 7, 9]
TAU = np.diff(EPOCHS)


def jobs(*rows: tuple[float, float, int]) -> sojourn.Jobs:
    """Customers as (t, S, N)."""
    submit, work, procs = zip(*rows, strict=True)
    return sojourn.Jobs({"submit": submit, "runtime": work, "procs": procs})


FOUR = jobs((0, 4, 2), (1, 8, 1), (2, 2, 3), (3, 1, 1))


def run(customers, servers, policy="fcfs", **options):
    return sojourn.simulate(
        customers, servers, policy, estimates="exact", record=True, clean=(), **options
    )


def stretches(result):
    """Stretches of service as (job, start, stop), job by job."""
    return sorted(result.segments.to_numpy().tolist())


@pytest.fixture(scope="module")
def four():
    """The run of the tables above; a busy server draws 10 W, an idle one 3 W."""
    power = sojourn.ConstantPower(busy_watts=10, idle_watts=3)
    return run(FOUR, sojourn.Cluster.homogeneous(C, power=power))


def test_equation_1_in_service_is_the_longest_prefix_that_fits(four):
    """At T = 3 customer 4 would fit into the idle server, but 3 stands before it."""
    assert four.trajectory["running"].tolist() == [1, 2, 2, 2, 2, 2, 1, 0]
    assert four.trajectory["busy"].tolist() == [2, 3, 3, 3, 4, 2, 1, 0]
    assert four.start[3] == 6


def test_equation_1_admits_customers_that_fill_the_system_exactly():
    assert run(jobs((0, 5, 3), (0, 5, 1), (0, 5, 1)), C).start.tolist() == [0, 0, 5]


def test_equation_2_next_epoch_is_an_arrival_or_the_first_departure(four):
    assert four.trajectory["time"].tolist() == EPOCHS


def test_equation_2_departures_come_after_remaining_work_over_rate():
    """At rate 2 customers 1, 2 leave after 4/2 and 8/2; arrivals stay where they are."""
    assert run(FOUR, C, rate=2.0).end.tolist() == [2, 5, 3, 3.5]
    assert run(FOUR, C, rate=2.0).start.tolist() == [0, 1, 2, 3]


def test_equation_3_arrivals_join_and_the_least_remaining_leaves(four):
    assert four.trajectory["present"].tolist() == [1, 2, 3, 4, 3, 2, 1, 0]
    order_of_leaving = four.jobs.sort_values("end")["job"].tolist()
    assert order_of_leaving == [1, 3, 4, 2]


def test_equation_4_only_customers_in_service_lose_work(four):
    """From T = 2 to 3 only 1 and 2 are served: W loses 2 and gains S_4 = 1."""
    assert four.trajectory["workload"].tolist() == [4, 11, 11, 10, 8, 4, 2, 0]


def test_equation_4_loses_interval_times_rate():
    """At rate 2: W = 4; 4 - 2 + 8 = 10; 10 - 2*1*2 + 2, at the departure of 1."""
    workload = run(FOUR, C, rate=2.0).trajectory.set_index("time")["workload"]
    assert workload.loc[[0.0, 1.0, 2.0]].tolist() == [4, 10, 8]


def test_equation_5_up_at_arrivals_and_down_at_departures():
    """p_H = p_L = 1: rate 2 from 0; 1 leaves at 2, then 4 units are left at rate 1."""
    result = run(jobs((0, 4, 1), (1, 6, 1)), C, rate=sojourn.randomized(1, 2, 1, 1))
    assert result.end.tolist() == [2, 6]
    assert result.rates.to_numpy().tolist() == [[0, 2], [2, 1]]


def test_equation_5_without_luck_nothing_changes():
    result = run(FOUR, C, rate=sojourn.randomized(1, 2, 0, 0))
    assert result.end.tolist() == [4, 9, 6, 7]
    assert result.trajectory["rate"].unique().tolist() == [1]


def test_recursion_basis():
    """T_1 = t_1, M_1 = {1}, B_1(1) = S_1, and R_1 = r_H if the first coin says so."""
    for luck, rate in ((1, 2.0), (0, 1.0)):
        first = run(FOUR, C, rate=sojourn.randomized(1, 2, 0, luck)).trajectory.iloc[0]
        assert first[["time", "present", "workload", "rate"]].tolist() == [0, 1, 4, rate]


def test_equation_6_service_starts_at_the_first_epoch_in_service(four):
    assert four.start.tolist() == [0, 1, 4, 6]


def test_equation_7_starts_are_the_own_arrival_or_a_departure(four):
    submit, start, end = FOUR.submit, four.start, four.end
    assert all(s == t or s in end for t, s in zip(submit, start, strict=True))


def test_equation_7_one_departure_may_start_several():
    assert run(jobs((0, 5, 4), (1, 1, 2), (2, 1, 2)), C).start.tolist() == [0, 5, 5]


def test_equation_8_departure_is_the_first_epoch_not_present(four):
    assert four.end.tolist() == [4, 9, 6, 7]


def test_measures_of_customers(four):
    table = four.jobs
    assert table["wait"].tolist() == [0, 0, 2, 3]
    assert table["sojourn"].tolist() == [4, 8, 4, 4]
    assert table["service"].tolist() == [4, 8, 2, 1]


def test_equation_9_energy_budget(four):
    """N_j e(R) t at one rate: 2*4, 1*8, 3*2 and 1*1 server-seconds of 10 W."""
    assert four.jobs["energy"].tolist() == [80, 80, 60, 10]


def test_equation_9_adds_up_the_stretches_between_rate_switches():
    """S = 10 on N = 3: 3 s at rate 2 until W = 4, then 4 s at rate 1."""
    power = sojourn.RatePower({1.0: (10, 1), 2.0: (25, 2)})
    control = sojourn.workload_hysteresis((1, 2), 4, 5)
    result = run(jobs((0, 10, 3)), sojourn.Cluster.homogeneous(C, power=power), rate=control)
    assert result.end.tolist() == [7]
    assert result.jobs["energy"].tolist() == [3 * (25 * 3 + 10 * 4)]
    assert result.summary["energy"]["idle_joules"] == 1 * (2 * 3 + 1 * 4)


def test_auxiliary_quantities(four):
    """W, nu, Q and phi at each epoch, as tabulated."""
    path = four.trajectory
    assert path["queued"].tolist() == [0, 0, 1, 2, 1, 0, 0, 0]
    assert path["present"].tolist() == [1, 2, 3, 4, 3, 2, 1, 0]
    assert path["busy"].tolist() == [2, 3, 3, 3, 4, 2, 1, 0]


def test_potential_and_effective_load(four):
    """Potential: c while somebody waits, else phi; 25 server-seconds in 9 s against 23."""
    path = four.trajectory
    rate, busy, queued = (path[name].to_numpy() for name in ("rate", "busy", "queued"))
    assert measures.potential_load(rate, busy, queued, C).tolist() == [2, 3, 4, 4, 4, 2, 1, 0]
    assert measures.effective_load(rate, busy).tolist() == [2, 3, 3, 3, 4, 2, 1, 0]
    assert four.summary["potential_load"] == pytest.approx(25 / 9, rel=1e-15)
    assert four.summary["effective_load"] == pytest.approx(23 / 9, rel=1e-15)


def test_equation_10_job_wasting(four):
    """One idle server from 2 to 4 while customer 3 waits."""
    path = four.trajectory
    rate, busy, queued = (path[name].to_numpy() for name in ("rate", "busy", "queued"))
    assert measures.job_wasting(rate, busy, queued, C).tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert four.summary["job_wasting"] == pytest.approx(2 / 9, rel=1e-15)


def test_equation_10_grows_with_the_rate():
    """Rate 2, c = 4, N = 3 and 2: the second waits 1 s beside one idle server, wasting 2."""
    result = run(jobs((0, 4, 3), (1, 2, 2)), C, rate=2.0)
    assert result.summary["job_wasting"] * result.summary["makespan"] == 2


def test_equation_11_energy_per_unit_time(four):
    """phi * 10 W + (4 - phi) * 3 W."""
    assert four.trajectory["power"].tolist() == [26, 33, 33, 33, 40, 26, 19, 12]


def test_equation_11_takes_the_watts_of_the_current_rate():
    power = sojourn.RatePower({1.0: (10, 1), 2.0: (25, 2)})
    control = sojourn.workload_hysteresis((1, 2), 4, 5)
    path = run(
        jobs((0, 10, 3)), sojourn.Cluster.homogeneous(C, power=power), rate=control
    ).trajectory
    assert path[["time", "power"]].to_numpy().tolist() == [
        [0, 3 * 25 + 1 * 2],
        [3, 3 * 10 + 1 * 1],
        [7, 4 * 1],
    ]


def test_equation_12_time_averages(four):
    """Sums of tau_i times nu_i and E_i, over T = 9."""
    path = four.trajectory
    assert measures.time_average(path["time"].to_numpy(), path["present"].to_numpy()) == 20 / 9
    assert measures.time_average(path["time"].to_numpy(), path["power"].to_numpy()) == 269 / 9
    assert four.summary["mean_present"] == pytest.approx(20 / 9, rel=1e-15)
    assert four.summary["mean_queue"] == pytest.approx(5 / 9, rel=1e-15)
    assert four.summary["mean_busy"] == pytest.approx(23 / 9, rel=1e-15)
    assert four.summary["energy"]["mean_watts"] == pytest.approx(269 / 9, rel=1e-15)


def test_equation_12_of_the_workload_as_sum_and_as_integral(four):
    """The left sum takes W_i for the whole interval; the integral lets it fall by R |S| tau."""
    workload = np.array([4, 11, 11, 10, 8, 4, 2])
    running = np.array([1, 2, 2, 2, 2, 2, 1])
    assert np.sum(workload * TAU) == 60
    assert np.sum(workload * TAU - running * TAU**2 / 2) == 49.5
    assert four.summary["mean_workload_at_epochs"] == pytest.approx(60 / 9, rel=1e-15)
    assert four.summary["mean_workload"] == pytest.approx(49.5 / 9, rel=1e-15)


def sigma(vector: list[float], n: int, b: float) -> list[float]:
    """Equation (13), as printed."""
    return sorted([vector[n - 1] + b] * n + vector[n:])


def test_equation_13_a_customer_takes_the_least_busy_servers():
    """After S = 4, N = 2 and S = 8, N = 1 the third (N = 3) waits for the third least: 4."""
    one = sigma([0, 0, 0, 0], 2, 4)
    two = sigma(one, 1, 8)
    assert (one, two) == ([0, 0, 4, 4], [0, 4, 4, 8])
    assert sigma(two, 3, 2) == [6, 6, 6, 8]
    together = jobs((0, 4, 2), (0, 8, 1), (0, 2, 3), (0, 1, 4))
    assert run(together, C).start.tolist() == [0, 0, two[3 - 1], sigma(two, 3, 2)[4 - 1]]


def test_equation_14_workload_vector_of_all_present():
    """At T = 3: B = 1, 6, 2, 1 for N = 2, 1, 3, 1; all busy work ends where the run ends."""
    vector = [0, 0, 0, 0]
    path = []
    for n, b in ((2, 1), (1, 6), (3, 2), (1, 1)):
        vector = sigma(vector, n, b)
        path.append(vector)
    assert path == [[0, 0, 1, 1], [0, 1, 1, 6], [3, 3, 3, 6], [3, 3, 4, 6]]
    assert 3 + vector[-1] == run(FOUR, C).end.max()


def test_equation_15_work_before_a_waiting_customer_starts(four):
    """alpha(3) and alpha(4) at T = 3: components N = 3 and N = 1 of the vectors before them."""
    alpha_3, alpha_4 = [0, 1, 1, 6][3 - 1], [3, 3, 3, 6][1 - 1]
    assert four.start[2:].tolist() == [3 + alpha_3, 3 + alpha_4]


def test_section_3a_count_hysteresis():
    """k_L = 1, k_H = 2. Third arrival: up; at 6 three become two; at 6.5 two become one: down."""
    control = sojourn.count_hysteresis((1, 2), 1, 2)
    result = run(jobs((0, 10, 1), (1, 10, 1), (2, 10, 1)), C, rate=control)
    assert result.end.tolist() == [6, 6.5, 7.5]
    assert result.rates.to_numpy().tolist() == [[0, 1], [2, 2], [6.5, 1]]


def test_section_3b_last_come_first_served_resumes():
    """Customer 2 stops customer 1, which goes on with its remaining 8 afterwards."""
    result = run(jobs((0, 10, 2), (2, 3, 1)), 2, "lcfs-pr")
    assert stretches(result) == [[1, 0, 2], [1, 5, 13], [2, 2, 5]]


def test_section_3b_easy():
    """Shadow 10, two servers to spare: 3 is long but thin, 4 short; 5 would delay the head."""
    five = jobs((0, 10, 6), (1, 5, 8), (2, 100, 2), (3, 5, 2), (4, 100, 1))
    assert run(five, 10, "easy").start.tolist() == [0, 10, 2, 3, 15]


def test_section_3c_workload_hysteresis():
    """W = 10 > 5: up; at W = 4 down; a second customer lifts W to 1 + 3 <= 5: unchanged."""
    control = sojourn.workload_hysteresis((1, 2), 4, 5)
    result = run(jobs((0, 10, 1), (6, 3, 1)), C, rate=control)
    assert result.rates.to_numpy().tolist() == [[0, 2], [3, 1]]
    assert result.end.tolist() == [7, 9]


def test_erratum_1_present_is_not_in_service(four):
    """Customer 3 is present but not served from 2 to 4: not departed, its work unspent."""
    at_3 = four.trajectory.set_index("time").loc[3.0]
    assert at_3[["present", "running", "queued"]].tolist() == [4, 2, 2]
    assert at_3["workload"] == 1 + 6 + 2 + 1
    assert four.end[2] == 6


def test_erratum_2_workload_falls_by_rate_times_customers_in_service():
    """W = 16 falls to 6 with slope 2 * 2, at 2.5 (as printed: with slope 2, at 5)."""
    control = sojourn.workload_hysteresis((1, 2), 6, 12)
    result = run(jobs((0, 6, 1), (0, 10, 1)), 2, rate=control)
    assert result.rates.to_numpy().tolist() == [[0, 2], [2.5, 1]]
    assert result.trajectory.set_index("time")["workload"].loc[2.5] == 6
    assert result.end.tolist() == [3.5, 7.5]


def test_erratum_2_the_switch_happens_once():
    """At W = k_L the rate is low: no further switch, and no standstill."""
    control = sojourn.workload_hysteresis((1, 3), 0.1, 0.1)
    result = run(jobs((0, 0.7, 1), (0, 1.1, 1)), 2, rate=control)
    assert result.summary["rate_switches"] == 1
    assert len(result.trajectory) == 4


def test_erratum_3_slowdown_divides_by_service(four):
    assert four.jobs["slowdown"].tolist() == [1, 1, 2, 4]
    assert four.jobs["bounded_slowdown"].tolist() == [1, 1, 1, 1]
    waited = measures.slowdown(np.array([0.0, 3.0]), np.array([0.0, 0.0]))
    assert waited.tolist() == [1, np.inf]


def test_erratum_4_arguments_of_sigma_are_vector_width_work():
    """N = 2, B = 1 makes (1, 1) of two idle servers; N = 1, B = 2 would make (0, 2)."""
    assert sigma([0, 0], 2, 1) == [1, 1]
    assert run(jobs((0, 1, 2), (0, 1, 1)), 2).start.tolist() == [0, sigma([0, 0], 2, 1)[0]]


def test_erratum_5_running_customers_stay_and_the_shadow_is_theirs():
    """Of c = 4, 3 run until 10; the head needs 4. Only a customer done by 10 may pass it."""
    three = jobs((0, 10, 3), (1, 5, 4), (2, 9, 1), (3, 7, 1))
    result = run(three, C, "easy")
    assert result.start.tolist() == [0, 10, 15, 3]
    assert result.end[0] == 10


def test_erratum_5_backfilled_customers_may_fill_the_system():
    """phi reaches c at 1: the sum of N is at most c, not below it."""
    result = run(jobs((0, 10, 3), (1, 5, 4), (1, 9, 1)), C, "easy")
    assert result.trajectory["busy"].max() == C
    assert result.start.tolist() == [0, 10, 1]


CHOOSING = jobs((0, 4, 1), (1, 10, 1), (2, 2, 1), (3, 20, 1))


def test_erratum_6_longest_first_starts_in_an_empty_system():
    """1 and 2 start on arrival. At 4 remain 7, 2, 20: 4 and 2 are served; 3 waits until 11."""
    result = run(CHOOSING, 2, "lpf")
    assert result.start.tolist() == [0, 1, 11, 4]
    assert result.end.tolist() == [4, 11, 13, 24]


def test_erratum_6_shortest_first():
    """At 4 remain 7, 2, 20: 3 and 2 are served; at 6 customer 4 joins."""
    result = run(CHOOSING, 2, "spf")
    assert result.start.tolist() == [0, 1, 4, 6]
    assert result.end.tolist() == [4, 11, 6, 26]


def test_erratum_6_selection_at_departures_preempts():
    """At 4 customer 3 (5 left, N = 2) goes before 2 (16 left), which resumes at 9."""
    result = run(jobs((0, 4, 1), (0, 20, 1), (1, 5, 2)), 2, "spf")
    assert stretches(result) == [[1, 0, 4], [2, 0, 4], [2, 9, 25], [3, 4, 9]]


def test_erratum_7_count_hysteresis_at_zero_idles_at_the_low_rate():
    """k_L = k_H = 0: up with the first customer, down with the last; constant control never."""
    two = jobs((0, 4, 1), (4, 4, 1))
    switched = run(two, C, rate=sojourn.count_hysteresis((1, 2), 0, 0))
    assert switched.rates.to_numpy().tolist() == [[0, 2], [2, 1], [4, 2], [6, 1]]
    steady = run(two, C, rate=sojourn.constant(2))
    assert steady.rates.to_numpy().tolist() == [[0, 2]]
    assert steady.end.tolist() == switched.end.tolist() == [2, 6]


def test_erratum_8_one_coin_per_event():
    """Customers alone in the system: coins are used in the order A, D, A, D, ..."""
    n, p_low, p_high, seed = 40, 0.4, 0.6, 11
    coins = np.random.default_rng(seed).random(2 * n)
    rate, rates = 1.0, []
    for event, coin in enumerate(coins):
        arrival = event % 2 == 0
        if coin < (p_high if arrival else p_low):
            rate = 3.0 if arrival else 1.0
        rates.append(rate)
    alone = jobs(*[(10 * i, 3, 1) for i in range(n)])
    result = run(alone, 1, rate=sojourn.randomized(1, 3, p_low, p_high), seed=seed)
    assert result.trajectory["rate"].tolist() == rates
    assert {1.0, 3.0} == set(rates)


def test_erratum_9_potential_load_has_the_rate_outside_the_brackets():
    """R = 2: 2 * 3 busy servers with an empty queue, 2 * 4 servers with a customer waiting."""
    rate, busy, queued = np.array([2.0, 2.0]), np.array([3, 3]), np.array([0, 1])
    assert measures.potential_load(rate, busy, queued, C).tolist() == [6, 8]


def test_erratum_10_one_pass_after_all_events_of_an_instant():
    """At 5 one ends and the shortest arrives: it is in time for the pass."""
    result = run(jobs((0, 5, 1), (1, 4, 1), (5, 1, 1)), 1, "sjf")
    assert result.start.tolist() == [0, 6, 5]
    assert result.trajectory["time"].tolist() == [0, 1, 5, 6, 10]


def test_erratum_10_departures_before_arrivals():
    """At 2 the departure switches down, then the arrival up; the other way would stay low."""
    result = run(jobs((0, 4, 1), (2, 4, 1)), 1, rate=sojourn.randomized(1, 2, 1, 1))
    assert result.end.tolist() == [2, 4]


def test_erratum_11_the_last_interval_ends_at_the_horizon():
    """1 for 1 s and 3 until T = 3, though the next epoch is 4."""
    time, value = np.array([0.0, 1.0, 4.0]), np.array([1.0, 3.0, 5.0])
    assert measures.time_average(time, value, end=3.0) == (1 * 1 + 3 * 2) / 3


def test_erratum_12_energy_constants_swapped_and_as_printed():
    """0.034 at 2.0 GHz and 0.041 at 2.66 GHz; the print has them the other way round."""
    rates = np.array([2.0, 2.66])
    assert sojourn.XEON_5430.busy(rates).tolist() == [34, 41]
    assert sojourn.XEON_5430.idle(rates).tolist() == [14, 18]
    printed = sojourn.RatePower({2.0: (41, 14), 2.66: (34, 18)})
    power = [
        run(jobs((0, 2, 3)), sojourn.Cluster.homogeneous(C, power=p), rate=2.0)
        for p in (sojourn.XEON_5430, printed)
    ]
    assert [r.trajectory["power"][0] for r in power] == [3 * 34 + 14, 3 * 41 + 14]


def test_erratum_13_cleaning_of_the_cluster_data(tmp_path):
    """Times are added up before the second is dropped; the fourth came first; ties move 1 ms."""
    table = tmp_path / "table.csv"
    table.write_text(
        '"interarrival","delays","service","cores_used"\n'
        "10,0,5,4\n10,0,6,0\n-15,0,7,2\n15,0,8,1\n0,0,9,3\n1,0,1,1\n"
    )
    read = sojourn.read_hpcwld(table, clean=True)
    assert read.submit.tolist() == pytest.approx([0, 5, 20, 20.001, 20.002], rel=1e-15)
    assert read.runtime.tolist() == [5, 8, 7, 9, 1]
    assert read.procs.tolist() == [4, 1, 2, 3, 1]


def test_erratum_13_reference_rate_scales_the_job_amount():
    """Recorded at 2.66 and served at 2.66, a customer takes what was recorded."""
    one = jobs((0, 100, 1))
    assert run(one, C, rate=2.66, reference_rate=2.66).end[0] == pytest.approx(100, rel=1e-15)
    assert run(one, C, rate=2.0).end.tolist() == [50]


def test_erratum_13_workload_is_not_weighted_by_width():
    assert run(jobs((0, 10, 4)), C).trajectory["workload"][0] == 10
