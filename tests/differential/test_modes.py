"""A slice of the comparison as plain Python, and with every array access checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPARISON = "tests/differential/test_differential.py"


def compare_with(*which: str, **environment: str) -> None:
    """Run tests in a process of their own, where Numba reads its settings anew."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *which]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    "which",
    [
        (COMPARISON,),
        # Of each of these the kernel takes longer to compile than the test takes without.
        ("tests/test_domains.py", "-m", "nightly"),
    ],
    ids=["disciplines", "domains"],
)
def test_without_compilation(which):
    """The kernels are Python, and mean the same."""
    # Numbers are drawn by sums and products that run over.
    over = "-W", "ignore:overflow encountered in scalar:RuntimeWarning"
    compare_with(*which, *over, NUMBA_DISABLE_JIT="1", SOJOURN_EXAMPLES="4")


@pytest.mark.nightly
def test_with_bounds_checked(tmp_path):
    """No kernel reads or writes outside its arrays; code compiled so is kept apart."""
    compare_with(
        COMPARISON, NUMBA_BOUNDSCHECK="1", SOJOURN_CACHE_DIR=str(tmp_path), SOJOURN_EXAMPLES="200"
    )
