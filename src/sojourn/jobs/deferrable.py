"""Which jobs may be held back, and how late they are to start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import JobError, OptionError, did_you_mean
from .arrivals import arrivals_of
from .classes import CLASSES, UNKNOWN, classed
from .table import Jobs

OWN = ("deferrable", "slack", "deadline")
"""Columns by which jobs say themselves whether, and for how long, they may be held: 0 or 1, s from
when they come, and the instant (s) at which they must have ended."""

_COINS = 2 << 20


class DeferrableJobs(NamedTuple):
    """Which jobs are chosen: `by` all, a fraction, or a class of jobs with its names."""

    by: str
    names: tuple[str, ...] = ()
    share: float = 1.0


def parse_chosen(text: str) -> DeferrableJobs:
    """Return which jobs are meant by ``all``, ``fraction=0.3`` or ``queue=3,4``.

    >>> parse_chosen("queue=3, 4").names
    ('3', '4')
    """
    if text.strip() == "all":
        return DeferrableJobs("all")
    by, equals, rest = (part.strip() for part in text.partition("="))
    if by == "fraction" and equals:
        try:
            share = float(rest)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            raise OptionError(f"'{text}': give a fraction from 0 to 1")
        return DeferrableJobs(by, share=share)
    names = tuple(name.strip() for name in rest.split(",") if name.strip())
    if by not in CLASSES or not names:
        near = did_you_mean(by, CLASSES) if equals and by not in CLASSES else ""
        raise OptionError(f"'{text}': write all, fraction=0.3, or queue=3,4 or user=anna{near}")
    return DeferrableJobs(by, names)


def is_drawn(text: str | None) -> bool:
    """Whether another seed chooses other jobs."""
    return text is not None and parse_chosen(text).by == "fraction"


def chosen_jobs(jobs: Jobs, text: str | None, seed: int) -> NDArray[np.bool_]:
    """Return which jobs may be held back.

    Parameters
    ----------
    jobs : by submit.
    text : as `parse_chosen` takes it; None: those of which a column says it, else all.
    seed : of a fraction: a job of a smaller fraction is in every larger one.
    """
    everybody = np.ones(len(jobs), dtype=np.bool_)
    if text is None:
        own = [name for name in OWN if name in jobs.names]
        if not own:
            return everybody
        if "deferrable" in own:
            return np.asarray(jobs["deferrable"] > 0)
        return np.asarray(np.any([jobs[name] >= 0 for name in own], axis=0))
    chosen = parse_chosen(text)
    if chosen.by == "all":
        return everybody
    if chosen.by == "fraction":
        sequence = np.random.SeedSequence(seed, spawn_key=(_COINS,))
        coins = np.random.default_rng(sequence).random(len(jobs))
        return np.asarray(coins < chosen.share)
    codes, names = classed(jobs, chosen.by)
    for name in chosen.names:
        if name not in names:
            known = [name for name in names if name != UNKNOWN]
            near = did_you_mean(name, known) or f"; it knows {', '.join(known[:8]) or 'none'}"
            raise OptionError(
                f"'{text}': no job of the log has the {chosen.by} '{name}'{near}", key="defer.who"
            )
    places = [names.index(name) for name in chosen.names]
    return np.isin(codes, places)


def latest_starts(jobs: Jobs, plan: Floats, slack: float | None) -> Floats:
    """Return when each job is to start at the latest (s); nan where nobody says it.

    Its deadline less its planned length, else its own slack after it comes, else the common one;
    never before it comes.

    Parameters
    ----------
    jobs : whose columns may say it.
    plan : how long each is planned to run (s).
    slack : of jobs that do not say it (s).
    """
    arrival = arrivals_of(jobs)
    latest = np.full(len(jobs), np.nan if slack is None else slack) + arrival
    if "slack" in jobs.names:
        own = jobs["slack"]
        bad = (own < 0) & (own != -1)
        if bad.any():
            at = int(np.argmax(bad))
            raise JobError(
                int(jobs.job[at]), "slack", f"{own[at]:g} s is negative; give 0 or more, or -1"
            )
        latest = np.where(own >= 0, arrival + own, latest)
    if "deadline" in jobs.names:
        latest = np.where(jobs["deadline"] >= 0, jobs["deadline"] - plan, latest)
    return np.asarray(np.maximum(latest, arrival))
