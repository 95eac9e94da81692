"""Supercomputers as the queues they are.

A workload arrives at a cluster; policies decide who runs when and how fast; the engine moves
time; measures say what it cost.

>>> import sojourn
>>> jobs = sojourn.lublin(1000, 128, load=0.8, seed=7)
>>> result = sojourn.simulate(jobs, sojourn.Cluster.homogeneous(128), policy="easy")
>>> result.summary["utilisation"] < 1
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .__about__ import __version__
from ._lazy import attach

if TYPE_CHECKING:
    from . import adequacy, capacity, study, theory
    from .adequacy import replay
    from .cluster import (
        XEON_5430,
        Cluster,
        ClusterReport,
        ConstantPower,
        Node,
        RatePower,
        ScaledPower,
        Server,
        library,
        parse_cluster,
        read_cluster,
        read_specpower,
        write_cluster,
    )
    from .compare import Comparison, compare
    from .cost import Carbon, Tariff, parse_carbon, parse_tariff, read_carbon
    from .errors import (
        ClusterError,
        InputError,
        JobError,
        LogError,
        OptionError,
        PolicyError,
        RunError,
        SojournError,
    )
    from .policy import (
        PLACEMENTS,
        Constraints,
        Control,
        NodeScore,
        Placement,
        Policy,
        Score,
        constant,
        control,
        count_hysteresis,
        randomized,
        score,
        threshold,
        workload_hysteresis,
    )
    from .policy.slurm import SlurmPolicy, slurm
    from .result import Result
    from .simulation import simulate
    from .stepping import Simulation
    from .study import sweep
    from .study.difference import Difference, diff
    from .workload import (
        Jobs,
        clean,
        read_csv,
        read_hpcwld,
        read_log,
        read_parquet,
        read_swf,
        write_csv,
        write_log,
        write_parquet,
        write_swf,
    )
    from .workload.estimates import apply_estimates
    from .workload.generate import generate
    from .workload.lublin import lublin
    from .workload.waits import waits

# Where each public name lives: nothing heavy is imported before it is asked for.
_HOME: dict[str, list[str]] = {
    "cluster": [
        "XEON_5430",
        "Cluster",
        "ClusterReport",
        "ConstantPower",
        "Node",
        "RatePower",
        "ScaledPower",
        "Server",
        "library",
        "parse_cluster",
        "read_cluster",
        "read_specpower",
        "write_cluster",
    ],
    "compare": ["Comparison", "compare"],
    "cost": ["Carbon", "Tariff", "parse_carbon", "parse_tariff", "read_carbon"],
    "errors": [
        "ClusterError",
        "InputError",
        "JobError",
        "LogError",
        "OptionError",
        "PolicyError",
        "RunError",
        "SojournError",
    ],
    "policy": [
        "PLACEMENTS",
        "Constraints",
        "Control",
        "NodeScore",
        "Placement",
        "Policy",
        "Score",
        "constant",
        "control",
        "count_hysteresis",
        "randomized",
        "score",
        "threshold",
        "workload_hysteresis",
    ],
    "policy.slurm": ["SlurmPolicy", "slurm"],
    "adequacy": [],
    "adequacy.replaying": ["replay"],
    "capacity": [],
    "result": ["Result"],
    "simulation": ["simulate"],
    "stepping": ["Simulation"],
    "study": [],
    "study.difference": ["Difference", "diff"],
    "study.sweeping": ["sweep"],
    "theory": [],
    "workload": [
        "Jobs",
        "clean",
        "read_csv",
        "read_hpcwld",
        "read_log",
        "read_parquet",
        "read_swf",
        "write_csv",
        "write_log",
        "write_parquet",
        "write_swf",
    ],
    "workload.estimates": ["apply_estimates"],
    "workload.generate": ["generate"],
    "workload.lublin": ["lublin"],
    "workload.waits": ["waits"],
}
__all__ = [
    "PLACEMENTS",
    "XEON_5430",
    "Carbon",
    "Cluster",
    "ClusterError",
    "ClusterReport",
    "Comparison",
    "ConstantPower",
    "Constraints",
    "Control",
    "Difference",
    "InputError",
    "JobError",
    "Jobs",
    "LogError",
    "Node",
    "NodeScore",
    "OptionError",
    "Placement",
    "Policy",
    "PolicyError",
    "RatePower",
    "Result",
    "RunError",
    "ScaledPower",
    "Score",
    "Server",
    "Simulation",
    "SlurmPolicy",
    "SojournError",
    "Tariff",
    "__version__",
    "adequacy",
    "apply_estimates",
    "capacity",
    "clean",
    "compare",
    "constant",
    "control",
    "count_hysteresis",
    "diff",
    "generate",
    "library",
    "lublin",
    "parse_carbon",
    "parse_cluster",
    "parse_tariff",
    "randomized",
    "read_carbon",
    "read_cluster",
    "read_csv",
    "read_hpcwld",
    "read_log",
    "read_parquet",
    "read_specpower",
    "read_swf",
    "replay",
    "score",
    "simulate",
    "slurm",
    "study",
    "sweep",
    "theory",
    "threshold",
    "waits",
    "workload_hysteresis",
    "write_cluster",
    "write_csv",
    "write_log",
    "write_parquet",
    "write_swf",
]

__getattr__ = attach(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
