"""A clock that is moved on: what sleeps, what waits, and what stays asleep."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from sojourn.adequacy.virtual import clock as module
from sojourn.adequacy.virtual.clock import ModelClock, compiler
from sojourn.errors import RunError

NS = 1_000_000_000
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or compiler() is None, reason="no C compiler: install gcc libc6-dev"
)

# Two threads hand a turn to each other through conditions with long timeouts: a signal that is
# lost costs a timeout. Then a wait that nobody ends, whose length by the clock is told.
TURNS = r"""
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn, lost;
static int wait_for(pthread_cond_t *c, int seconds) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += seconds;
    return pthread_cond_timedwait(c, &lock, &t);
}
static void *play(void *me) {
    long self = (long)me;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 5000; i++) {
        while (turn != self) lost += wait_for(&changed[self], 1000) == ETIMEDOUT;
        turn = !self;
        i % 2 ? pthread_cond_signal(&changed[!self]) : pthread_cond_broadcast(&changed[!self]);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void) {
    pthread_t other;
    time_t begun = time(NULL);
    pthread_create(&other, NULL, play, (void *)1L);
    play((void *)0L);
    pthread_join(other, NULL);
    printf("%d lost, %ld s\n", lost, (long)(time(NULL) - begun) / 100);
    fflush(stdout);
    pthread_mutex_lock(&lock);
    begun = time(NULL);
    int timed_out = wait_for(&changed[0], 500) == ETIMEDOUT;
    printf("%d timed out, %ld s\n", timed_out, (long)(time(NULL) - begun));
    return 0;
}
"""


@pytest.fixture
def clock(tmp_path):
    return ModelClock(tmp_path)


@contextmanager
def _started(clock, *line):
    environment = {"PATH": os.environ["PATH"], **clock.environment}
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _waits(clock):
    """The waits under way, as soon as no thread is about to begin or end one."""
    until = time.monotonic() + 20
    while (found := clock.waits()) is None:
        assert time.monotonic() < until
    return found


def test_a_wait_that_is_just_begun_or_left_is_none_yet(clock):
    """Its deadline is not there, or not any more."""
    assert clock.waits() == []
    place = module._HEAD.size + 4 * module._PROCESSES
    fields = dict.fromkeys(module.Wait._fields, 0) | {"pid": 7, "tid": 8, "length": NS}
    clock._memory[: module._HEAD.size] = module._HEAD.pack(0, 0, 1, 0, 0)
    for deadline, found in ((0, None), (5 * NS, [(7, 5.0)])):
        told = module.Wait(**fields | {"deadline": deadline})
        clock._memory[place : place + module._WAIT.size] = module._WAIT.pack(*told)
        waits = clock.waits()
        assert (waits if waits is None else [(w.pid, w.end) for w in waits]) == found


def _wait_for_waits(clock, number):
    until = time.monotonic() + 20
    while len(_waits(clock)) < number and time.monotonic() < until:
        time.sleep(0.01)
    clock.settle()
    assert len(_waits(clock)) == number


def test_a_job_sleeps_until_the_clock_is_moved_past_its_end(clock):
    begun = clock.now()
    with _started(clock, "sleep", "5000") as job:
        _wait_for_waits(clock, 1)
        (wait,) = _waits(clock)
        assert wait.kind == module.JOB
        assert abs(wait.deadline / 1e9 - begun - 5000) < 10
        clock.step(wait.deadline / 1e9 - 100)
        clock.settle()
        assert job.poll() is None
        clock.step(wait.deadline / 1e9)
        assert job.wait(10) == 0
    assert 5000 <= clock.now() - begun < 5100
    clock.settle()
    assert len(_waits(clock)) == 0


def test_what_clocks_tell_moves_with_it(clock):
    told = "import time\nprint(time.time(), time.monotonic())"
    before = time.monotonic()
    clock.step(clock.now() + 1e6)
    with _started(clock, sys.executable, "-c", told) as process:
        instant, monotonic = map(float, process.communicate()[0].split())
    assert abs(instant - clock.now()) < 10
    assert abs(monotonic - before - 1e6) < 10


def test_no_signal_is_lost_between_a_wait_and_its_timeout(clock, tmp_path):
    (tmp_path / "turns.c").write_text(TURNS)
    program = str(tmp_path / "turns")
    line = [compiler(), "-O1", "-o", program, str(tmp_path / "turns.c"), "-lpthread"]
    subprocess.run(line, check=True)
    with _started(clock, program) as process:
        assert process.stdout.readline() == "0 lost, 0 s\n"
        _wait_for_waits(clock, 1)
        clock.step(_waits(clock)[0].deadline / 1e9)
        assert process.stdout.readline() == "1 timed out, 500 s\n"
        assert process.wait(10) == 0


def _loop(clock, code):
    """A program that goes round, and whose lag has been measured."""
    return _started(clock, sys.executable, "-c", f"import time\nwhile True: {code}")


def _wait_for_lag(clock, left=0.5):
    """Wait until a loop's lag is known, and its wait lasts a while."""
    while not all(w.lag for w in _waits(clock) if w.kind == module.DAEMON):
        time.sleep(0.01)
    while min(w.deadline for w in _waits(clock)) / 1e9 < clock.now() + left:
        time.sleep(0.001)


def test_a_leap_takes_loops_along_and_keeps_their_phase(clock):
    with _loop(clock, "time.sleep(1.0)"), _started(clock, "sleep", "7000"):
        _wait_for_waits(clock, 2)
        _wait_for_lag(clock)
        before = {w.kind: w for w in _waits(clock)}
        land = clock.now() + 600
        clock.leap(land, ())
        after = {w.kind: w for w in _waits(clock)}
        loop = before[module.DAEMON]
        assert 0 < loop.lag < 0.05 * NS
        rounds, rest = divmod(after[module.DAEMON].deadline - loop.deadline, loop.length + loop.lag)
        assert rest == 0
        assert 590 < rounds <= 600
        # The first round that ends after the leap, and no later one.
        assert 0 <= after[module.DAEMON].deadline - land * NS < loop.length + loop.lag + NS / 1000
        assert after[module.JOB].deadline == before[module.JOB].deadline


def test_a_leap_wakes_those_that_are_to_be_kept(clock):
    with _loop(clock, "time.sleep(3.0); print(flush=True)") as loop:
        _wait_for_waits(clock, 1)
        (wait,) = _waits(clock)
        clock.leap(clock.now() + 100, ())
        clock.settle()
        assert _waits(clock)[0].deadline > wait.deadline + 90 * NS
        clock.leap(_waits(clock)[0].end, [wait.tid])
        assert loop.stdout.readline() == "\n"


# Reads the clock after ten waits in a row, and tells what it says.
ROUNDS = r"""
#include <stdio.h>
#include <unistd.h>
#include <time.h>
int main(void) {
    for (int i = 0; i < 10; i++) sleep(10);
    printf("%ld\n", (long)time(NULL));
    fflush(stdout);
    sleep(10);
}
"""


def test_waits_in_a_row_that_time_was_moved_past_are_over_at_once(clock, tmp_path):
    (tmp_path / "rounds.c").write_text(ROUNDS)
    program = str(tmp_path / "rounds")
    subprocess.run([compiler(), "-o", program, str(tmp_path / "rounds.c")], check=True)
    with _started(clock, program) as process:
        _wait_for_waits(clock, 1)
        (first,) = _waits(clock)
        assert first.round == 0
        clock.step(first.deadline / NS + 35)
        clock.settle()
        (wait,) = _waits(clock)
        assert wait.round == 4
        assert abs(wait.deadline - first.deadline - 40 * NS) < NS
        due = first.deadline / NS + 90
        clock.step(due)
        assert math.floor(due) <= int(process.stdout.readline()) < due + 5
        _wait_for_waits(clock, 1)
        # It has read the clock, and waits from then on.
        (wait,) = _waits(clock)
        assert wait.round == 0
        assert wait.deadline / NS >= due + 10


def test_a_busy_cluster_is_not_taken_for_a_quiet_one(clock, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.5)
    with _started(clock, sys.executable, "-c", "while True: pass"):
        time.sleep(0.2)
        with pytest.raises(RunError, match="busy"):
            clock.settle()
    clock.settle()
