"""How often to save a job that failures may kill: the intervals of Young and of Daly.

Failures come as a Poisson process with mean time M between them; after one the job is restored from
its last checkpoint and goes on.
"""

from __future__ import annotations

import math

from ..checks import choice, non_negative, positive
from ..errors import OptionError


def checkpoint_interval(dump: float, mtbf: float, *, rule: str = "daly") -> float:
    """Return the work between two checkpoints (s) that makes a job end soonest.

    Parameters
    ----------
    dump : time that writing a checkpoint takes, delta (s).
    mtbf : mean time between failures of the job's nodes together, M (s).
    rule : ``young``, sqrt(2 delta M) [young1974]; ``daly``, its refinement
        sqrt(2 delta M) (1 + sqrt(delta / 2M) / 3 + (delta / 2M) / 9) - delta, and M where
        delta >= 2M [daly2006].

    Examples
    --------
    >>> from sojourn.theory import checkpoint_interval
    >>> round(checkpoint_interval(60, 86_400, rule="young")), round(checkpoint_interval(60, 86_400))
    (3220, 3180)
    """
    delta, m = positive(dump, "dump"), positive(mtbf, "mtbf")
    choice(rule, ("daly", "young"), "rule")
    young = math.sqrt(2 * delta * m)
    if rule == "young":
        return young
    if delta >= 2 * m:
        return m
    share = delta / (2 * m)
    return young * (1 + math.sqrt(share) / 3 + share / 9) - delta


def expected_runtime(
    work: float, interval: float, dump: float, mtbf: float, restore: float = 0.0
) -> float:
    """Return the mean time to the end of a job with checkpoints (s) [daly2006].

    M e^(R/M) (e^((tau + delta)/M) - 1) T / tau: every stretch of work is followed by a checkpoint,
    and failures may strike while work, checkpoints and restores are under way.

    Parameters
    ----------
    work : of the job, T (s).
    interval : work between two checkpoints, tau (s).
    dump, restore : time to write a checkpoint, delta, and to come back from one, R (s).
    mtbf : mean time between failures, M (s).
    """
    t, tau, m = positive(work, "work"), positive(interval, "interval"), positive(mtbf, "mtbf")
    delta, r = non_negative(dump, "dump"), non_negative(restore, "restore")
    try:
        return m * math.exp(r / m) * math.expm1((tau + delta) / m) * t / tau
    except OverflowError:
        raise OptionError(
            f"interval: {tau:g} s between checkpoints is so long beside failures every {m:g} s "
            "that the job never ends; give less"
        ) from None


def expected_completion(
    work: float,
    interval: float,
    dump: float,
    mtbf: float,
    restore: float = 0.0,
    *,
    at_end: bool = False,
) -> float:
    """Return the mean time to the end of a job with checkpoints, exactly (s).

    As `expected_runtime`, but the job ends with work, not with a dump, unless ``at_end``; the last
    stretch may be shorter; and who has no checkpoint yet restores nothing. A stretch of c seconds
    takes M e^(R/M) (e^(c/M) - 1), the first one M (e^(c/M) - 1).

    Parameters
    ----------
    work, interval, dump, mtbf, restore : as of `expected_runtime`.
    at_end : whether there is a dump at the very end, where the work is a multiple of the interval.

    Examples
    --------
    >>> from sojourn.theory import expected_completion
    >>> round(expected_completion(600, 60, 1, 1e12))
    609
    """
    t, tau, m = positive(work, "work"), positive(interval, "interval"), positive(mtbf, "mtbf")
    delta, r = non_negative(dump, "dump"), non_negative(restore, "restore")
    whole = math.floor(t / tau)
    rest = t - whole * tau
    if rest <= 0 and not at_end:
        whole, rest = whole - 1, tau
    first, last = (tau + delta, rest) if whole else (rest, 0.0)
    try:
        later = (whole - 1) * math.expm1((tau + delta) / m) if whole else 0.0
        return m * (math.expm1(first / m) + math.exp(r / m) * (later + math.expm1(last / m)))
    except OverflowError:
        raise OptionError(
            f"interval: {tau:g} s between checkpoints is so long beside failures every {m:g} s "
            "that the job never ends; give less"
        ) from None
