"""How fast a controller is: what one recorded run shows of it, for the model of another."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import LogError
from ..policy.slurm import Pace
from ._tables import csv_columns
from .overheads import Overhead, Overheads
from .virtual.reading import Event, read_controller_log

_FEWEST = 5
_NEEDED = ("start", "end", "run")
_LOG = ".slurmctld.log.gz"
_KNOWN = 0.6  # what is left to chance where a log shows the pace of the loops of another run


@dataclass(frozen=True)
class Calibration:
    """What the model of a controller takes from a run of the real one.

    Parameters
    ----------
    pace : of its loops.
    overheads : launch and completion of jobs. A run shows their sum only, as the launch.
    source : the run.
    jobs : number of jobs that it was taken from.
    spread : how much of what is usually not known of a controller's loops is still not known.
    """

    pace: Pace
    overheads: Overheads
    source: str = ""
    jobs: int = 0
    spread: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return all as plain values."""
        return {
            "source": self.source,
            "jobs": self.jobs,
            "spread": self.spread,
            "pace": self.pace._asdict(),
            "overheads": asdict(self.overheads),
        }


CALIBRATED = Calibration(
    Pace(), Overheads(launch=Overhead("constant", (0.05,))), "Slurm 22.05 with virtual nodes"
)
"""A controller on two idle cores, started ten seconds before the stream."""


def calibrate(
    path: str | os.PathLike[str], log: str | os.PathLike[str] | None = None
) -> Calibration:
    """Measure a controller's pace and overheads in a run of it.

    Parameters
    ----------
    path : table with columns start, end and run, as ``sojourn virtual run`` writes it; times in s,
        the finer the better.
    log : the controller's log, which shows the pace of its loops; default: the one beside the
        table, if there is one.

    Raises
    ------
    LogError
        When the table lacks a column or has too few jobs that ran to their end.
    """
    table = csv_columns(path)
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise LogError(path, f"has no column {', '.join(missing)}; calibrate from a recorded run")
    start, end, run = (np.array([_number(text) for text in table[name]]) for name in _NEEDED)
    extra = end - start - run
    extra = extra[np.isfinite(extra) & (extra >= 0)]
    if extra.size < _FEWEST:
        raise LogError(
            path,
            f"has {extra.size} jobs that ran as long as ordered; {_FEWEST} are needed to calibrate",
        )
    pace, spread = CALIBRATED.pace, 1.0
    beside = Path(str(path).removesuffix(".csv") + _LOG)
    if log is not None or beside.is_file():
        record = beside if log is None else Path(log)
        pace, spread = _measured(record, read_controller_log(record), start, pace), _KNOWN
    launch = Overhead("constant", (float(np.median(extra)),))
    return Calibration(pace, Overheads(launch=launch), str(path), int(extra.size), spread)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _measured(path: Path, events: Sequence[Event], start: Floats, usual: Pace) -> Pace:
    """The pace that a controller's log shows."""
    starts = [event.time for event in events if event.kind in ("main", "backfill")]
    begins = [event.time for event in events if event.kind == "begin"]
    if not starts or not begins or not np.isfinite(start).any():
        raise LogError(path, "has no start of a job; calibrate from another run")
    zero = min(starts) - float(np.nanmin(start))
    whole = math.floor(zero)
    ticks = _lapse(events, "main pass", "short pass")
    wakes = _lateness(events, "backfill pass")
    return usual._replace(
        started=begins[-1] - whole,
        zero=zero - whole,
        tick=usual.tick if ticks is None else 1.0 + ticks,
        nap=usual.nap if wakes is None else max(wakes - usual.testing, 0.0),
    )


def _lapse(events: Sequence[Event], *kinds: str) -> float | None:
    """By how much a loop's second is longer than one (s).

    The median over neighbouring passes says how many rounds lie between any two; all of them
    together then say it more finely than the log's milliseconds.
    """
    gaps = np.diff([event.time for event in events if event.kind in kinds])
    whole = np.rint(gaps)
    near = (whole >= 1) & (np.abs(gaps - whole) < 0.25)
    if np.count_nonzero(near) < _FEWEST:
        return None
    roughly = 1.0 + float(np.median((gaps[near] - whole[near]) / whole[near]))
    rounds = np.rint(gaps / roughly)
    return float(gaps[rounds > 0].sum() / rounds.sum()) - 1.0


def _lateness(events: Sequence[Event], kind: str) -> float | None:
    """By how much later than after its period a loop comes round (s): the mean over such passes."""
    gaps = np.diff([event.time for event in events if event.kind == kind])
    whole = np.rint(gaps)
    near = (whole >= 1) & (np.abs(gaps - whole) < 0.25)
    periods, counts = np.unique(whole[near], return_counts=True)
    if not (counts >= _FEWEST).any():
        return None
    period = periods[counts >= _FEWEST][0]
    return float(np.mean(gaps[near & (whole == period)])) - float(period)
