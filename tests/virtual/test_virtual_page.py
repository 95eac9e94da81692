"""The page about the files of a virtual run names every column, key and kind."""

from __future__ import annotations

import re
from pathlib import Path

from sojourn.adequacy.virtual import COLUMNS, StreamRun
from sojourn.adequacy.virtual.reading import _KINDS
from sojourn.adequacy.virtual.stream import _LEAST

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "virtual-files.md"


def _first_cells(part):
    return re.findall(r"^\| `([^`]+)` \|", part, re.MULTILINE)


def test_every_name_is_on_the_page():
    stream, rows, run, _, log = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert _first_cells(stream) == list(_LEAST)
    assert _first_cells(rows) == list(COLUMNS)
    assert _first_cells(run) == list(StreamRun([], "real", 1.0, 1.0, "", b"", None).as_dict())
    assert sorted(_first_cells(log)) == sorted(_KINDS)
