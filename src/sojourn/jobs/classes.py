"""Classes of jobs: by user, account, queue, partition and so on, or by width."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError, did_you_mean
from .table import Jobs

CLASSES = ("user", "group", "account", "queue", "partition", "qos", "width")
"""What the jobs of a log can be classed by."""

UNKNOWN = "(unknown)"
"""The class of jobs of which a log does not say it."""

_ASKED = ("partition", "queue", "account", "qos", "user", "width")


def check_class(by: str, valid: tuple[str, ...] = CLASSES) -> None:
    """Raise OptionError for what jobs cannot be classed by."""
    if by not in valid:
        near = did_you_mean(str(by), valid)
        raise OptionError(f"class '{by}': choose from {', '.join(valid)}{near}")


def listed_classes(text: str, valid: tuple[str, ...] = CLASSES) -> list[str]:
    """Return what jobs are to be classed by, from a list with commas; OptionError for nonsense."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise OptionError("--by names no class; give for example partition,user")
    for name in names:
        check_class(name, valid)
    return names


def known_classes(jobs: Jobs) -> list[str]:
    """Return by what the jobs of a log can be classed, in the order in which people ask."""
    shown = [by for by in _ASKED if by != "queue" or not queues_are_partitions(jobs)]
    return [by for by in shown if by == "width" or jobs.coded(by)[1]]


def check_known(jobs: Jobs, by: str) -> None:
    """Raise OptionError where a log says of no job which class it belongs to."""
    if by in CLASSES and by != "width" and not jobs.coded(by)[1]:
        known = ", ".join(known_classes(jobs))
        raise OptionError(f"class '{by}': the log does not say it of any job; it knows {known}")


def classed(jobs: Jobs, by: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return the class of each job, as a place in a list of names.

    Widths are classed by powers of two, from narrow to wide; all others by name, in the order of
    their numbers in the log, those not known last.

    Examples
    --------
    >>> jobs = Jobs({"submit": [0, 1, 2], "runtime": [1, 1, 1], "procs": [1, 3, 4]})
    >>> codes, names = classed(jobs, "width")
    >>> codes.tolist(), names
    ([0, 1, 1], ['1', '3-4'])
    """
    check_class(by)
    if by == "width":
        return _widths(jobs.procs)
    codes, names = jobs.coded(by)
    places = codes.astype(np.int64)
    if (places < 0).any():
        names = names if UNKNOWN in names else [*names, UNKNOWN]
        places[places < 0] = names.index(UNKNOWN)
    return places, names


def queues_are_partitions(jobs: Jobs) -> bool:
    """Whether queue and partition of a log are the same, as in accounting of Slurm."""
    if "queue" not in jobs.names or "partition" not in jobs.names:
        return False
    (queues, names), (partitions, others) = jobs.coded("queue"), jobs.coded("partition")
    return names == others and np.array_equal(queues, partitions)


def _widths(procs: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
    powers = np.ceil(np.log2(np.maximum(procs, 1))).astype(np.int64)
    there, codes = np.unique(powers, return_inverse=True)
    tops = [2 ** int(power) for power in there]
    return codes, [str(top) if top <= 2 else f"{top // 2 + 1}-{top}" for top in tops]
