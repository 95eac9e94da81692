"""Datasets of the R package hpcwld: tables of interarrival and service times and cores."""

from __future__ import annotations

import os

from ...errors import check_choice
from ..clean import clean as apply_rules
from ..table import Jobs
from .csv import read_csv

HPCWLD_RULES = ("no-procs", "unsorted-submits", "tied-submits")
"""The cleaning of [rumyantsev2018, section V, errata 13]; a service time of 0 is kept."""

_CORES = ("cores_used", "cores_requested")


def read_hpcwld(
    path: str | os.PathLike[str], *, cores: str = "cores_used", clean: bool = False
) -> Jobs:
    """Read a dataset of hpcwld written as comma-separated values.

    Parameters
    ----------
    path : table with columns ``interarrival`` (s), ``service`` (s), ``delays`` (s), and
        ``cores_used`` or ``cores_requested``.
    cores : the column that gives the width of a job.
    clean : apply `HPCWLD_RULES`: drop jobs without cores, sort by time (the log has negative
        interarrival times), and move each job that is not after its predecessor 1 ms behind it.

    Notes
    -----
    Interarrival times are added up before any job is dropped. The first job arrives at 0 and
    interarrival i lies between jobs i and i + 1, as in the raw epochs of the same package and in
    T_1 = t_1 = 0 of the recursion [rumyantsev2018].
    """
    check_choice("cores", cores, _CORES)
    jobs = read_csv(
        path,
        {"interarrival": "interarrival", "runtime": "service", "wait": "delays", "procs": cores},
        sep=",",
    )
    return apply_rules(jobs, rules=HPCWLD_RULES) if clean else jobs
