"""Files that get their names together, or not at all.

Everything is written to a hidden folder first and put in place together, so that a folder never
holds half of what belongs together.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...__about__ import __version__
from ...errors import OptionError, RunError
from ...files.access import check_outputs
from ...files.staging import FULL, Stage, staging
from .tables import as_cell

__all__ = [
    "as_json",
    "check_file",
    "check_folder",
    "provenance",
    "put_rows",
    "staged",
    "write_rows",
]


def as_json(value: Any) -> str:
    """Return plain values as JSON text; a number that JSON cannot say (nan, inf) becomes null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise OptionError if results could not be written to a folder, before the work is done."""
    path = Path(folder)
    try:
        if path.exists() and not path.is_dir():
            raise OptionError(f"{folder}: is a file, results go to a folder; name another")
        while not path.exists():
            path = path.parent
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(f"{folder}: cannot be a folder ({reason}); name another") from None
    if not path.is_dir():
        raise OptionError(f"{folder}: {path} is a file, not a folder; name another")
    if not os.access(path, os.W_OK | os.X_OK):
        raise OptionError(f"{folder}: {path} cannot be written to; name another folder")


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise OptionError if a file could not be written, or is one that the command reads."""
    target = Path(path)
    if target.is_dir():
        raise OptionError(f"{path}: is a folder; name a file")
    check_folder(target.parent)
    check_outputs([target])


@contextlib.contextmanager
def staged(folder: str | os.PathLike[str]) -> Iterator[Stage]:
    """Yield a function from a file's name to a path of the same name where it is to be written.

    At the end all files get their places, the last one last; on any error none does, and folders
    made for them go.
    """
    target = Path(folder)
    check_folder(target)
    made: list[Path] = []
    done = False
    try:
        for part in [*reversed(target.parents), target]:
            if not part.exists():
                made.append(part)
                part.mkdir(exist_ok=True)
        with staging(target) as stage:
            yield stage
        done = True
    except OSError as error:
        reason = error.strerror or error
        kind = RunError if error.errno in FULL else OptionError
        raise kind(f"{folder}: cannot be written ({reason}); check the folder") from None
    finally:
        if not done:
            for part in reversed(made):
                with contextlib.suppress(OSError):
                    part.rmdir()


def write_rows(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as CSV, all of them or nothing."""
    target = Path(path)
    with staged(target.parent) as place:
        put_rows(place(target.name), rows)


def put_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with the same keys as CSV to a path of a stage."""
    import csv

    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    return as_cell(value) if isinstance(value, str) else value


def provenance(command: str, options: Mapping[str, Any], seed: int | None = None) -> dict[str, Any]:
    """Return what is needed to make a run again: version, options, seed, time, libraries."""
    modules = ("numpy", "numba")
    versions = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {
        "version": __version__,
        "command": command,
        "options": dict(options),
        "seed": seed,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": ".".join(map(str, sys.version_info[:3])),
        **versions,
    }
