"""Supercomputers as the queues they are.

A workload arrives at a cluster; policies decide who runs when and how fast; the engine moves
time; measures say what it cost.

>>> import sojourn
>>> jobs = sojourn.lublin(1000, 128, load=0.8, seed=7)
>>> result = sojourn.simulate(jobs, sojourn.Cluster.homogeneous(128), policy="easy")
>>> result.summary["utilisation"] < 1
True
"""

from ._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
