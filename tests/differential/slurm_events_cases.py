"""External events for the model of Slurm: nodes that fail, jobs taken back, stops, reservations."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

import numpy as np
from oracle.checkpoints import Checkpoint
from oracle.slurm_events import Outside

from sojourn.engine.calendar import EVENT, LOOK, Calendar, make_calendar
from sojourn.engine.checkpoints import CHECKPOINT
from sojourn.engine.happenings import DOWN, RESUME, STOP, STRIKE, UP, WITHDRAW
from sojourn.engine.passes.slurm_tables import Outside as Given
from sojourn.policy.slurm.controller import Happening

from .slurm_harness import Drawn

CODES = {
    "down": DOWN,
    "up": UP,
    "strike": STRIKE,
    "cancel": WITHDRAW,
    "stop": STOP,
    "resume": RESUME,
    "look": LOOK,
}


class Case(NamedTuple):
    """A stream with its events, and what the compiled controller is given of them."""

    drawn: Drawn
    outside: Outside
    happening: Happening


def with_events(seed: int, drawn: Drawn, *, whole: bool = False, saves: bool = False) -> Case:
    """Some of all that may happen; `whole`: everything falls on whole seconds."""
    rng = random.Random(seed)
    jobs, nodes = drawn[:2]
    first = min(job["submit"] for job in jobs)
    span = max(job["submit"] for job in jobs) - first + 400

    def some(begin: float = 0.0) -> float:
        time = first + begin + rng.random() * span
        return float(math.floor(time)) if whole else time

    happenings: list[tuple[float, str, int]] = []
    for n in range(len(nodes)):
        time = some()
        while rng.random() < 0.5:
            happenings.append((time, "down", n))
            if rng.random() < 0.05:
                break
            time += rng.choice((1.0, 7.0, 40.0, 200.0))
            happenings.append((time, "up", n))
            time += rng.choice((1.0, 30.0, 150.0))
    for j in range(len(jobs)):
        if rng.random() < 0.1:
            happenings.append((some(), "strike", j))
        if rng.random() < 0.08:
            happenings.append((max(some(-30.0), first), "cancel", j))
    if rng.random() < 0.2:
        time = some()
        happenings += [(time, "stop", 0), (time + rng.choice((3.0, 70.0)), "resume", 0)]
    reservations = []
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        begins = math.floor(some())
        ends = begins + rng.choice((1, 30, 60, 200, 600))
        announced = rng.choice((-math.inf, -math.inf, begins - 100.0, begins + 5.0))
        chosen = rng.sample(range(len(nodes)), rng.choice((1, len(nodes))))
        reservations += [(announced, begins, ends, n) for n in chosen]
        past = 0.0 if whole else 0.19
        for instant in (begins, ends):
            happenings.append((max(instant + past, first), "look", 0))
    happenings.sort(key=lambda row: row[0])
    checkpoints = []
    if saves:
        for _ in jobs:
            every = rng.choice((1, 4, 15))
            at_end = rng.random() < 0.3
            checkpoints.append(Checkpoint(every, rng.choice((0, 1, 2)), rng.choice((0, 3)), at_end))
    outside = Outside(
        happenings,
        reservations,
        saves or rng.random() < 0.7,
        rng.choice((0, 5, 120)),
        checkpoints,
    )
    given = _calendar(outside, len(jobs)), _given(outside, len(nodes)), outside.requeue
    return Case(drawn, outside, Happening(*given))


def _calendar(outside: Outside, jobs: int) -> Calendar:
    events = np.zeros(len(outside.happenings), EVENT)
    for row, (time, kind, about) in enumerate(outside.happenings):
        events[row] = time, CODES[kind], about, 0
    marks = None
    if outside.checkpoints:
        marks = np.zeros(jobs, CHECKPOINT)
        for j, it in enumerate(outside.checkpoints):
            marks[j]["every"], marks[j]["dump_time"] = it.every, it.dump
            marks[j]["restore_time"] = it.restore
    return make_calendar(events, None, jobs, marks)


def _given(outside: Outside, nodes: int) -> Given:
    words = max((nodes + 31) >> 5, 1)
    rows: dict[Any, np.ndarray] = {}
    for announced, begins, ends, n in outside.reservations:
        row = rows.setdefault((announced, begins, ends), np.zeros(words, np.int64))
        row[n >> 5] |= 1 << (n & 31)
    return Given(
        outside.expire,
        bool(outside.checkpoints),
        np.array([key[0] for key in rows], np.float64),
        np.array([key[1] for key in rows], np.int64),
        np.array([key[2] for key in rows], np.int64),
        np.array(list(rows.values()), np.int64).reshape(-1, words),
    )
