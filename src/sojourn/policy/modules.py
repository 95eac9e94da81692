"""The modules beside a policy file that it imports: they decide about its scores as it does."""

from __future__ import annotations

import ast
import contextlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


def local_modules(path: str | os.PathLike[str]) -> list[str]:
    """Return the modules below a file's folder that it imports, and those that they import.

    They are files relative to the folder, in the order of their names. What is imported in other
    ways than by a statement is not seen; nor is anything in a file that is no Python.
    """
    folder = Path(path).parent
    found: dict[Path, None] = {}
    waiting = [(Path(path), "")]
    while waiting:
        file, package = waiting.pop()
        for name in _imports(_stamp(file), package):
            for module in _files(folder, name):
                if module not in found and module != Path(path):
                    found[module] = None
                    inside = name if module.name == "__init__.py" else name.rpartition(".")[0]
                    waiting.append((module, inside))
    return sorted(str(module.relative_to(folder)) for module in found)


def _stamp(file: Path) -> tuple[str, int, int] | None:
    try:
        now = os.stat(file)
    except (OSError, ValueError):
        return None
    return str(file), now.st_mtime_ns, now.st_size


@lru_cache(maxsize=256)
def _imports(stamp: tuple[str, int, int] | None, package: str) -> tuple[str, ...]:
    """Names of modules that a file of a package may import; of each also the packages above it."""
    try:
        tree = ast.parse(Path(stamp[0]).read_bytes()) if stamp is not None else ast.Module([], [])
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        for name in _named(node, package):
            parts = name.split(".")
            names.update(dict.fromkeys(".".join(parts[: k + 1]) for k in range(len(parts))))
    return tuple(names)


def _named(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        # What is imported from a package may be a module of it.
        yield from filter(None, (f"{base}.{alias.name}".strip(".") for alias in node.names))


def _files(folder: Path, name: str) -> Iterator[Path]:
    place = folder.joinpath(*name.split("."))
    for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if file.is_file():
            yield file
            return


@contextlib.contextmanager
def importing_from(path: str) -> Iterator[None]:
    """Let a policy file import modules beside it, as they are now, and nobody else have them.

    What is installed goes first: a file beside a policy hides no library.
    """
    folder = os.path.abspath(os.path.dirname(path))
    local = {os.path.join(folder, module) for module in local_modules(path)}

    def loaded() -> dict[str, object]:
        return {
            name: module
            for name, module in list(sys.modules.items())
            if getattr(module, "__file__", None) in local
        }

    before = loaded()
    for name in before:
        del sys.modules[name]
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in loaded():
            del sys.modules[name]
        sys.modules.update(before)  # type: ignore[arg-type]
