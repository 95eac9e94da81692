"""What can go wrong, as a tree.

::

    SojournError                 anything this package raises on purpose
    ├── InputError               the caller's input is wrong: exit code 2
    │   ├── LogError             a workload file: names file, line and field
    │   ├── ClusterError         a cluster file: names file, line and field
    │   ├── JobError             a job's values: names the job and the field
    │   ├── PolicyError          a policy, order, backfill or control that cannot be used
    │   └── OptionError          any other option or argument
    └── RunError                 the run itself failed: exit code 1

Every message is one line: where, what is wrong, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from os import PathLike
from typing import Any


class SojournError(Exception):
    """Base of all errors raised on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made anew from their message alone, which is not how these are made.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[SojournError], arguments: tuple[Any, ...]) -> SojournError:
    return kind.__new__(kind, *arguments)


class InputError(SojournError):
    """The input is wrong; the message says what to change.

    Parameters
    ----------
    message : in one line.
    key : of a scenario that it is about, such as ``workload.timezone``, where one is to blame.
    path : of the file that it is about.
    """

    def __init__(self, message: str = "", *, key: str = "", path: str | PathLike[str] = "") -> None:
        super().__init__(message)
        self.key = key
        self.path = str(path)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


class _FileError(InputError):
    """A file that cannot be read as what it claims to be.

    Parameters
    ----------
    path : path of the file.
    problem : what is wrong, and what to do.
    line : line number, counted from 1, when one line is to blame.
    field : name of the field, when one field is to blame.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        problem: str,
        *,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        # What is quoted from a file may have line ends and control characters in it; a message is
        # one line that a terminal can show.
        problem = _printable(problem)
        field = None if field is None else _printable(field)
        self.line = line
        self.field = field
        self.problem = problem
        where = str(path)
        if line is not None:
            where += f", line {line}"
        if field is not None:
            where += f", field '{field}'"
        super().__init__(f"{where}: {problem}", path=path)


class LogError(_FileError):
    """A workload file that cannot be read, or written."""


class ClusterError(_FileError):
    """A cluster file, or a description of a cluster, that cannot be read."""


class JobError(InputError):
    """A job whose values cannot be simulated."""

    def __init__(self, job: int, field: str, problem: str) -> None:
        self.job = job
        self.field = field
        self.problem = problem
        super().__init__(f"job {job}, field '{field}': {problem}")


class PolicyError(InputError):
    """An order, backfill, control or policy file that cannot be used."""


class OptionError(InputError):
    """An option or argument outside its range."""


class RunError(SojournError):
    """The run failed although the input was accepted."""


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the valid name nearest to `name`, or nothing."""
    near = difflib.get_close_matches(name, list(valid), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_choice(what: str, name: str, valid: Collection[str]) -> None:
    """Raise OptionError for a name that is not among the valid ones; it names the nearest."""
    if name not in valid:
        near = did_you_mean(name, valid)
        raise OptionError(f"{what} '{name}' is unknown{near}; use one of {', '.join(valid)}")


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the valid name nearest to `name`, or all of them."""
    known = {candidate.lower(): candidate for candidate in valid}
    close = difflib.get_close_matches(name.lower(), list(known), n=1)
    if close:
        return f"did you mean '{known[close[0]]}'?"
    return f"choose from {', '.join(known.values())}"


def plural(count: int, word: str, words: str | None = None) -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> plural(1, "job"), plural(2000, "job"), plural(2, "switch", "switches")
    ('1 job', '2,000 jobs', '2 switches')
    """
    return f"{count:,} {word if count == 1 else words or word + 's'}"
