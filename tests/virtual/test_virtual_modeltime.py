"""The controller's main loop as its waits tell of it, and how far time may be moved."""

from __future__ import annotations

import math

import pytest

from sojourn.adequacy.virtual.clock import DAEMON, Wait
from sojourn.adequacy.virtual.modeltime import MainLoop, ModelTime

NS = 1_000_000_000


def _plain_readings(begun, length, until):
    """Instants at which a loop of rounds of a length reads the clock."""
    number = math.floor((until - begun) / length)
    return [begun + k * length for k in range(1, number + 1)]


def _plain_duties(begun, length, period, until):
    """The readings at which a duty is done, by the rule of whole seconds."""
    last, done = math.floor(begun), []
    for reading in _plain_readings(begun, length, until):
        if math.floor(reading) - last >= period:
            last = math.floor(reading)
            done.append(reading)
    return done


def _wait(reading, round_, length):
    """The wait of a loop that will read the clock at an instant."""
    one = length / 10
    end = reading - (9 - round_) * one
    lag = round((one - 0.1) * NS)
    return Wait(
        deadline=round(end * NS) - lag // 2,
        length=NS // 10,
        late=lag // 2,
        lag=lag,
        pid=1,
        tid=1,
        word=0,
        kind=DAEMON,
        round=round_,
    )


@pytest.mark.parametrize("length", [1.0021, 1.0047, 1.0303])
@pytest.mark.parametrize("period", [7, 30, 60])
def test_the_rounds_before_a_duty_are_those_of_the_loop_itself(length, period):
    begun, until = 1000.4137, 3000.0
    duties = _plain_duties(begun, length, period, until)
    loop = MainLoop(begun, [period])
    readings = _plain_readings(begun, length, duties[-1] - 0.5)
    for k, reading in enumerate(readings):
        loop.follow(_wait(reading, k % 10, length))
        assert loop.length == pytest.approx(length)
        assert loop.next == pytest.approx(reading, abs=1e-6)
        due = next(duty for duty in duties if duty > reading - 1e-6)
        assert loop.rounds_before(period) == round((due - reading) / length)


@pytest.mark.parametrize("period", [2, 3, 7])
def test_the_last_of_several_rounds_in_which_a_duty_is_due(period):
    begun, length = 1000.4137, 1.0031
    duties = _plain_duties(begun, length, period, 1500.0)
    loop = MainLoop(begun, [period])
    for reading in _plain_readings(begun, length, 1400.0):
        loop.follow(_wait(reading, 3, length))
        for most in (0, 1, 5, 29):
            among = [
                duty for duty in duties if reading - 1e-6 < duty < reading + (most + 0.5) * length
            ]
            expected = round((among[-1] - reading) / length) if among else most
            assert loop.last_round(period, most) == expected


def test_rounds_that_were_not_seen_count_too():
    loop = MainLoop(1000.5, [30])
    loop.follow(_wait(1011.53, 0, 1.003))
    assert loop.done[30] == 1000
    loop.follow(_wait(1045.6, 0, 1.003))
    assert loop.done[30] == 1030


class _Restless:
    """A clock whose cluster has a thread that wakes right after it was quiet."""

    def __init__(self, found):
        self.found, self.looks = list(found), 0

    def settle(self):
        self.looks += 1

    def waits(self):
        return self.found.pop(0)


def test_the_cluster_is_looked_at_again_where_a_thread_woke_meanwhile():
    pace = ModelTime.__new__(ModelTime)
    waits = [_wait(5.0, 3, 1.002)]
    pace._clock = _Restless([None, None, waits])
    assert pace._settled() == waits
    assert pace._clock.looks == 3
