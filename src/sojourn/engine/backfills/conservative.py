"""Every job has a reservation, made on arrival."""

from ..passes import CONSERVATIVE
from ..passes.conservative import Conservative
from . import Backfill

BACKFILL = Backfill(Conservative, CONSERVATIVE, plans=True, plans_ahead=True, keeps_promises=True)
