"""Windows of maintenance: advance reservations that come again and again."""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import non_negative, positive
from ...cluster import Cluster
from ...errors import OptionError
from ...jobs import ExternalEvent

_MOST = 10_000
"""Windows: more are a mistake."""


@dataclass(frozen=True)
class Maintenance:
    """Windows in which processors or nodes are kept free.

    Parameters
    ----------
    length : of a window (s).
    every : from the begin of one to that of the next (s); None: there is one.
    first : begin of the first, since the first submit (s).
    announced : how long ahead each is known (s); None: from the beginning.
    count : how many; None: as many as begin before the last submit, at least one.
    nodes : names or patterns, separated by spaces; None: all.
    procs : how many processors, where they are only counted; None: all.
    """

    length: float
    every: float | None = None
    first: float = 0.0
    announced: float | None = None
    count: int | None = None
    nodes: str | None = None
    procs: int | None = None

    def __post_init__(self) -> None:
        positive(self.length, "maintenance: length")
        non_negative(self.first, "maintenance: first")
        if self.every is not None:
            positive(self.every, "maintenance: every")
            if self.length >= self.every:
                raise OptionError(
                    f"maintenance: a window of {self.length:g} s every {self.every:g} s leaves no "
                    "time between; give less",
                    key="maintenance.length",
                )
        elif self.count is not None and self.count > 1:
            raise OptionError(
                f"maintenance: {self.count} windows, but not how often; give every",
                key="maintenance.every",
            )
        if self.nodes is not None and self.procs is not None:
            raise OptionError(
                "maintenance: nodes and procs; give one of them", key="maintenance.procs"
            )

    def windows(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Return begins and ends (s), for jobs submitted from `begin` to `end` (s)."""
        number = 1
        if self.every is not None:
            number = self.count or max(int((end - begin - self.first) // self.every) + 1, 1)
        if number > _MOST:
            raise OptionError(
                f"maintenance: {number:,} windows; give a longer time between them, or count",
                key="maintenance.every",
            )
        starts = [begin + self.first + i * (self.every or 0.0) for i in range(number)]
        return [(start, start + self.length) for start in starts]

    def events(self, cluster: Cluster, begin: float, end: float) -> list[ExternalEvent]:
        """Return the reservations, for jobs submitted from `begin` to `end` (s)."""
        names = tuple((self.nodes or "").split())
        if cluster.is_named:
            if self.procs is not None:
                raise OptionError(
                    "maintenance: the cluster has named nodes; give their names in nodes",
                    key="maintenance.procs",
                )
            names = names or ("*",)
        elif names:
            raise OptionError(
                "maintenance: processors are only counted; give procs", key="maintenance.nodes"
            )
        return [
            ExternalEvent(
                "reserve",
                start,
                until=stop,
                announced=None if self.announced is None else start - self.announced,
                line=i,
                nodes=names,
                procs=None if cluster.is_named else self.procs or int(cluster.procs),
            )
            for i, (start, stop) in enumerate(self.windows(begin, end), 1)
        ]
