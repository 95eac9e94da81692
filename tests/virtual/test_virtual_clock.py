"""A clock that is moved on: what sleeps, what waits, and what stays asleep."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from sojourn.adequacy.virtual import clock as module
from sojourn.adequacy.virtual.clock import Clock, compiler
from sojourn.errors import RunError

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
    return Clock(tmp_path)


@contextmanager
def _started(clock, *line):
    environment = {"PATH": os.environ["PATH"], **clock.environment}
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait_for_waits(clock, number):
    until = time.monotonic() + 20
    while len(clock.waits()) < number and time.monotonic() < until:
        time.sleep(0.01)
    clock.settle()
    assert len(clock.waits()) == number


def test_a_job_sleeps_until_the_clock_is_moved_past_its_end(clock):
    begun = clock.now()
    with _started(clock, "sleep", "5000") as job:
        _wait_for_waits(clock, 1)
        (wait,) = clock.waits()
        assert wait.kind == module._JOB
        assert abs(wait.deadline / 1e9 - begun - 5000) < 10
        clock.step(wait.deadline / 1e9 - 100)
        clock.settle()
        assert job.poll() is None
        clock.step(wait.deadline / 1e9)
        assert job.wait(10) == 0
    assert 5000 <= clock.now() - begun < 5100
    clock.settle()
    assert len(clock.waits()) == 0


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
        clock.step(clock.waits()[0].deadline / 1e9)
        assert process.stdout.readline() == "1 timed out, 500 s\n"
        assert process.wait(10) == 0


def test_a_leap_takes_loops_along_and_keeps_their_phase(clock):
    loop = "import time\nwhile True: time.sleep(1.0)"
    with _started(clock, sys.executable, "-c", loop), _started(clock, "sleep", "7000"):
        _wait_for_waits(clock, 2)
        while not all(w.lag for w in clock.waits() if w.kind == module._DAEMON):
            time.sleep(0.01)
        while min(w.deadline for w in clock.waits()) / 1e9 < clock.now() + 0.5:
            time.sleep(0.01)
        before = {w.kind: w.deadline for w in clock.waits()}
        clock.leap(600)
        after = {w.kind: w.deadline for w in clock.waits()}
        late = after[module._DAEMON] - before[module._DAEMON] - 600 * module._NS
        # Once a second it would have been as late as it was before.
        (lag,) = (w.lag for w in clock.waits() if w.kind == module._DAEMON)
        assert 0 < lag < 0.05 * module._NS
        apart = (late - 600 * lag) % module._NS
        assert min(apart, module._NS - apart) < 0.02 * module._NS
        assert after[module._JOB] == before[module._JOB]


def test_a_busy_cluster_is_not_taken_for_a_quiet_one(clock, monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.5)
    with _started(clock, sys.executable, "-c", "while True: pass"):
        time.sleep(0.2)
        with pytest.raises(RunError, match="busy"):
            clock.settle()
    clock.settle()
