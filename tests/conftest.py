"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, so that a red build is red again.
settings.register_profile("ci", deadline=None, database=None, derandomize=True, print_blob=True)
settings.load_profile("ci")

_ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real logs and published results; tests that need it skip where it is not."""
    folder = Path(os.environ.get("SOJOURN_DATA", _ROOT.parent / "shared" / "data"))
    if not folder.is_absolute():
        folder = _ROOT / folder
    if not folder.is_dir():
        told = f"no data at {folder}; set SOJOURN_DATA"
        # Continuous integration has the data: a skipped comparison would pass for a good one.
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    return folder
