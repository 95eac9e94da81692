"""The reference page lists every column, key and field that there is."""

from __future__ import annotations

import re
from pathlib import Path

from sojourn.cluster._layout import COLUMNS, field_of
from sojourn.cluster._parts import PART_KEYS
from sojourn.cluster.description import _TOP, KEYS
from sojourn.cluster.query import FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cluster-files.md"


def names(section: str) -> list[str]:
    """Names in backticks in the first cells of a section's table."""
    text = PAGE.read_text(encoding="utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_columns_and_keys():
    assert names("Description in CSV") == list(KEYS)
    assert sorted(names("Description in TOML")) == sorted(_TOP)


def test_keys_of_partitions_and_queues():
    for kind, title in (("partition", "Partitions"), ("queue", "Queues")):
        text = PAGE.read_text(encoding="utf-8").partition(f"### {title}\n")[2]
        table = text.partition("|---|")[2].partition("\n\n")[0]
        listed = [line.split("|")[1].strip() for line in table.splitlines()[1:]]
        assert listed == list(PART_KEYS[kind])


def test_fields():
    assert names("Queries") == list(FIELDS)


def test_columns_of_published_tables():
    told = {field_of(name) for name in names("SPECpower results")}
    assert set(COLUMNS) | {"ops100", "watts100", "watts0"} <= told
