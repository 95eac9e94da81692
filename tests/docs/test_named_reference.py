"""Pages about named nodes list everything there is."""

from __future__ import annotations

import re

from snippets import ROOT

from sojourn.engine.decided import WORDS
from sojourn.policy import PLACEMENTS
from sojourn.run.build.machine import REASONS
from sojourn.run.peas import KEYS


def section(page: str, heading: str = "") -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0] if heading else text


def first_cells(text: str) -> list[str]:
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_placements():
    assert first_cells(section("background/placement.md", "Placements")) == list(PLACEMENTS)


def test_reasons():
    for page in ("background/placement.md", "reference/jobs.md"):
        assert all(f"`{reason}`" in section(page) for reason in REASONS[1:])


def test_decisions():
    rows = section("reference/decisions.md", "Decisions").splitlines()
    told = [row.split("|")[1].strip() for row in rows if row.startswith("| ")]
    assert told[1:] == list(WORDS)


def test_keys_of_the_configuration():
    told = first_cells(section("reference/peas-file.md"))
    assert told == [key.rpartition(".")[2] for key in KEYS]
