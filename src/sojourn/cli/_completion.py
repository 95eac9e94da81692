"""What a shell offers when the Tab key is pressed behind an option."""

from __future__ import annotations

from collections.abc import Iterable


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _list_of(names: Iterable[str], incomplete: str) -> list[str]:
    """Complete the last name of a list with commas, leaving out those that are in it."""
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [before + comma + name for name in _matching(names, last) if name not in taken]


def _policy_names(incomplete: str) -> list[str]:
    from ..policy import BACKFILLS, ORDERS, POLICIES

    order, plus, _ = incomplete.partition("+")
    if plus:
        return [f"{order}+{name}" for name in BACKFILLS if name]
    return list(dict.fromkeys([*POLICIES, *ORDERS]))


def policies(incomplete: str) -> list[str]:
    """Names of policies and orders; behind a plus those of backfills."""
    return _matching(_policy_names(incomplete), incomplete)


def policy_lists(incomplete: str) -> list[str]:
    """Names of policies with commas between them."""
    return _list_of(_policy_names(incomplete.rpartition(",")[2]), incomplete)


def placements(incomplete: str) -> list[str]:
    """Names of placements."""
    from ..policy import PLACEMENTS

    return _matching(PLACEMENTS, incomplete)


def sleep_policies(incomplete: str) -> list[str]:
    """Names of sleep policies."""
    from ..policy import SLEEPS

    return _matching(SLEEPS, incomplete)


def log_formats(incomplete: str) -> list[str]:
    """Formats of logs."""
    from ..jobs.log import FORMATS

    return _matching(FORMATS, incomplete)


def class_lists(incomplete: str) -> list[str]:
    """What jobs can be classed by, with commas between."""
    from ..jobs.classes import CLASSES

    return _list_of(CLASSES, incomplete)


def run_class_lists(incomplete: str) -> list[str]:
    """What the jobs of a run can be classed by, with commas between."""
    from ..run.classes import CLASSES

    return _list_of(CLASSES, incomplete)
