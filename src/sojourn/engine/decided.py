"""What is logged of a job when the scheduler looks at it: it started, or why not yet."""

from __future__ import annotations

from ..jit import called
from .nodes import LOG_ABOUT, LOG_CODE, LOG_JOB, LOG_TIME, LOG_VALUE, LOGGED
from .state import NOW

(
    STARTED,  # its turn, and it fits; value: free processors before
    BACKFILLED_IN_TIME,  # about: the head; value: the reservation it ends before
    BACKFILLED_BESIDE,  # about: the head; value: processors that are left over
    KEPT,  # its promise has come; value: free processors before
    TOO_WIDE,  # about: the head, if another; value: free processors
    NO_NODES,  # enough processors are free, but not such as it asks for; value: how many
    BEHIND,  # about: the job that blocks all others
    RESERVED,  # value: the reservation it was given
    WOULD_DELAY,  # about: the head; value: the reservation
    PROMISED,  # value: the start it was promised, or promised anew
) = range(10)

WORDS = (
    "started",
    "backfilled in time",
    "backfilled beside",
    "promise kept",
    "too wide",
    "no such nodes",
    "behind",
    "reserved",
    "would delay",
    "promised",
)


@called
def note(nodes, logged, clock, job, code, about, value):
    """Write a line of the log, if there is one."""
    if logged:
        at = nodes.number[LOGGED]
        nodes.log[LOG_TIME, at] = clock[NOW]
        nodes.log[LOG_JOB, at] = job
        nodes.log[LOG_CODE, at] = code
        nodes.log[LOG_ABOUT, at] = about
        nodes.log[LOG_VALUE, at] = value
        nodes.number[LOGGED] = at + 1
