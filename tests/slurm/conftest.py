"""Tests that need Slurm: skipped, with what to install, where it is not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.adequacy.virtual import advice, missing_for


def _need(mode: str, auth: str = "none") -> None:
    missing = missing_for(mode, auth)
    if not missing:
        return
    told = f"{', '.join(need.name for need in missing)} not installed; {advice(missing)}"
    # Where Slurm is said to be there, a skipped test would pass for a good one.
    if os.environ.get("SOJOURN_SLURM") == "required":
        pytest.fail(told)
    pytest.skip(told)


@pytest.fixture(scope="session")
def need() -> Callable[..., None]:
    """Skip a test unless this machine has what a mode of time needs."""
    return _need


def leftovers(place: Path) -> list[str]:
    """Return the files in a folder for temporary files, and processes that name it."""
    found = [str(path) for path in place.iterdir()]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                where = os.readlink(entry / "cwd")
            except OSError:
                continue
            if str(place) in line or where.startswith(str(place)):
                found.append(f"{entry.name}: {line} in {where}")
    return found


@pytest.fixture
def place(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A place for temporary files in which nothing may be left, nor run."""
    folder = tmp_path_factory.mktemp("t")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    assert leftovers(folder) == []
