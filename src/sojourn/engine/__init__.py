"""The compiled kernels, and nothing else: one recursion, four ways to choose who runs.

- `types`, `state`: what policies see, and what changes during a run
- `instants`, `steps`: from one instant to the next; a job starts, stops, waits
- `queue`, `heap`, `profile`: the data structures that decide the speed
- `ordered`: fixed orders with no, first-fit or EASY backfilling; `easy`: EASY's rule
- `planned`: orders that change with time, several reservations; `promises`: conservative
- `preemptive`: jobs may be stopped and resumed; `stepped`: decisions are made in Python
- `drive`: picks the kernel and runs it to the end

Nothing is compiled before it is needed.
"""

__all__ = ["load_all_kernels"]


def load_all_kernels() -> None:
    """Compile every kernel that is not in the cache yet."""
    from importlib import import_module

    for name in ("ordered", "planned", "preemptive", "stepped", "scores"):
        import_module(f".{name}", __name__)
