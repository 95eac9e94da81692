"""Start in order; the first that does not fit blocks the rest."""

from ..passes import NONE
from ..passes.listed import Listed
from ..passes.ordered import Ordered
from . import Backfill

BACKFILL = Backfill(Listed, NONE, indexed=Ordered)
