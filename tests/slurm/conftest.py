"""Tests that need Slurm: skipped, with what to install, where it is not."""

from __future__ import annotations

import os
import re
import socket
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


def used_ports(place: Path) -> list[int]:
    """Return the ports of a cluster whose folder is in a folder for temporary files."""
    (conf,) = place.glob("sojourn-*/slurm.conf")
    text = conf.read_text()
    first = int(re.search(r"^SlurmctldPort=(\d+)$", text, re.MULTILINE)[1])
    nodes = int(re.search(r"^NodeName=n\[1-(\d+)\]", text, re.MULTILINE)[1])
    return list(range(first, first + nodes + 1))


def is_free(port: int) -> bool:
    """Whether nobody listens on a port of the loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


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
