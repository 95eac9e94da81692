"""How the documentation is built: ``make docs``, or ``sphinx-build -W docs docs/_build/html``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import sojourn

sys.path.insert(0, str(Path(__file__).parent))

project = "sojourn"
author = "The sojourn authors"
copyright = author
version = release = sojourn.__version__

extensions = [
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Options begin with two hyphens, not with a dash.
smartquotes = False
highlight_language = "none"

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["tables.css", "formulas.css"]
html_title = f"sojourn {version}"
html_theme_options = {"navigation_with_keys": True}

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

_SECTION = re.compile(r"(Parameters|Attributes)$")
_ENTRY = re.compile(r"(\*{0,2}\w[\w, *]*?) : (.*)")
_SIZE = re.compile(r"\|(\w+)\|")


def _split_entries(app, what, name, obj, options, lines) -> None:
    """Turn ``name : text`` of our docstrings into a name and its text.

    Types are in the signatures; what follows the colon is a description, where napoleon
    expects a type.
    """
    out: list[str] = []
    inside = False
    for i, line in enumerate(lines):
        under = lines[i + 1] if i + 1 < len(lines) else ""
        if line and set(under) == {"-"}:
            inside = bool(_SECTION.match(line))
        entry = _ENTRY.fullmatch(line) if inside else None
        out += [entry[1], f"    {entry[2]}"] if entry else [line]
    # The size of a set, |S|, is not a substitution.
    lines[:] = [_SIZE.sub(r"\\|\1\\|", line) for line in out]


def setup(app) -> None:
    app.connect("autodoc-process-docstring", _split_entries, priority=100)
