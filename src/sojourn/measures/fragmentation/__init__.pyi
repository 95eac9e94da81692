from .holding import Absences as Absences
from .holding import Fragmentation as Fragmentation
from .holding import Holdings as Holdings
from .holding import measure_fragmentation as measure_fragmentation
from .holding import over_time as over_time
from .states import STATES as STATES
