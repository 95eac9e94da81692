"""Start whatever fits, in order; nobody has a reservation."""

from ..passes import FIRST_FIT
from ..passes.listed import Listed
from ..passes.ordered import Ordered
from . import Backfill

BACKFILL = Backfill(Listed, FIRST_FIT, indexed=Ordered)
