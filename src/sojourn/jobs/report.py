"""What reading and cleaning changed in a workload, counted and with first examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

EXAMPLES = 5
"""How many first offenders a finding remembers."""


@dataclass(frozen=True)
class Finding:
    """One rule, and whom it touched.

    Parameters
    ----------
    rule : name of the rule, or of the kind of malformed line.
    action : ``skip`` (a line that is not a job), ``drop``, ``repair``, ``clamp``, or ``keep`` (left
        as it is, and worth knowing).
    what : what was found, in words.
    count : how many lines or jobs.
    first : line numbers or job ids of the first few, in order.
    unit : ``line`` or ``job``: what is counted.
    """

    rule: str
    action: str
    what: str
    count: int
    first: tuple[int, ...] = ()
    unit: str = "job"

    def __str__(self) -> str:
        plural = "" if self.count == 1 else "s"
        text = f"{self.action} {self.rule}: {self.count} {self.unit}{plural}, {self.what}"
        if self.first:
            more = ", ..." if self.count > len(self.first) else ""
            text += f" (first: {self.unit} {', '.join(map(str, self.first))}{more})"
        return text


def noted(
    rule: str, action: str, what: str, hits: Sequence[int] | NDArray[np.int64], unit: str = "job"
) -> list[Finding]:
    """Return the finding about some lines or jobs, or nothing if there are none."""
    first = tuple(int(hit) for hit in hits[:EXAMPLES])
    return [Finding(rule, action, what, len(hits), first, unit)] if first else []


@dataclass(frozen=True)
class CleaningReport:
    """The findings of reading and cleaning, in the order in which the rules were applied.

    Parameters
    ----------
    source : file (or generator) the jobs came from.
    read : jobs that could be read.
    kept : jobs left after the last rule.
    findings : what was found; rules that touched nothing are left out.
    """

    source: str = ""
    read: int = 0
    kept: int = 0
    findings: tuple[Finding, ...] = ()

    def extended(self, findings: Iterable[Finding], kept: int) -> CleaningReport:
        """Return this report with further findings, and the number of jobs left after them."""
        return replace(self, kept=kept, findings=(*self.findings, *findings))

    def count(self, rule: str) -> int:
        """Return how many lines or jobs a rule touched; 0 for a rule that found nothing."""
        return sum(finding.count for finding in self.findings if finding.rule == rule)

    def lines(self) -> list[str]:
        """Return the report as lines of text: a summary, then one line per finding."""
        head = f"{self.source or 'workload'}: {self.read} jobs read, {self.kept} kept"
        return [head, *(f"  {finding}" for finding in self.findings)]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        plain = [{**asdict(finding), "first": list(finding.first)} for finding in self.findings]
        return {**asdict(self), "findings": plain}

    def __str__(self) -> str:
        return "\n".join(self.lines())
