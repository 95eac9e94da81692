"""Asking a simulation a thousand times.

- `sweeping`: many points, several times each; `outcome`: what they found
- `optimising`: the best trade-offs, as a `front`; `pareto`: what a front is
- `grid`, `plan`: which points, which runs; `store`: the runs on disk
- `runners`, `processes`, `worker_process`, `dask_runner`, `execute`: where and how runs are
  carried out
- `intervals`, `ratios`, `paired`: what replications tell, and what a policy changes; `sequential`:
  how many are enough
- `warmup`, `batches`, `regeneration`: what one long run tells; `resample`: other logs like a log

What is asked is a scenario, see `sojourn.run`; its names are here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attach

if TYPE_CHECKING:
    from ..run.carry_out import run_scenario
    from ..run.saving import save_options, save_scenario, scenario_of
    from ..run.scenario import Scenario, read_scenario
    from ..run.schema import scenario_schema
    from .batches import batch_means, batch_quantile, correlation_test, split
    from .front import Front
    from .grid import Grid, Range, latin_hypercube, parse_axis, parse_range, sobol
    from .intervals import (
        Interval,
        bootstrap_interval,
        mean_interval,
        quantile_interval,
        sectioned_quantile,
    )
    from .optimising import optimise
    from .outcome import Point, Study
    from .paired import Comparison, compare_pairs, holm, paired_difference, relative_change
    from .pareto import hypervolume, nondominated
    from .ratios import ratio_interval
    from .regeneration import regeneration_points, regenerative_interval
    from .resample import resample_blocks, resampled_interval
    from .sequential import is_precise, replicate, replications_needed
    from .store import read_runs
    from .sweeping import Precision, sweep
    from .warmup import WarmUp, mser

_HOME = {
    ".run.carry_out": ["run_scenario"],
    ".run.saving": ["save_options", "save_scenario", "scenario_of"],
    ".run.scenario": ["Scenario", "read_scenario"],
    ".run.schema": ["scenario_schema"],
    "batches": ["batch_means", "batch_quantile", "correlation_test", "split"],
    "front": ["Front"],
    "grid": ["Grid", "Range", "latin_hypercube", "parse_axis", "parse_range", "sobol"],
    "intervals": [
        "Interval",
        "bootstrap_interval",
        "mean_interval",
        "quantile_interval",
        "sectioned_quantile",
    ],
    "optimising": ["optimise"],
    "outcome": ["Point", "Study"],
    "paired": ["Comparison", "compare_pairs", "holm", "paired_difference", "relative_change"],
    "pareto": ["hypervolume", "nondominated"],
    "ratios": ["ratio_interval"],
    "regeneration": ["regeneration_points", "regenerative_interval"],
    "resample": ["resample_blocks", "resampled_interval"],
    "sequential": ["is_precise", "replicate", "replications_needed"],
    "store": ["read_runs"],
    "sweeping": ["Precision", "sweep"],
    "warmup": ["WarmUp", "mser"],
}

__all__ = [
    "Comparison",
    "Front",
    "Grid",
    "Interval",
    "Point",
    "Precision",
    "Range",
    "Scenario",
    "Study",
    "WarmUp",
    "batch_means",
    "batch_quantile",
    "bootstrap_interval",
    "compare_pairs",
    "correlation_test",
    "holm",
    "hypervolume",
    "is_precise",
    "latin_hypercube",
    "mean_interval",
    "mser",
    "nondominated",
    "optimise",
    "paired_difference",
    "parse_axis",
    "parse_range",
    "quantile_interval",
    "ratio_interval",
    "read_runs",
    "read_scenario",
    "regeneration_points",
    "regenerative_interval",
    "relative_change",
    "replicate",
    "replications_needed",
    "resample_blocks",
    "resampled_interval",
    "run_scenario",
    "save_options",
    "save_scenario",
    "scenario_of",
    "scenario_schema",
    "sectioned_quantile",
    "sobol",
    "split",
    "sweep",
]

__getattr__ = attach(__name__, _HOME)
