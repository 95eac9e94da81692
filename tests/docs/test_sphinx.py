"""The documentation builds without a warning."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest
from snippets import ROOT


def test_documentation_builds(tmp_path):
    missing = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; pip install 'sojourn[docs]'")
    strict = ("-W", "--keep-going", "-q", "-E", "-d", str(tmp_path / "doctrees"))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *strict, str(ROOT / "docs"), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "index.html").is_file()
