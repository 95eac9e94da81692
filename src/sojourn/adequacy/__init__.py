"""How true is the model? Two streams of the same jobs, side by side [baranov2019].

- `stream`: jobs as they went through a manager, from any log; `matching`: which job is which, and
  whether two streams can be compared at all
- `measure`: P, the root mean square difference of residence times, and what stands beside it
- `reference`: how far a system is from itself, and the verdict on a model
- `divergence`: the first decision that differs, in both streams
- `overheads`: what launching and completing a job adds to its execution
- `calibration`: how fast a controller is, from one run of it; `replaying`: a log through the model
  of its own manager
- `batsim`: the energy of a recorded run of Batsim, recomputed
- `virtual`: a real Slurm with virtual nodes
"""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
