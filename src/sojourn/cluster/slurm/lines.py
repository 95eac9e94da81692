"""The lines of a ``slurm.conf``: joined, without comments, included files in their place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...errors import ClusterError
from ...files.access import note_input
from ...jobs.formats.slurm_fields import expand_nodes

_DEEPEST = 8
_SIZES = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_COMMENT = re.compile(r"(?<!\\)#")
_DIGITS = re.compile(r"\d{19}")  # more than 64 bits hold
_PAIR = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\"[^\"]*\"|\S*)\s*")


class Line(NamedTuple):
    """One statement: where it stands, and its names and values in the order written."""

    path: str
    number: int
    pairs: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The first name, which says what the statement is about."""
        return self.pairs[0][0]

    @property
    def said(self) -> dict[str, str]:
        """The values by their names in small letters."""
        return {name.lower(): value for name, value in self.pairs}

    def error(self, field: str | None, problem: str) -> ClusterError:
        """Return an error that says where."""
        return ClusterError(self.path, problem, line=self.number, field=field)

    def bad(self, field: str, text: str) -> ClusterError:
        """Return the error of a value that cannot be."""
        return self.error(field, f"'{text[:40]}' is no value of it; correct it")

    def nodes(self, field: str, text: str) -> tuple[str, ...]:
        """Return the names that a value such as ``n[1-32]`` stands for."""
        try:
            names = expand_nodes(text)
        except ValueError:
            raise self.bad(field, text) from None
        if text.count("[") != text.count("]"):
            raise self.bad(field, text)
        return names

    def number_of(self, field: str, text: str) -> int:
        """Return a whole number, which may be written short: ``2K`` are 2048."""
        size = _SIZES.get(text[-1:].upper(), 1)
        digits = text if size == 1 else text[:-1]
        if not digits.isdecimal():
            raise self.error(field, f"'{text[:40]}' is no number; correct it")
        return size * int(digits)


def read_lines(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[Line]:
    """Yield the statements of a configuration file, and of the files that it includes.

    Without `follow` an ``Include`` is a statement like others.
    """
    yield from _lines(Path(path), follow, 0)


def files_beside(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the further files that a ``slurm.conf`` depends on, by what they are.

    These are the ``gres.conf`` and ``topology.conf`` beside it and those it includes. What cannot
    be read has none.
    """
    folder = Path(path).parent
    files = {
        name: str(folder / f"{name}.conf")
        for name in ("gres", "topology")
        if (folder / f"{name}.conf").is_file()
    }
    try:
        names = dict.fromkeys(line.path for line in read_lines(path))
    except ClusterError:
        return files
    others = (name for name in names if Path(name) != Path(path))
    return files | {f"included {at}": name for at, name in enumerate(others, 1)}


def _lines(path: Path, follow: bool, depth: int) -> Iterator[Line]:
    if depth > _DEEPEST:
        raise ClusterError(path, f"is included more than {_DEEPEST} deep; files include each other")
    begun, first = "", 0
    text = _text(path)
    for number, line in enumerate([*text.splitlines(), ""], 1):
        first = first if begun else number
        begun += line.removesuffix("\\")
        if line.endswith("\\"):
            continue
        said, begun = _COMMENT.split(begun)[0].strip(), ""
        if not said:
            continue
        word, *rest = said.split(maxsplit=1)
        if word.lower() == "include":
            file = "".join(rest).strip('"')
            if follow:
                yield from _lines(path.parent / file, follow, depth + 1)
            else:
                yield Line(str(path), first, ((word, file),))
            continue
        yield Line(str(path), first, _pairs(path, number, said))


def _text(path: Path) -> str:
    note_input(path)
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ClusterError(path, f"cannot be read ({reason}); check the path") from None


def _pairs(path: Path, number: int, said: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    at = 0
    while at < len(said):
        match = _PAIR.match(said, at)
        if match is None:
            raise ClusterError(path, f"'{said[at : at + 40]}' is not Name=value", line=number)
        if _DIGITS.search(match[2]):
            problem = "a number of so many digits; give a smaller one"
            raise ClusterError(path, problem, line=number, field=match[1])
        pairs.append((match[1], match[2].strip('"')))
        at = match.end()
    return tuple(pairs)
