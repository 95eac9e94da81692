"""How true is the model? Two streams of the same jobs, side by side [baranov2019].

- `stream`: jobs as they went through a manager, from any log; `matching`: which job is which, and
  whether two streams can be compared at all
- `measure`: P, the root mean square difference of residence times, and what stands beside it
- `reference`: how far a system is from itself, and the verdict on a model
- `divergence`: the first decision that differs, in both streams
- `overheads`: what launching and completing a job adds to its execution
- `calibration`: how fast a controller is, from one run of it; `replaying`: a log through the model
  of its own manager
- `virtual`: a real Slurm with virtual nodes
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from .calibration import CALIBRATED, Calibration, calibrate
    from .divergence import Divergence, Moment, first_divergence
    from .matching import Pair, match_streams
    from .measure import Adequacy, Prefix, compare_streams, distance
    from .overheads import Overhead, Overheads, fit_overhead, fit_overheads, parse_overhead
    from .reference import Reference, Verdict, judge, reference_value
    from .replaying import Replay, replay
    from .stream import JobStream, read_stream

_HOME = {
    "calibration": ["CALIBRATED", "Calibration", "calibrate"],
    "divergence": ["Divergence", "Moment", "first_divergence"],
    "matching": ["Pair", "match_streams"],
    "measure": ["Adequacy", "Prefix", "compare_streams", "distance"],
    "overheads": ["Overhead", "Overheads", "fit_overhead", "fit_overheads", "parse_overhead"],
    "reference": ["Reference", "Verdict", "judge", "reference_value"],
    "replaying": ["Replay", "replay"],
    "stream": ["JobStream", "read_stream"],
}

__all__ = [
    "CALIBRATED",
    "Adequacy",
    "Calibration",
    "Divergence",
    "JobStream",
    "Moment",
    "Overhead",
    "Overheads",
    "Pair",
    "Prefix",
    "Reference",
    "Replay",
    "Verdict",
    "calibrate",
    "compare_streams",
    "distance",
    "first_divergence",
    "fit_overhead",
    "fit_overheads",
    "judge",
    "match_streams",
    "parse_overhead",
    "read_stream",
    "reference_value",
    "replay",
]

__getattr__ = attach(__name__, _HOME)
