"""The documentation builds without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
from snippets import ROOT

# What a browser fetches when it opens a page; links are followed by readers only.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)[^>]+\bsrc=["'](?:https?:)?//"""
    r"""|<link[^>]+\brel=["'](?:stylesheet|preload|icon)["'][^>]+\bhref=["'](?:https?:)?//"""
    r"""|@import|url\(["']?(?:https?:)?//""",
    re.IGNORECASE,
)


def test_documentation_builds_and_needs_nothing_from_elsewhere(tmp_path):
    missing = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; pip install 'sojourn[docs]'")
    strict = ("-W", "--keep-going", "-q", "-E", "-d", str(tmp_path / "doctrees"))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *strict, str(ROOT / "docs"), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = [*(tmp_path / "html").rglob("*.html")]
    assert tmp_path / "html" / "index.html" in pages
    texts = {page: page.read_text() for page in pages}
    for page in (*pages, *(tmp_path / "html").rglob("*.css")):
        text = texts.get(page) or page.read_text()
        assert not FETCHED.search(text), (page.name, FETCHED.search(text))
    theory = texts[tmp_path / "html" / "background" / "theory.html"]
    assert theory.count("<math") > 80
    assert sum(text.count("<math") for text in texts.values()) > 200
    assert '<span class="eqno">(3, 4)</span><math' in theory


@pytest.mark.parametrize("dress", ['<script src="https://cdn.x/a.js">', "<img src='//x/a.png'>"])
def test_what_is_fetched_is_seen(dress):
    assert FETCHED.search(dress)
    assert not FETCHED.search('<a href="https://x/">x</a> <script src="_static/a.js">')
