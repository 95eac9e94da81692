from .counted import counted_steps as counted_steps
from .counted import most_busy as most_busy
from .nodes import Bill as Bill
from .nodes import bill_nodes as bill_nodes
from .nodes import switched_off as switched_off
from .nodes import watts_by_busy as watts_by_busy
from .peas import peas_energy as peas_energy
