"""The first blocked job has a reservation (the first k with easy:k)."""

from ..passes import EASY, RESERVE
from ..passes.listed import Listed
from ..passes.ordered import Ordered
from . import Backfill

BACKFILL = Backfill(
    Listed,
    EASY,
    indexed=Ordered,
    several=Backfill(Listed, RESERVE, plans=True, plans_ahead=True),
    own_order=True,
    plans=True,
)
