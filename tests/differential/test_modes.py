"""A slice of the comparison as plain Python, and with every array access checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPARISON = Path(__file__).with_name("test_differential.py")


def compare_with(**environment: str) -> None:
    """Run the comparison in a process of its own, where Numba reads its settings anew."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(COMPARISON)]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=COMPARISON.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_without_compilation():
    """The kernels are Python, and mean the same."""
    compare_with(NUMBA_DISABLE_JIT="1", SOJOURN_EXAMPLES="10")


@pytest.mark.nightly
def test_with_bounds_checked(tmp_path):
    """No kernel reads or writes outside its arrays; code compiled so is kept apart."""
    compare_with(NUMBA_BOUNDSCHECK="1", SOJOURN_CACHE_DIR=str(tmp_path), SOJOURN_EXAMPLES="200")
