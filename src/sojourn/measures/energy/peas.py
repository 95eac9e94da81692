"""The energy of jobs as PEAS counts it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from .. import formulas


def peas_energy(
    start: ArrayLike,
    end: ArrayLike,
    first_row: ArrayLike,
    row_node: ArrayLike,
    row_procs: ArrayLike,
    watts: ArrayLike,
) -> Floats:
    """Energy of each job as the paper counts it, in joules [gomez2012, eq. 5].

    Watts at 100 % load times the simulated runtime, summed over the processors of the job; power
    of idle processors, and that a part load draws more per processor, are left out (errata 1).

    Parameters
    ----------
    start, end, first_row, row_node, row_procs : as for `bill_nodes`.
    watts : W of one processor of each node at 100 % load.
    """
    first = np.asarray(first_row, dtype=np.int64)
    lapse = np.asarray(end, dtype=np.float64) - np.asarray(start, dtype=np.float64)
    drawn = np.asarray(row_procs) * np.asarray(watts, dtype=np.float64)[np.asarray(row_node)]
    job = np.repeat(np.arange(len(lapse)), np.diff(first))
    return formulas.sum_by_job(job, drawn, len(lapse)) * lapse
