"""Every command and every snippet of README and docs runs, and prints what the page says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from snippets import PAGES, ROOT, Session, blocks

import sojourn

# What the tutorial makes in its first step and the other pages begin with.
LOG = {"jobs": 2000, "procs": 128, "load": 0.7, "seed": 1, "estimates": "tsafrir"}


@pytest.fixture(scope="session")
def log(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.swf.gz"
    sojourn.write_swf(sojourn.lublin(**LOG), path)
    return path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page, log, tmp_path, monkeypatch, request):
    mine = [block for block in blocks(page) if block.language in ("python", "console", "text")]
    needs_data = any("--data DIR" in block.text for block in mine)
    data = request.getfixturevalue("data_dir") if needs_data else None
    monkeypatch.chdir(tmp_path)
    shutil.copy(log, "log.swf.gz")
    session = Session(data)
    for block in mine:
        session.run(block)


def test_the_log_of_the_tutorial_is_that_of_the_other_pages():
    command = (
        "sojourn generate lublin --jobs {jobs} --procs {procs} --load {load} --seed {seed} "
        "\\\n    --estimates {estimates} --out log.swf.gz"
    )
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert command.format(**LOG) in tutorial
