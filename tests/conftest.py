"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real logs and published results; tests that need it skip where it is not."""
    folder = Path(os.environ.get("SOJOURN_DATA", _ROOT.parent / "shared" / "data"))
    if not folder.is_absolute():
        folder = _ROOT / folder
    if not folder.is_dir():
        pytest.skip(f"no data at {folder}; set SOJOURN_DATA")
    return folder
