"""What jobs ask of their nodes besides processors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import JobError, OptionError, did_you_mean
from ..jobs.table import Jobs

_KB_PER_GB = 1024 * 1024
_MOST_GB = 1e9
_BY = ("user", "group", "queue", "partition")


@dataclass(frozen=True)
class Asked:
    """Constraints as columns, one value per job; memory in KB (0 for none), watts (inf).

    `feature` is a place in `words`, of which "" is none.
    """

    memory_per_core: NDArray[np.int64]
    memory_per_node: NDArray[np.int64]
    whole_node: NDArray[np.bool_]
    feature: NDArray[np.int64]
    words: list[str]
    power_budget: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Constraints:
    """What jobs ask of their nodes; each one value for all jobs, or one for each.

    Parameters
    ----------
    memory_per_core : GB for each processor of a job; ``"log"`` for the requested memory of the
        log, which the Standard Workload Format gives per processor.
    memory_per_node : GB on each node that a job uses.
    whole_node : nobody shares a node with the job.
    feature : a word that each of its nodes must have; or ``{"queue": {3: "gpu"}}`` for the jobs
        of one queue (user, group, partition).
    power_budget : watts that its processors may draw at full load.
    """

    memory_per_core: float | str | ArrayLike | None = None
    memory_per_node: float | ArrayLike | None = None
    whole_node: bool | ArrayLike = False
    feature: str | Sequence[str | None] | dict[str, dict[int, str]] | None = None
    power_budget: float | ArrayLike | None = None

    @property
    def are_none(self) -> bool:
        """Whether nothing is asked for."""
        return all(
            getattr(self, each.name) is None or getattr(self, each.name) is False
            for each in fields(self)
        )

    @property
    def are_by_job(self) -> bool:
        """Whether one of them is given job by job."""
        values = [getattr(self, each.name) for each in fields(self)]
        return any(isinstance(value, list | tuple | np.ndarray) for value in values)

    def __str__(self) -> str:
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        parts = [
            f"{name}={_short(value)}"
            for name, value in told.items()
            if not (value is None or value is False)
        ]
        return ", ".join(parts) or "none"

    def of(self, jobs: Jobs) -> Asked:
        """Return the constraints of these jobs, one value each."""
        per_core = self.memory_per_core
        if isinstance(per_core, str):
            if per_core != "log":
                raise OptionError(f"memory per core '{per_core}': give a number of GB, or log")
            # More than any node has is more than any node has.
            memory = np.clip(np.ceil(jobs.memory), 0.0, _MOST_GB * _KB_PER_GB).astype(np.int64)
        else:
            memory = _kilobytes(jobs, "memory_per_core", per_core)
        feature, words = _features(jobs, self.feature)
        return Asked(
            memory_per_core=memory,
            memory_per_node=_kilobytes(jobs, "memory_per_node", self.memory_per_node),
            whole_node=_spread(jobs, "whole_node", self.whole_node, False).astype(np.bool_),
            feature=feature,
            words=words,
            power_budget=_spread(jobs, "power_budget", self.power_budget, np.inf),
        )


def _short(value: Any) -> str:
    return "by job" if isinstance(value, list | tuple | np.ndarray) else str(value)


def _kilobytes(jobs: Jobs, name: str, value: Any) -> NDArray[np.int64]:
    """KB per job from GB, rounded up."""
    if value is None:
        return np.zeros(len(jobs), dtype=np.int64)
    memory = np.ceil(_spread(jobs, name, value, 0.0) * _KB_PER_GB)
    return np.asarray(memory, dtype=np.int64)


def _spread(jobs: Jobs, name: str, value: Any, nothing: Any) -> NDArray[Any]:
    """One value per job; None and nan mean nothing."""
    kind = type(nothing)
    try:
        given = np.asarray(nothing if value is None else value)
        if given.dtype == object:
            given = np.array([nothing if item is None else item for item in given.flat])
        if given.dtype.kind not in "biuf" or (kind is bool and not np.isin(given, (0, 1)).all()):
            raise TypeError
        column = np.full(len(jobs), given, dtype=kind) if given.ndim == 0 else given.astype(kind)
    except (TypeError, ValueError):
        wanted = "true or false" if kind is bool else "a number"
        if np.ndim(value) == 0:
            raise OptionError(f"{name} {value!r}: give {wanted}, or one for each job") from None
        raise OptionError(f"{name}: every value must be {wanted}; correct them") from None
    if column.shape != (len(jobs),):
        raise OptionError(
            f"{name}: {len(column)} values for {len(jobs)} jobs; give one for all or one for each"
        )
    if column.dtype.kind == "f":
        column = np.where(np.isnan(column), nothing, column)
        if np.any(column < 0):
            job = int(jobs.job[np.argmax(column < 0)])
            raise JobError(job, name, "a constraint is not negative; correct it")
        if name.startswith("memory") and np.any(column > _MOST_GB):
            job = int(jobs.job[np.argmax(column > _MOST_GB)])
            raise JobError(job, name, f"more than {_MOST_GB:g} GB; correct it")
    return column


def _features(jobs: Jobs, feature: Any) -> tuple[NDArray[np.int64], list[str]]:
    """The feature that each job asks for, as a place in a list of words, and the list."""
    if isinstance(feature, str) or feature is None:
        return np.zeros(len(jobs), dtype=np.int64), [feature or ""]
    words = _feature_words(jobs, feature).tolist()
    place = {word: code for code, word in enumerate(dict.fromkeys(words))}
    return np.array([place[word] for word in words], dtype=np.int64), list(place) or [""]


def _feature_words(jobs: Jobs, feature: Any) -> NDArray[np.object_]:
    """The word that each job asks for, from words by job or by the numbers of columns."""
    asked = np.full(len(jobs), "", dtype=object)
    if isinstance(feature, dict):
        for column, by_value in feature.items():
            if column not in _BY:
                near = did_you_mean(column, _BY) or f"; choose from {', '.join(_BY)}"
                raise OptionError(f"feature by '{column}'{near}")
            for value, word in _words_by_number(column, by_value).items():
                asked[jobs[column] == value] = word
        return asked
    words = list(feature) if np.ndim(feature) == 1 else [feature]
    wrong = [word for word in words if not (word is None or isinstance(word, str))]
    if wrong:
        raise OptionError(
            f'feature {wrong[0]!r}: give a word, a word for each job, or {{"queue": {{3: "gpu"}}}}'
        )
    if len(words) != len(jobs):
        raise OptionError(
            f"feature: {len(words)} values for {len(jobs)} jobs; give one for all or one for each"
        )
    asked[:] = [word or "" for word in words]
    return asked


def _words_by_number(column: str, by_value: Any) -> dict[int, str]:
    """The words of a table by the numbers of a column."""
    try:
        words = {
            int(value) if isinstance(value, str) else operator.index(value): word
            for value, word in by_value.items()
        }
        if all(isinstance(word, str) for word in words.values()):
            return words
    except (AttributeError, TypeError, ValueError):
        pass
    raise OptionError(
        f"feature by {column} {by_value!r}: give words by the numbers of the column, such as "
        '{3: "gpu"}'
    )
