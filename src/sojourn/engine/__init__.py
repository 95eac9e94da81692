"""The compiled kernels, and nothing else: one loop, specialised when it is compiled.

- `types`, `state`: what policies see, and what changes during a run
- `loop`: from one instant to the next; `service`: jobs enter service and leave it
- `calendar`: external events in their order; `happenings`: their kinds, and what they do
- `backfills`: the backfilling rules, a file each, and the disciplines that serve them
- `passes`: the disciplines, a file each, over the verbs of `verbs`: fits, earliest, hold, start;
  and Slurm's controller, which has nodes and clocks of its own (`passes/slurm*`)
- `queue`, `heap`, `bits`, `profile`: the data structures that decide the speed
- `waiting`: the waiting jobs in a list; `queues`: in which order, where there are several queues;
  `decided`: what is logged of them
- `nodes`: named nodes and their resources; `placing`: taking and giving back
- `choosing`: the placements on what is or will be free; `starting`: may a job start on nodes now
- `plans`, `foresight`: what is free ahead by pool, and the earliest start there
- `kernels`: the loop as compiled for a discipline and a machine
- `preloading`: kernels that are loaded before there is a run
- `drive`: sets a run up and drives it to the end; `pacing`: how long it runs at a time; `grid`:
  times with decimals, in whole ticks

Nothing is compiled before it is needed.
"""

__all__ = ["load_all_kernels"]


def load_all_kernels(*machines: str) -> None:
    """Compile every kernel for these kinds of machines that is not in the cache yet."""
    from .preloading import MACHINES, all_kernels, load_kernel

    for machine in machines or MACHINES:
        for kind in all_kernels(machine):
            load_kernel(kind)
