"""Links between pages lead to a file that is there, and to a heading that it has."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from snippets import PAGES, ROOT

LINKING = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "examples/tour.ipynb"]

_FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?(\S+?)>?\s*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_NAMED = re.compile(r"^\(([\w-]+)\)=\s*$", re.MULTILINE)


def text_of(path: Path) -> str:
    """What a page says, without fenced blocks: a comment in one looks like a heading."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return _FENCED.sub("", text)


def anchors(text: str) -> set[str]:
    """Names of the headings of a page as GitHub and MyST make them."""
    found: set[str] = set(_NAMED.findall(text))
    seen: Counter[str] = Counter()
    for heading in _HEADING.findall(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def broken(path: Path) -> list[str]:
    """Links of a page that lead nowhere; those to other hosts are not followed."""
    text = _CODE.sub("", text_of(path))
    wrong = []
    for target in [*_LINK.findall(text), *_REFERENCE.findall(text)]:
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or (anchor and anchor not in anchors(text_of(there))):
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken(page) == []


def test_broken_links_are_seen(tmp_path):
    (tmp_path / "b.md").write_text("# One `two`: *three*\n\n## Same\n\n## Same\n", encoding="utf-8")
    page = tmp_path / "a.md"
    good = "[x](b.md#one-two-three) [x](b.md#same-1) [x](https://x/y#z) `[x](no.md)` [y]"
    page.write_text(
        f"{good}\n\n[y]: b.md\n\n```text\n[x](no.md)\n# Fenced\n```\n", encoding="utf-8"
    )
    assert broken(page) == []
    bad = "[x](no.md) [x](b.md#same-2) [x](#fenced)\n[z]\n\n[z]: gone.md\n"
    page.write_text(f"{bad}\n```text\n# Fenced\n```\n", encoding="utf-8")
    assert broken(page) == ["no.md", "b.md#same-2", "#fenced", "gone.md"]
