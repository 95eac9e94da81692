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
- `named`, `named_planned`: as `ordered` and `planned`, on named nodes; `decided`: what is logged
- `drive`: picks the kernel and runs it to the end

Nothing is compiled before it is needed.
"""

__all__ = ["load_all_kernels"]


def load_all_kernels() -> None:
    """Compile every kernel that is not in the cache yet."""
    from importlib import import_module

    kernels = ("ordered", "planned", "preemptive", "stepped", "scores", "named", "named_planned")
    for name in kernels:
        import_module(f".{name}", __name__)
