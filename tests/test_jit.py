"""Where compiled code is kept, and that another process finds it there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from sojourn import _kept, jit

_CODE = """
import sys, sojourn
from sojourn.engine.ordered import run_ordered
assert run_ordered.stats.cache_path.startswith(sys.argv[1]), run_ordered.stats.cache_path
print(sum(run_ordered.stats.cache_hits.values()), sum(run_ordered.stats.cache_misses.values()))
"""


def _load(folder) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _CODE, str(folder)],
        env={**os.environ, "SOJOURN_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_second_process_finds_the_compiled_kernel(tmp_path):
    first = _load(tmp_path)
    assert first.stdout.split() == ["0", "1"]
    assert first.stderr.count("compiling the engine") == 1
    second = _load(tmp_path)
    assert second.stdout.split() == ["1", "0"]
    assert second.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="about file permissions")
def test_a_folder_that_cannot_be_made_is_replaced(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    code = "from sojourn.jit import cache_folder; print(cache_folder())"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SOJOURN_CACHE_DIR": str(blocked / "x"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.startswith(str(tmp_path / "sojourn-"))


def test_an_edited_part_moves_the_cache_of_its_kernel(tmp_path, monkeypatch):
    """Numba looks at the kernel's own file only: a part beside it must change the folder."""
    monkeypatch.setenv("SOJOURN_CACHE_DIR", str(tmp_path / "cache"))
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "kernel.py").write_text("from .part import f\n")
    part = sources / "part.py"

    def folder(text):
        part.write_text(text)
        _kept._source_digest.cache_clear()
        _kept.cache_folder.cache_clear()
        return jit.cache_folder(sources)

    try:
        first, edited, again = (folder(text) for text in ("f = 1\n", "f = 2\n", "f = 1\n"))
        assert first == again != edited
        assert first != jit.cache_folder()
        assert {first.parent, edited.parent} == {tmp_path / "cache"}
    finally:
        _kept._source_digest.cache_clear()
        _kept.cache_folder.cache_clear()


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_a_kernel_outside_the_engine_is_kept_by_its_own_folder():
    from sojourn.policy.slurm import loops

    kept = Path(loops.run_loops.stats.cache_path)
    assert jit.cache_folder(Path(loops.__file__).resolve().parent) in (kept, *kept.parents)


def test_other_peoples_functions_are_cached_where_they_want():
    assert str(jit.cache_folder()) != numba.config.CACHE_DIR
