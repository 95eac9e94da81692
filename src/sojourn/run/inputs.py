"""The files that a scenario names, relative to its own, and what is in them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..files.access import is_no_file, note_input
from ..measures.cost import is_price_file
from ..policy import is_cap_file
from .keys import ScenarioKeys
from .keys.describing import is_score_file
from .keys.typed import number_or_text

Stamp = tuple[str, int, int, int] | None
"""A file as it is now: path, times of change and size; None if it is not there."""

# What is named, and what it is called in a provenance.
_PLACES = {
    ("workload", "log"): "input",
    ("workload", "events"): "events",
    ("cluster", "nodes"): "cluster",
    ("policy", "order"): "order",
    ("policy", "backfill_order"): "backfill_order",
    ("policy", "placement"): "placement",
    ("slurm", "conf"): "slurm",
    ("power", "carbon"): "carbon",
    ("power", "price"): "price",
    ("failures", "log"): "failures",
    ("power", "cap"): "cap",
}
_KEYS = {name: key for key, name in _PLACES.items()}
_SCORES = ("order", "backfill_order", "placement")
_COUNTS = re.compile(r"\s*\d+\s*[x×*]\s*\S")


def _split(key: str, value: Any, folder: Path) -> tuple[str, str] | None:
    """The path in a value and what follows it; None for a value that names no file."""
    if not isinstance(value, str):
        return None
    if key in _SCORES:
        path, colon, name = value.rpartition(":")
        return (path, colon + name) if is_score_file(value) else None
    if key == "nodes" and _COUNTS.match(value) and not os.path.exists(folder / value):
        return None
    if key == "carbon" and isinstance(number_or_text(value), float):
        return None
    if key == "price" and not is_price_file(value):
        return None
    if key == "cap" and not is_cap_file(value):
        return None
    if key in ("carbon", "cap") and is_no_file(str(folder / value)):
        # A slip in a number: whoever reads it says what may be given.
        return None
    return value, ""


def _paths(values: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield the files that a scenario names: section, key, path and what follows it."""
    for section, key in _PLACES:
        table = values.get(section)
        value = table.get(key) if isinstance(table, Mapping) else None
        parts = _split(key, value, folder)
        if parts is not None:
            yield section, key, *parts


def _join(folder: Path, path: str) -> str:
    # As text: where a folder is a link, .. is meant to lead to where the link is.
    return os.path.normpath(folder / path)


def _as_path(key: str, path: str) -> str:
    """A path that cannot be taken for a number."""
    return f"./{path}" if key == "carbon" and isinstance(number_or_text(path), float) else path


def resolved(keys: ScenarioKeys, folder: Path) -> tuple[ScenarioKeys, dict[str, str]]:
    """Return the keys with paths that lead there from the current folder, and the files.

    The files are those that the keys name, by what they are: ``input``, ``cluster``, ...
    """
    changed: dict[str, dict[str, str]] = {}
    files: dict[str, str] = {}
    for section, key, path, rest in _paths(keys.model_dump(), folder):
        there = files[_PLACES[section, key]] = _as_path(key, _join(folder, path))
        changed.setdefault(section, {})[key] = there + rest
    tables = {name: getattr(keys, name).model_copy(update=of) for name, of in changed.items()}
    return keys.model_copy(update=tables), files


def moved(values: Mapping[str, Any], folder: Path, to: Path) -> dict[str, Any]:
    """Return a scenario of one folder as it must be written in another one.

    Paths are relative to that folder, and have forward slashes on every system.
    """
    new: dict[str, Any] = {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()
    }
    for section, key, path, rest in _paths(values, folder):
        there = path if os.path.isabs(path) else os.path.relpath(_join(folder, path), to)
        new[section][key] = _as_path(key, there.replace(os.sep, "/")) + rest
    return new


def key_of(name: str) -> tuple[str, str]:
    """Return the key of a scenario that names a file, from what the file is in a provenance."""
    # Others than these are beside the description of a cluster.
    return _KEYS.get(name.partition("/")[0], ("cluster", "nodes"))


def with_others(files: Mapping[str, str]) -> dict[str, str]:
    """Return files with those that they depend on now.

    These are what a description of a cluster names, and the modules beside a policy file.
    """
    others = machine_files(files["cluster"]) if "cluster" in files else {}
    if "slurm" in files:
        others |= {f"slurm/{name}": path for name, path in machine_files(files["slurm"]).items()}
    for name in _SCORES:
        if name in files:
            others |= module_files(name, files[name])
    return {**files, **others}


def module_files(name: str, path: str) -> dict[str, str]:
    """Return the modules beside a policy file that it imports, as ``order/helpers.py``.

    Parameters
    ----------
    name : what the policy file is in a provenance.
    path : the policy file.
    """
    from ..policy.modules import local_modules

    folder = Path(path).parent
    beside = [os.path.join(folder, inner) for inner in local_modules(path)]
    return {f"{name}/{os.path.relpath(file, folder).replace(os.sep, '/')}": file for file in beside}


def machine_files(path: str) -> dict[str, str]:
    """Return the further files that a description of a cluster depends on, by what they are."""
    if path.lower().endswith(".conf"):
        return dict(_files_beside(path, stamp_of(path)))
    servers = _servers_in(stamp_of(path)) if path.lower().endswith(".toml") else None
    return {} if servers is None else {"servers": os.path.normpath(Path(path).parent / servers)}


@lru_cache(maxsize=64)
def _files_beside(path: str, stamp: Stamp) -> tuple[tuple[str, str], ...]:
    from ..cluster.slurm import files_beside

    return () if stamp is None else tuple(files_beside(path).items())


@lru_cache(maxsize=64)
def _servers_in(stamp: Stamp) -> str | None:
    from ..files.access import load_toml

    if stamp is None:
        return None
    try:
        servers = load_toml(Path(stamp[0]).read_text(encoding="utf-8-sig")).get("servers")
    except (OSError, ValueError):
        return None
    return servers if isinstance(servers, str) else None


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """Return what tells whether a file has changed."""
    try:
        now = os.stat(path)
    except (OSError, ValueError):
        return None
    # Of the two times a copy may keep the first one, but not the second.
    return os.path.abspath(path), now.st_mtime_ns, now.st_ctime_ns, now.st_size


def digest_of(path: str | os.PathLike[str]) -> str | None:
    """Return the SHA-256 of a file; None if it cannot be read."""
    note_input(path)
    return _digest(stamp_of(path))


@lru_cache(maxsize=256)
def _digest(stamp: Stamp) -> str | None:
    # What can be read only once, such as a pipe, is left to the run.
    if stamp is None or not os.path.isfile(stamp[0]):
        return None
    try:
        with open(stamp[0], "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def digest_with_files(
    values: Mapping[str, Any], files: Mapping[str, str], known: Mapping[str, str | None]
) -> str:
    """Return the SHA-256 of plain values, in which contents of files stand for their paths.

    Parameters
    ----------
    values : the values, by section.
    files : by what they are.
    known : digests of files that need not be there.
    """
    contents = {
        name: known[name] if name in known else digest_of(path) for name, path in files.items()
    }
    text = json.dumps([_without(values, files), contents], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _without(values: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """Plain values in which paths of files say nothing."""
    new = dict(values)
    for (section, key), name in _PLACES.items():
        if name in files and section in new:
            rest = new[section][key].removeprefix(files[name])
            new[section] = {**new[section], key: rest}
    return new
