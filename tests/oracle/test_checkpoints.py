"""Checkpoints of the oracle, by hand."""

from fractions import Fraction

from . import controls
from .checkpoints import Checkpoint, pieces, with_dumps
from .disciplines import preempt
from .external import Happening, around, simulate_around
from .model import Job
from .orders import fcfs, lcfs
from .surroundings import unless_stopped


def test_there_is_no_dump_at_the_end_unless_asked_for():
    assert pieces(600, Checkpoint(60, 1)) == [61] * 9 + [60]
    assert pieces(600, Checkpoint(60, 1, at_end=True)) == [61] * 10 + [0]
    assert pieces(0, Checkpoint(60, 1)) == [0]
    assert with_dumps(59, Checkpoint(60, 1)) == 59


def run(jobs, checkpoint, happenings, discipline=None, rate=1):
    return simulate_around(
        jobs,
        1,
        discipline or around(fcfs),
        controls.constant(rate),
        happenings,
        requeue=True,
        checkpoints=[checkpoint] * len(jobs),
    )


def test_opendc():
    down = [Happening(300, "down", 1), Happening(600, "up", 1)]
    outcome = run([Job(0, 600, 1, 600)], Checkpoint(60, 1), down)
    assert outcome.end == [965]
    assert outcome.lost_service == [(0, 244, 300)]


def test_a_dump_that_ends_with_the_failure_is_finished():
    strike = [Happening(122, "strike", 0)]
    outcome = run([Job(0, 150, 1, 150)], Checkpoint(60, 1, 10), strike)
    # Two dumps are over; 30 s of work are left.
    assert outcome.end == [122 + 10 + 30]
    assert outcome.lost_service == [(0, 122, 122)]


def test_a_moment_before_it_is_not():
    strike = [Happening(121, "strike", 0)]
    outcome = run([Job(0, 150, 1, 150)], Checkpoint(60, 1, 10), strike)
    assert outcome.end == [121 + 10 + 60 + 1 + 30]
    assert outcome.lost_service == [(0, 61, 121)]


def test_who_is_struck_while_it_restores_restores_again():
    strikes = [Happening(70, "strike", 0), Happening(75, "strike", 0)]
    outcome = run([Job(0, 100, 1, 100)], Checkpoint(60, 1, 10), strikes)
    assert outcome.end == [75 + 10 + 40]
    assert outcome.lost_service == [(0, 61, 70), (0, 75, 75)]


def test_at_rate_2_dumps_take_half_as_long():
    strike = [Happening(40, "strike", 0)]
    outcome = run([Job(0, 100, 1, 100)], Checkpoint(60, 1, 10), strike, rate=2)
    assert outcome.end == [40 + 5 + 20]
    assert outcome.lost_service == [(0, Fraction(61, 2), 40)]


def test_a_checkpoint_of_an_earlier_stretch_counts():
    """Job 0 dumps at 11 s, gives way to job 1 at 15 s, and is struck at 22 s."""
    jobs = [Job(0, 30, 1, 30), Job(15, 5, 1, 5)]
    outcome = run(
        jobs,
        Checkpoint(10, 1, 2),
        [Happening(22, "strike", 0)],
        unless_stopped(preempt(lcfs)),
    )
    # At 22 s it has done 17 s of its life: the dump at 11 s is the last that was finished.
    assert outcome.lost_service == [(0, 11, 15), (0, 20, 22)]
    assert outcome.end[0] == 22 + 2 + 20 + 1
