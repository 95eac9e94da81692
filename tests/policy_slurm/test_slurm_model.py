"""The model of Slurm by hand: a controller whose rounds last a second, and small streams.

It began ten seconds before zero. So its main loop looks at each whole second, at the whole queue
after 50, 110, ... s, and at limits after 20, 50, ... s; its backfill loop wakes after 20 s.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle.slurm_priority import Shares

from sojourn.errors import OptionError
from sojourn.policy.slurm import (
    LOOPS,
    Pace,
    node_table,
    plain_conf,
    read_requests,
    read_slurm_conf,
    schedule,
)
from sojourn.policy.slurm.priority import rule_of

EXACT = Pace(
    started=-10.0, epoch=0, zero=0.0, latency=0.0, epilog=0.02, tick=1.0, nap=0.0, testing=0.0
)
FIFO = "SchedulerType=sched/builtin\n"
HEAD = "id,submit,nodes,run,limit_min"


@pytest.fixture
def model(tmp_path):
    """Run jobs, given as rows of a stream, through the model of a site."""

    def run(jobs, conf="", *, nodes=None, more="", pace=EXACT, change=None, topology=None, **extra):
        (tmp_path / "slurm.conf").write_text(conf)
        if topology is not None:
            (tmp_path / "topology.conf").write_text(topology)
        head = ",".join([HEAD, more] if more else [HEAD])
        rows = [f"{k},{row}" for k, row in enumerate(jobs)]
        (tmp_path / "s.csv").write_text("\n".join([head, *rows]) + "\n")
        site = read_slurm_conf(tmp_path / "slurm.conf")
        if nodes is not None:
            site = plain_conf(nodes, site)
        table = node_table(site)
        requests = read_requests(tmp_path / "s.csv", site, table)
        requests = requests._replace(**(change or {}))
        return schedule(site, table, requests, pace=pace, **extra)

    return run


def starts(told):
    return told.start.tolist()


def loops(told):
    return [LOOPS[by] for by in told.by]


def test_the_main_loop_starts_jobs_at_its_next_round(model):
    jobs = ["0.5,2,10,1", "0.6,1,10,1"]
    told = model(jobs, FIFO, nodes=2)
    # The first ends at 11, its nodes are idle at 11.02, and the next round is at 12.
    assert (starts(told), told.end.tolist()) == ([1.0, 12.0], [11.0, 22.0])
    assert (loops(told), told.nodes) == (["main", "main"], (("n1", "n2"), ("n1",)))
    slow = model(jobs, FIFO, nodes=2, pace=EXACT._replace(tick=1.25, epilog=1.5))
    # Rounds at 0, 1.25, ..., 12.5, 13.75; the nodes are idle at 12.75.
    assert starts(slow) == [1.25, 13.75]


def test_launch_and_completion_lengthen_a_job_and_the_stream_has_its_own_zero(model):
    pace = EXACT._replace(zero=0.25, latency=0.5)
    told = model(["0,1,10,1", "0,1,10,1"], FIFO, nodes=1, pace=pace, launch=[1, 2], completion=0.5)
    # In the queue at 0.75 of the controller's clock, and by the stream's a quarter earlier.
    assert starts(told) == [0.75, 12.75]
    assert told.end.tolist() == [0.75 + 11.5, 12.75 + 12.5]


@pytest.mark.parametrize(
    ("delay", "expected"),
    # The pass at the controller's start was `delay` after it.
    [(3, [1.0, 4.0]), (0, [1.0, 2.0]), (7, [4.0, 4.0])],
)
def test_a_submit_waits_until_the_delay_since_the_last_pass_is_over(model, delay, expected):
    conf = f"{FIFO}SchedulerParameters=batch_sched_delay={delay}\n"
    assert starts(model(["0.5,1,5,1", "1.5,1,5,1"], conf, nodes=2)) == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        # A short pass looks at one job more than its depth; the rest is left to a full one.
        ("default_queue_depth=1", [1.0, 1.0, 50.0, 50.0]),
        ("default_queue_depth=1,sched_interval=5", [3.0, 3.0, 5.0, 5.0]),
        ("default_queue_depth=2,sched_interval=20", [1.0, 1.0, 1.0, 10.0]),
        ("sched_max_job_start=1", [1.0, 50.0, 110.0, 170.0]),
    ],
)
def test_depth_and_number_of_starts_of_a_pass(model, parameters, expected):
    conf = f"{FIFO}SchedulerParameters={parameters}\n"
    assert starts(model(["0.5,1,500,9"] * 4, conf, nodes=4)) == expected


def test_the_backfill_loop_wakes_after_its_period(model):
    jobs = ["0.5,1,100,2", "0.6,2,10,5", "0.7,1,30,1"]
    told = model(jobs, nodes=2)
    # The third may run from 20 to 80: the second's nodes are kept from 120 on.
    assert starts(told) == [1.0, 102.0, 20.0]
    assert loops(told) == ["main", "main", "backfill"]
    assert told.nodes[2] == ("n2",)
    assert starts(model(jobs, FIFO, nodes=2)) == [1.0, 102.0, 113.0]
    late = model(jobs, nodes=2, pace=EXACT._replace(nap=0.5))
    assert late.start[2] == 20.5


def test_a_pass_that_takes_long_puts_off_the_next(model):
    jobs = ["0.5,1,200,4", "0.6,2,10,5", "21.7,1,30,1"]
    assert model(jobs, nodes=2).start[2] == 50.0
    slow = EXACT._replace(testing=4.5)
    assert model(jobs, nodes=2, pace=slow).start[2] == 54.5
    # What changed before its end has changed before it: without the main loop's pass at 50 nothing
    # else does until the first job ends at 201. It starts the second at 201.5, for ten seconds.
    conf = "SchedulerParameters=sched_interval=600\n"
    assert model(jobs, conf, nodes=2, pace=slow).start[2] == 212.0


def test_a_backfill_loop_without_work_looks_each_second(model):
    jobs = ["70.5,1,100,2", "70.6,2,10,5", "70.7,1,30,1"]
    # Nothing had changed at 50, so it looks at 51, 52, ... and has work at 71, not at 80 only.
    # The first ends at 171; a full pass at 170 puts off the next to 173.
    assert starts(model(jobs, nodes=2)) == [71.0, 173.0, 71.0]


@pytest.mark.parametrize(("age", "fourth"), [(300, 410.0), (40, 353.0), (0, 353.0)])
def test_jobs_that_are_forgotten_wake_the_backfill_loop(model, age, fourth):
    jobs = ["0.5,1,49,1", "352.5,1,100,2", "352.6,2,10,5", "352.7,1,30,1"]
    conf = f"SchedulerParameters=bf_interval=60,bf_resolution=1\nMinJobAge={age}\n"
    # The first ended at 50. Forgotten at the look at 350, it sets off a pass, so that the next
    # comes at 410; forgotten at 110 or never, it leaves the loop looking each second.
    assert starts(model(jobs, conf, nodes=2))[1::2] == [353.0, fourth]


def test_nodes_that_are_being_cleaned_are_not_used_by_either_loop(model):
    jobs = ["0.5,1,18.75,1", "0.6,1,290,5", "0.7,2,10,5", "0.8,1,20,1"]
    assert model(jobs, nodes=2).start[3] == 20.0
    # From 19.75 until 20.25: the pass at 20 plans the job for the next second, and that at 50
    # starts it.
    assert model(jobs, nodes=2, pace=EXACT._replace(epilog=0.5)).start[3] == 50.0
    jobs = ["0.5,1,10,1", "5.5,1,10,1"]
    assert starts(model(jobs, FIFO, nodes=1, pace=EXACT._replace(epilog=50.0))) == [1.0, 61.0]


# The first job holds a node until 121; the second wants both.
ROUNDED = ["0.5,1,115,2", "0.6,2,10,5", "0.7,1,30,1"]


@pytest.mark.parametrize(
    ("resolution", "epoch", "third"),
    [
        # A job that would end at 120 touches a reservation from 120 on, not one from 121 on.
        (60, 0, 128.0),
        (60, 59, 60.0),
        (60, 58, 128.0),
        (60, 1_000_000_019, 60.0),
        (1, 0, 60.0),
    ],
)
def test_reservations_are_rounded_down_on_the_absolute_clock(model, resolution, epoch, third):
    conf = f"SchedulerParameters=bf_interval=70,bf_resolution={resolution}\n"
    told = model(ROUNDED, conf, nodes=2, pace=EXACT._replace(epoch=epoch))
    assert starts(told) == [1.0, 117.0, third]


def test_a_reservation_lasts_for_one_resolution_at_least(model):
    jobs = ["0.5,1,115,2", "0.6,2,10,1", "0.7,1,30,1"]
    # From 121 until 181 lies within the ten minutes from 0 on: nothing else may start in them.
    for resolution, third in ((1, 20.0), (600, 128.0)):
        conf = f"SchedulerParameters=bf_resolution={resolution}\n"
        assert model(jobs, conf, nodes=2).start[2] == third


def test_beyond_the_window_nothing_is_reserved(model):
    jobs = ["0.5,1,230,4", "0.6,2,10,5", "0.7,1,200,9"]
    conf = "SchedulerParameters=bf_window={}\n"
    # The first ends at 241 at the latest, 221 s after the pass at 20; really at 231.
    assert model(jobs, conf.format(5), nodes=2).start[2] == 244.0
    assert model(jobs, conf.format(3), nodes=2).start[2] == 20.0


@pytest.mark.parametrize(("window", "fifth"), [(4, 61.0), (3, 203.0)])
def test_a_reservation_at_the_end_of_the_window_counts_as_one(model, window, fifth):
    jobs = ["0.5,1,290,5", "0.5,1,100,2", "0.6,3,10,5", "0.7,2,10,1", "0.8,1,5,1"]
    more = f"bf_interval=71,bf_resolution=1,bf_job_part_count_reserve=1,bf_window={window}"
    # All nodes are free at 301, four minutes after the pass at 61. Where that is planned nothing
    # else is; else two are kept from 121 on, and the last job has to wait for a later pass.
    assert model(jobs, f"SchedulerParameters={more}\n", nodes=3).start[4] == fifth


FEATURES = """
NodeName=n1,n3 Feature=x
NodeName=n2,n4
PartitionName=p Nodes=ALL Default=YES
"""


def test_nodes_are_reserved_by_name(model):
    jobs = ["0.5,1,110,2,x", "0.6,1,500,10,", "0.7,2,10,5,x", "0.8,1,200,5,", "0.9,1,200,5,"]
    told = model(jobs, FEATURES, more="features")
    assert told.nodes[:3] == (("n1",), ("n2",), ("n1", "n3"))
    # n3 is kept for the third job from 120 on; n4 is nobody's.
    assert (told.start[3], told.nodes[3]) == (20.0, ("n4",))
    assert told.start[2] == 113.0
    assert (told.start[4], told.nodes[4]) == (124.0, ("n1",))


def test_a_job_runs_before_a_reservation_not_into_it(model):
    jobs = ["0.5,1,59,1", "0.6,1,290,5", "0.7,2,50,1", "0.8,1,170,3", "0.9,1,9,4"]
    # Both nodes are kept from 301 on. At 80 a job of three minutes fits, at 260 one of four does
    # not: it follows the job of two nodes.
    assert starts(model(jobs, "SchedulerParameters=bf_resolution=1\n", nodes=2)) == [
        *(1.0, 1.0, 293.0, 80.0, 344.0)
    ]


OTHERS = """
SchedulerParameters=bf_resolution=1
NodeName=n1 Feature=a,z
NodeName=n2 Feature=y,z
NodeName=n3 Feature=c,y
NodeName=n4 Feature=w,z
PartitionName=p Nodes=ALL Default=YES
"""


def test_a_job_may_begin_sooner_on_nodes_that_others_have_before(model):
    rows = ["0.5,1,590,10,a", "0.5,1,115,2,c", "0.6,2,50,1,y", "0.7,2,100,5,z", "0.8,1,99,5,w"]
    told = model(rows, OTHERS, more="features")
    # The third has n2 and n3 from 121 until 181. The fourth could have n1 and n4 from 601 on, but
    # n2 and n4 from 181 on: so the fifth, at 20, may not have n4 for five minutes.
    assert starts(told) == [1.0, 1.0, 117.0, 168.0, 269.0]
    assert told.nodes[3] == ("n2", "n4")


def test_the_tightest_run_of_neighbours_is_taken(model):
    held = ["0.5,3,10,1", "0.5,1,900,20", "0.5,2,10,1", "0.5,1,900,20"]
    told = model([*held, "20.5,2,5,1"], FIFO, nodes=7)
    assert told.nodes[:4] == (("n1", "n2", "n3"), ("n4",), ("n5", "n6"), ("n7",))
    assert told.nodes[4] == ("n5", "n6")
    assert model([*held, "20.5,1,5,1"], FIFO, nodes=7).nodes[4] == ("n5",)
    # None suffices: the largest whole, and the rest from the tightest again.
    assert model([*held, "20.5,4,5,1"], FIFO, nodes=7).nodes[4] == ("n1", "n2", "n3", "n5")


SWITCHES = """
TopologyPlugin=topology/tree
NodeName=n[1-6]
PartitionName=p Nodes=ALL Default=YES
"""
LEAVES = "SwitchName=a Nodes=n1,n4\nSwitchName=b Nodes=n2,n3,n5\n{more}SwitchName=t Switches=a,b\n"


@pytest.mark.parametrize(
    ("need", "taken"),
    [
        (1, ("n6",)),
        (2, ("n1", "n4")),
        (3, ("n2", "n3", "n5")),
        (4, ("n2", "n3", "n5", "n6")),
        (5, ("n1", "n2", "n3", "n4", "n5")),
    ],
)
@pytest.mark.parametrize(
    "more", ["SwitchName=c Nodes=n6\n", "SwitchName=c Nodes=z[1-9]\nSwitchName=d Nodes=n6\n", ""]
)
def test_the_tightest_leaf_switch_is_taken(model, need, taken, more):
    # Not all switches need have nodes of ours, and a node on no switch is by itself.
    more = "".join(f"SwitchName=e{k} Nodes=y{k}\n" for k in range(20)) + more if more else more
    told = model([f"0.5,{need},5,1"], SWITCHES, topology=LEAVES.format(more=more))
    assert told.nodes == (taken,)


@pytest.mark.parametrize(
    ("minutes", "over", "end"),
    [("1", "", 80.0), ("1.2", "", 140.0), ("2", "", 140.0), ("1", "OverTimeLimit=1\n", 140.0)],
)
def test_a_job_is_ended_at_the_look_after_its_whole_minutes(model, minutes, over, end):
    told = model([f"0.5,1,1e6,{minutes}"], f"{FIFO}{over}", nodes=1)
    assert (told.end.tolist(), told.timed_out.tolist()) == ([end], [True])
    assert model(["0.5,1,60,1"], FIFO, nodes=1).timed_out.tolist() == [False]


def test_a_job_without_an_end_is_ended_at_its_limit(model):
    jobs, endless = ["0.5,1,1,1"], {"run": np.array([math.inf])}
    assert model(jobs, FIFO, nodes=1, change=endless).end.tolist() == [80.0]
    with pytest.raises(OptionError, match="OverTimeLimit=UNLIMITED never ends it"):
        model(jobs, f"{FIFO}OverTimeLimit=UNLIMITED\n", nodes=1, change=endless)


# At 20 the first node is busy until 301 at most, the second until 61, the third is free. The third
# job waits for all, the fourth would have two from 61 on, the fifth one now.
CROWD = ["0.5,1,290,5,u", "0.5,1,30,1,u", "0.6,3,10,5,u", "0.7,2,10,1,u", "0.8,1,5,1,v"]


@pytest.mark.parametrize(
    ("parameters", "fourth", "fifth"),
    [
        ("", 50.0, 80.0),
        # Only the first waiting job has a reservation.
        ("bf_job_part_count_reserve=1", 50.0, 20.0),
        ("bf_job_part_count_reserve=2", 50.0, 80.0),
        # A job younger than that has none; the head has none either, but is too wide.
        ("bf_min_age_reserve=21", 50.0, 20.0),
        ("bf_min_age_reserve=20", 50.0, 80.0),
        # The fourth is not looked at while the third waits, of the same user.
        ("bf_max_job_user=1", 304.0, 20.0),
        ("bf_max_job_user=2", 50.0, 80.0),
        # Only two of the partition, or two in all, are looked at.
        ("bf_max_job_part=2", 50.0, 80.0),
        ("bf_max_job_test=2", 50.0, 80.0),
        ("bf_max_job_part=1", 304.0, 304.0),
        ("bf_max_job_test=1", 304.0, 304.0),
    ],
)
def test_what_the_backfill_loop_looks_at(model, parameters, fourth, fifth):
    conf = f"SchedulerParameters={parameters}\n"
    told = model(CROWD, conf, nodes=3, more="user")
    assert starts(told)[:3] == [1.0, 1.0, 293.0]
    assert starts(told)[3:] == [fourth, fifth]


@pytest.mark.parametrize(("reserve", "fourth"), [(1, 20.0), (0, 304.0)])
def test_a_job_without_enough_nodes_is_not_counted_as_tested(model, reserve, fourth):
    jobs = ["0.5,1,290,5", "0.6,2,10,5", "0.7,1,10,10", "0.8,1,10,1"]
    conf = f"SchedulerParameters=bf_max_job_test=2,bf_job_part_count_reserve={reserve}\n"
    # Both nodes are kept for the second from 300 on, so that the third has none now; a plan for
    # later would be a second test.
    assert model(jobs, conf, nodes=2).start[3] == fourth


def test_one_start_in_a_pass(model):
    jobs = ["0.5,1,200,5", "0.6,4,10,5", *["0.7,1,5,1"] * 3]
    conf = "SchedulerParameters=bf_max_job_start={}\n"
    assert starts(model(jobs, conf.format(0), nodes=4))[2:] == [20.0, 20.0, 20.0]
    assert starts(model(jobs, conf.format(2), nodes=4))[2:] == [20.0, 20.0, 50.0]


PARTITIONS = """
NodeName=n[1-4]
PartitionName=low Nodes=n[1-3] Default=YES MaxNodes=2
PartitionName=high Nodes=n[2-4] PriorityTier=2
PartitionName=off Nodes=ALL State=DOWN
"""


def test_a_higher_tier_goes_first_and_keeps_its_nodes(model):
    jobs = ["0.5,2,50,1,low", "0.6,3,50,1,high", "0.7,1,5,1,low"]
    told = model(jobs, f"{FIFO}{PARTITIONS}", more="partition")
    # The second goes first; then n1 alone is left, which the first waits for: so does the third.
    assert starts(told) == [53.0, 1.0, 53.0]
    jobs = ["0.5,2,50,1,low", "5.6,3,50,1,high", "5.7,1,5,1,low"]
    told = model(jobs, f"{FIFO}{PARTITIONS}", more="partition")
    # The second waits for n2, and keeps n3 and n4 from the third, in the main loop.
    assert (starts(told), told.nodes[2]) == ([1.0, 53.0, 53.0], ("n1",))
    told = model(jobs, PARTITIONS, more="partition")
    assert (told.start[2], told.nodes[2]) == (53.0, ("n1",))


ENDING = """
NodeName=n1 Feature=p,r
NodeName=n2 Feature=q,r,e
NodeName=n3 Feature=e,f
PartitionName=low Nodes=ALL Default=YES
PartitionName=high Nodes=ALL PriorityTier=2
"""


def test_of_jobs_that_end_together_the_first_in_number_counts_first(model):
    running = ["0.5,1,50,1,low,p", "0.6,1,50,1,high,q"]
    told = model(
        [*running, "0.7,1,99,5,low,r", "0.8,2,10,1,low,e", "0.9,1,9,5,low,f"],
        ENDING,
        more="partition,features",
    )
    # Both started at 1, the second before the first, and may run until 61. Then the third has n1,
    # so the fourth n2 and n3, so that the fifth may not have n3 at 20.
    assert starts(told) == [1.0, 1.0, 53.0, 53.0, 64.0]


SHARED = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
NodeName=a1 CPUs=4 RealMemory=100 Gres=gpu:1
NodeName=a2 CPUs=4 RealMemory=400 Feature=big
NodeName=a3 CPUs=8 RealMemory=100
PartitionName=p Nodes=ALL Default=YES
"""
ASKED = "cpus,memory,gpus,features"


def test_nodes_are_shared_by_processors_memory_and_gpus(model):
    def placed(*jobs):
        told = model([f"0.5,{job}" for job in jobs], f"{FIFO}{SHARED}", more=ASKED)
        return [(start, *nodes) for start, nodes in zip(starts(told), told.nodes, strict=True)]

    # Processors: the third has no room beside the first two, the fourth none anywhere.
    assert placed(*["1,50,1,2,10,,"] * 2, "1,50,1,3,10,,") == [(1, "a1"), (1, "a1"), (1, "a2")]
    assert placed("1,50,1,8,1,,", "1,50,1,8,1,,") == [(1, "a3"), (53, "a3")]
    assert placed("1,50,1,1,90,,", "1,50,1,1,20,,") == [(1, "a1"), (1, "a2")]
    assert placed("1,50,1,1,1,1,", "1,50,1,1,1,1,") == [(1, "a1"), (53, "a1")]
    assert placed("1,50,1,1,1,,big", "2,50,1,4,1,,") == [(1, "a2"), (1, "a1", "a3")]


BATCHES = """
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=72,bf_resolution=1
NodeName=n1 CPUs=8
PartitionName=p Nodes=ALL Default=YES
"""


@pytest.mark.parametrize(
    ("second", "epoch", "fourth"),
    [
        # The first is over at 121, the second at 125: the third is planned for 125.
        ("4.5,1,110,2,3", 0, 62.0),
        # At 181, and the window ends at 180: the third is planned for 121.
        ("0.5,1,170,3,3", 0, 123.0),
        # The window ends at 181.
        ("0.5,1,170,3,3", 29, 62.0),
    ],
)
def test_jobs_that_share_a_node_count_as_ending_together(model, second, epoch, fourth):
    # At 62 a job of a minute has room beside both, if the third does not want the node until 122.
    jobs = ["0.5,1,115,2,3", second, "5.6,1,5,1,4", "5.7,1,5,1,2"]
    told = model(jobs, BATCHES, more="cpus", pace=EXACT._replace(epoch=epoch))
    assert told.start[3] == fourth


def test_jobs_started_in_one_pass_may_share_a_node(model):
    conf = BATCHES.replace("72", "30").replace("n1 CPUs=8", "n[1-2] CPUs=4")
    jobs = ["0.5,1,290,5,4", "0.6,2,10,1,4", *["0.7,1,30,1,2"] * 3]
    told = model(jobs, conf, more="cpus")
    assert starts(told)[2:] == [20.0, 20.0, 80.0]
    assert told.nodes[2:] == (("n2",),) * 3


@pytest.mark.parametrize(
    "row",
    [
        "0.5,5,5,1,,,,",  # more nodes than there are
        "0.5,1,5,1,9,,,",
        "0.5,1,5,1,,401,,",
        "0.5,1,5,1,,,2,",
        "0.5,1,5,1,,,,small",
        "0.5,2,5,1,,,,big",
    ],
)
def test_jobs_that_no_nodes_suit_are_refused_and_hold_up_nobody(model, row):
    told = model([row, "0.5,1,5,1,,,,"], f"{FIFO}{SHARED}", more=ASKED)
    assert told.refused.tolist() == [True, False]
    assert np.isnan([told.start[0], told.end[0]]).all()
    assert (told.start[1], told.nodes[0]) == (1.0, ())


def test_partitions_refuse_jobs_too(model):
    jobs = ["0.5,1,5,1,off", "0.5,3,5,1,low", "0.5,3,5,1,high"]
    told = model(jobs, f"{FIFO}{PARTITIONS}", more="partition")
    assert told.refused.tolist() == [True, True, False]
    assert told.why == (
        "of partition off, which is not up",
        "of partition low that ask for more nodes than it allows",
        "",
    )


def test_a_run_that_is_not_a_number_is_refused_by_name(model):
    with pytest.raises(OptionError, match="job 1: how long it runs"):
        model(["0.5,1,5,1", "0.6,1,9,1"], FIFO, nodes=1, change={"run": np.array([5.0, math.nan])})


def test_jobs_that_are_taken_back(model):
    jobs = ["0.5,2,50,1", "0.6,1,9,1", "0.7,2,9,1", "0.8,1,9,1"]
    instants = np.array([30.5, 20.25, math.inf, 400.0])
    told = model(jobs, FIFO, nodes=2, change={"cancel": instants})
    # The first off its nodes, the second out of the queue; the last had ended by itself.
    assert told.end.tolist() == [30.5, 20.25, 40.0, 50.0]
    assert np.isnan(told.start[1])
    assert starts(told)[2:] == [31.0, 41.0]
    assert loops(told)[1] == ""
    assert not told.refused.any()


PRIORITY = """
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
PriorityType=priority/multifactor
AccountingStorageType=accounting_storage/slurmdbd
PriorityWeightFairshare=100000
PriorityCalcPeriod=1
PriorityDecayHalfLife=0-1
{more}
"""
FAIR = {"tree": "PriorityFlags=FAIR_TREE\n", "classic": "FairShareDampeningFactor=3\n"}


@pytest.mark.parametrize(("rule", "soon", "late"), [("tree", 40, 60), ("classic", 60, 115)])
def test_a_user_who_has_used_much_goes_last_after_a_period(model, rule, soon, late):
    jobs = ["0.5,1,{},2,a,x", "2.5,1,5,1,a,x", "3.5,1,5,1,b,y"]
    conf = PRIORITY.format(more=FAIR[rule])

    def order(run, conf):
        rows = [job.format(run) for job in jobs]
        return np.argsort(model(rows, conf, nodes=1, more="user,account").start).tolist()

    # Priorities are counted anew at 50 and 110; by the classic rule accounts lag a period behind.
    assert order(soon, conf) == [0, 1, 2]
    assert order(late, conf) == [0, 2, 1]
    assert order(late, conf.replace("slurmdbd", "none")) == [0, 1, 2]
    assert order(late, conf.replace("multifactor", "basic")) == [0, 1, 2]
    assert order(late, conf.replace("FAIR_TREE", "FAIR_TREE,INCR_ONLY")) == (
        [0, 1, 2] if rule == "tree" else [0, 2, 1]
    )


def test_all_processors_of_a_job_are_used(model):
    rows = ["0.5,2,60,2,a,x", "0.5,1,60,2,b,y", "2.5,3,5,1,a,x", "3.5,3,5,1,b,y"]
    told = model(rows, PRIORITY.format(more=FAIR["tree"]), nodes=3, more="user,account")
    assert starts(told) == [1.0, 1.0, 68.0, 62.0]


def test_a_job_that_has_waited_long_overtakes_a_wider_one(model):
    weights = "PriorityWeightAge=1000\nPriorityMaxAge=0-1\nPriorityWeightJobSize=20\n"
    conf = PRIORITY.replace("Fairshare=100000", "Fairshare=0").format(more=weights)

    def order(run, third):
        jobs = [f"0.5,4,{run},9", "2.5,1,5,1", f"{third},4,5,1"]
        return np.argsort(model(jobs, conf, nodes=4).start).tolist()

    # The sizes are worth 5 and 20, 40 s of age 11, and 60 s 17, from the next period on.
    assert order(120, 42.5) == [0, 2, 1]
    assert order(100, 62.5) == [0, 2, 1]
    assert order(120, 62.5) == [0, 1, 2]


def by_hand(rows, rule, decay, dampening, weight):
    """Starts of jobs of one node on one node: each second the first in order, if it is free."""
    accounts = {}
    for _, user, account in rows:
        if user not in accounts.setdefault(account, []):
            accounts[account].append(user)
    shares = Shares(accounts, decay, dampening)
    ranks = shares.tree()

    def priority(user, account):
        factor = shares.classic(account, user) if rule == "classic" else ranks[account, user]
        return math.floor(max(weight * factor, 1.0))

    order = [priority(user, account) for _, user, account in rows]
    begun, last = {}, -10
    running, until = None, 0
    second = 0

    def use():
        _, user, account = rows[running]
        shares.spend(account, user, 1, second - max(last, begun[running]))

    while len(begun) < len(rows):
        second += 1
        is_free = running is None
        if running is not None and until == second:
            use()
            running = None
        if (second - 50) % 60 == 0:
            shares.begin_period(60)
            if rule == "tree":
                if running is not None:
                    use()
                ranks = shares.tree()
            for j, (_, user, account) in enumerate(rows):
                if j == running and rule == "classic":
                    use()
                elif j not in begun:
                    order[j] = priority(user, account)
            last = second
        # The node is idle a moment after the end: for the next second's pass.
        if is_free:
            running = max((j for j in range(len(rows)) if j not in begun), key=lambda j: order[j])
            begun[running] = second
            until = second + rows[running][0]
    return [begun[j] for j in range(len(rows))]


@pytest.mark.parametrize("rule", FAIR)
@pytest.mark.parametrize("seed", range(3))
def test_priorities_reorder_the_queue_as_counted_by_hand(model, rule, seed, tmp_path):
    chance = np.random.default_rng(seed)
    who = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "y"), ("a", "z")]
    picked = [who[k] for k in chance.integers(0, len(who), 24)]
    rows = [(int(chance.integers(5, 60)), *pair) for pair in picked]
    lines = [f"0.5,1,{run},1,{user},{account}" for run, user, account in rows]
    told = model(lines, PRIORITY.format(more=FAIR[rule]), nodes=1, more="user,account")
    counted = rule_of(read_slurm_conf(tmp_path / "slurm.conf"))
    expected = by_hand(rows, rule, counted.decay, counted.dampening, counted.fair_share)
    assert starts(told) == expected
    assert expected != sorted(expected)
