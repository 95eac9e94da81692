"""Other logs that might as well have been: blocks of a real log, drawn with replacement.

Jobs of one user, day or week depend on each other; drawn one by one they would lose bursts, working
hours and habits. So whole blocks are drawn [kuensch1989], and wherever a log is long enough to have
a daily cycle they are only moved by whole days or weeks, which keeps it [zakay2014].
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import checks
from ...arrays import Floats, Ints
from ...errors import OptionError
from ..facts import local_clock
from ..schema import MISSING
from ..table import Jobs

BLOCKS = ("user", "day", "week", "jobs")
"""What may be drawn."""

_DAY = 86_400.0
_WEEK = 7 * _DAY
_WEEKDAYS = 7
_MANY_WEEKS = 10
"""Weeks that are enough to draw weeks from; a shorter log is better drawn by days."""
_FEW_DAYS = 3
"""Days among which there are two whole ones, wherever midnight is."""
_LINKS = ("preceding", "think_time", "after")
"""What a job says about another one."""


def resample_blocks(jobs: Jobs, by: str, seed: int) -> Jobs:
    """Draw blocks of a log with replacement: a log of the same length, another random draw.

    Parameters
    ----------
    jobs : the log, cleaned.
    by : what is drawn as a whole. ``week``: calendar weeks, each into the place of another.
        ``day``: days from midnight, each into the place of one of the same weekday, or of any day
        where the log has not two of each. ``user``: users with all their jobs, as many as there
        are; one that is drawn again does the same at other times, whole weeks later (days, in a
        log of less than two weeks). ``jobs``: stretches of jobs that follow each other, with the
        times between them, for a log too short for anything else.
    seed : of the draws.

    Returns
    -------
    Jobs by submit time, numbered from 1, between the first and the last submit of the log; those of
    ``jobs``, as many as the log has, end when they end.
    Header and all columns are kept, but not which job followed which: ``preceding`` and
    ``think_time`` are not known any more.

    Notes
    -----
    Days begin at midnight of the log's own clock as it stood at its start, or at second 0 where
    the header has none. A day or week that the log covers only in part, as the first and last, is
    drawn for its own place alone; for such a place the same hours of whole ones are drawn as well.
    Jobs without a user are drawn together.
    """
    checks.choice(by, BLOCKS, "by")
    rng = checks.generator(seed)
    log = jobs.sorted()
    if not len(log):
        raise OptionError("jobs: there are none to draw from")
    if by == "user":
        rows, submit = _users(log, rng)
    elif by == "jobs":
        rows, submit = _stretches(log, rng)
    else:
        rows, submit = _spans(log, rng, by)
    order = np.argsort(submit, kind="stable")
    drawn = log[rows[order]].moved(submit[order])
    columns: dict[str, Any] = {"job": np.arange(1, len(drawn) + 1)}
    for name in _LINKS:
        if name in drawn.names:
            columns[name] = np.full(len(drawn), MISSING)
    return drawn.replace(**columns)


def fitting_block(jobs: Jobs) -> str:
    """Return which blocks suit a log: the longest of which it has enough to draw from."""
    length = float(np.ptp(jobs.submit)) if len(jobs) else 0.0
    if length >= _MANY_WEEKS * _WEEK:
        return "week"
    return "day" if length >= _FEW_DAYS * _DAY else "jobs"


def _spans(log: Jobs, rng: np.random.Generator, by: str) -> tuple[Ints, Floats]:
    """Days or weeks of a log in the places of others: rows, and their submit times."""
    length = _DAY if by == "day" else _WEEK
    offset, _ = local_clock(log.header)
    begin, end = float(log.submit[0]), float(log.submit[-1])
    # The first of January 1970 was a Thursday, and weeks begin on Monday; a log without a date
    # has weeks from its second 0 on.
    monday = 4 * _DAY if offset else 0.0
    phase = offset - monday
    number = np.floor((log.submit + phase) / length).astype(np.int64)
    first = int(number[0])
    count = int(number[-1]) - first + 1
    edges = (first + np.arange(count + 1)) * length - phase
    whole = np.ones(count, np.bool_)
    # The log says nothing of what came before its first job, or after its last.
    whole[0], whole[-1] = begin <= edges[0], False
    kinds = np.zeros(count, np.int64)
    if by == "day":
        kinds = (first + np.arange(count)) % _WEEKDAYS
        if np.bincount(kinds[whole], minlength=_WEEKDAYS).min() < 2:
            kinds[:] = 0
    if np.count_nonzero(whole) < 2:
        shorter = "users or jobs" if by == "day" else "days, users or jobs"
        raise OptionError(
            f"by = '{by}': the log has {np.count_nonzero(whole)} whole {by}s, of at least two to "
            f"draw from; draw {shorter}, or take a longer log",
            key="workload.resample",
        )
    starts = np.searchsorted(log.submit, edges)
    rows, submit = [], []
    for place in range(count):
        candidates = np.flatnonzero(whole & (kinds == kinds[place]))
        if not whole[place]:
            candidates = np.append(candidates, place)
        block = int(candidates[rng.integers(candidates.size)])
        mine = np.arange(starts[block], starts[block + 1])
        when = log.submit[mine] + (place - block) * length
        inside = (when >= begin) & (when <= end)
        rows.append(mine[inside])
        submit.append(when[inside])
    return np.concatenate(rows), np.concatenate(submit)


def _stretches(log: Jobs, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Stretches of jobs that follow each other: rows, and their submit times."""
    count = len(log)
    if count < 2:
        raise OptionError(
            "by = 'jobs': the log has one job; take a longer one", key="workload.resample"
        )
    # Stretches grow as the cube root of the log [kuensch1989].
    length = math.ceil(count ** (1 / 3))
    begins = rng.integers(0, count, math.ceil(count / length))
    # Around the end of the log, so that each job is drawn as often as any other [politis1992].
    rows = (begins[:, None] + np.arange(length)).ravel()[:count] % count
    gaps = np.diff(log.submit)
    # Nobody knows how long before the first job another one came.
    before = np.concatenate([[gaps.mean()], gaps])[rows]
    return rows, log.submit[0] + np.cumsum(before) - before[0]


def _users(log: Jobs, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Users with all their jobs: rows, and their submit times."""
    _, user = np.unique(log.user, return_inverse=True)
    count = int(user.max()) + 1
    if count < 2:
        raise OptionError(
            "by = 'user': the log has one user alone, or none; draw days or weeks",
            key="workload.resample",
        )
    begin, end = float(log.submit[0]), float(log.submit[-1])
    unit = _WEEK if end - begin >= 2 * _WEEK else _DAY
    if end - begin < 2 * unit:
        raise OptionError(
            "by = 'user': the log is shorter than two days; draw jobs",
            key="workload.resample",
        )
    # Moves by so many weeks (or days) lead every moment of the log to another.
    moves = np.arange(1, int((end - begin) // unit))
    by_user = np.argsort(user, kind="stable")
    bounds = np.searchsorted(user[by_user], np.arange(count + 1))
    rows, submit = [], []
    for drawn, times in enumerate(np.bincount(rng.integers(0, count, count), minlength=count)):
        mine = by_user[bounds[drawn] : bounds[drawn + 1]]
        # Who is drawn once stays, so that what users did together stays together.
        turns = np.concatenate([[0], rng.permutation(moves)])
        for time in range(times):
            rows.append(mine)
            submit.append(_moved(log.submit[mine], int(turns[time % turns.size]), unit, begin, end))
    return np.concatenate(rows), np.concatenate(submit)


def _moved(submit: Floats, turns: int, unit: float, begin: float, end: float) -> Floats:
    """Submit times so many weeks or days later, around the end of the log to its beginning."""
    place = np.floor((submit - begin) / unit)
    phase = submit - begin - place * unit
    # The last week may be shorter than the others: not every moment of a week has it.
    places = np.floor((end - begin - phase) / unit) + 1
    return np.asarray(submit + ((place + turns) % places - place) * unit)
