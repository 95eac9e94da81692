"""Serve the longest prefix of all jobs present that fits; stopped jobs resume."""

from ..passes import PREEMPT
from ..passes.preempt import Preempt
from . import Backfill

BACKFILL = Backfill(Preempt, PREEMPT, plans=True, preempts=True, fixed_order=True)
