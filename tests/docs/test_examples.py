"""Every script in examples/ runs with nothing but this package."""

from __future__ import annotations

import runpy
import sys

import pytest
from snippets import ROOT

SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_there_are_examples():
    assert SCRIPTS
