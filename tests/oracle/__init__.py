"""A slow twin of the engine, written from the definitions; it imports nothing from sojourn."""

from .disciplines import longest_remaining, ordered, preempt, shortest_remaining
from .model import Control, Discipline, Job, Outcome, Row, Segment
from .recursion import simulate

__all__ = [
    "Control",
    "Discipline",
    "Job",
    "Outcome",
    "Row",
    "Segment",
    "longest_remaining",
    "ordered",
    "preempt",
    "shortest_remaining",
    "simulate",
]
