"""The compiled kernels, and nothing else: one recursion, several ways to choose who runs.

- `types`, `state`: what policies see, and what changes during a run
- `instants`, `steps`: from one instant to the next; a job starts, stops, waits
- `queue`, `heap`, `profile`: the data structures that decide the speed
- `ordered`: fixed orders with no, first-fit or EASY backfilling; `easy`: EASY's rule
- `planned`: orders that change with time, several reservations; `promises`: conservative
- `preemptive`: jobs may be stopped and resumed; `stepped`: decisions are made in Python
- `waiting`: the waiting jobs, in an index or in a list
- `nodes`, `bits`: named nodes, and which have a free processor; `placing`: taking and giving back
- `choosing`: the placements on what is or will be free; `starting`: may a job start on nodes now
- `plans`, `foresight`: what is free ahead by pool, and the earliest start there
- `outside`, `striking`: external events, and what they do; `eventful`, `named_eventful`: every
  discipline with them
- `named`, `named_planned`: as `ordered` and `planned`, on named nodes; `decided`: what is logged
- `drive`: picks the kernel and runs it to the end; `pacing`: how long it runs at a time; `grid`:
  times with decimals, in whole ticks

Nothing is compiled before it is needed.
"""

__all__ = ["load_all_kernels"]


# Those that take longest first, so that every second one is about half of the work.
_KERNELS = (
    *("named_planned", "named_eventful", "named", "eventful", "planned", "ordered"),
    *("preemptive", "stepped", "scores"),
)


def load_all_kernels(part: int = 0, parts: int = 1) -> None:
    """Compile every kernel that is not in the cache yet, or one of several parts of them."""
    from importlib import import_module

    for name in _KERNELS[part::parts]:
        import_module(f".{name}", __name__)
