"""As preempt, by remaining estimate and only at departures."""

from ..passes import REMAINING
from ..passes.preempt import Preempt
from . import Backfill

BACKFILL = Backfill(Preempt, REMAINING, plans=True, preempts=True, orders=("sjf", "ljf"))
