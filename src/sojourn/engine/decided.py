"""What is logged of a job when the scheduler looks at it: it started, or why not yet."""

from __future__ import annotations

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
    STOPPED,  # it gives way to others; value: the work that remains
    PASSED_OVER,  # it would exceed a limit of its queue; value: processors that this uses
) = range(12)

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
    "stopped",
    "passed over",
)
