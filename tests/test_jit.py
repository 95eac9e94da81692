"""Where compiled code is kept, who may put it there, and that other processes find it."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import pickle
import pkgutil
import pwd
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numba
import pytest
from filelock import FileLock

from sojourn import _kept, jit

NOBODY = 65534
BEFORE = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}

if numba.config.DISABLE_JIT:
    pytest.skip("nothing is compiled", allow_module_level=True)

KERNEL = """
from sojourn.jit import compiled

@compiled("float64(float64)", slow="a kernel", seconds=0.5)
def half(x):
    return x / 2
"""


def forget() -> None:
    _kept._source_digest.cache_clear()
    _kept.cache_folder.cache_clear()


@pytest.fixture(autouse=True)
def chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for kernels that is empty, and one for what is temporary."""
    monkeypatch.setenv("SOJOURN_CACHE_DIR", str(tmp_path / "chosen"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(jit, "_announced", set())
    forget()
    yield tmp_path / "chosen"
    forget()


@pytest.fixture
def load(tmp_path: Path) -> Callable[[], str]:
    """Load a module with a kernel as a fresh process does; say whether it was kept."""
    source = tmp_path / "tiny.py"
    source.write_text(KERNEL)

    def load() -> str:
        spec = importlib.util.spec_from_file_location("tiny", source)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.half(3.0) == 1.5
        return "kept" if module.half.stats.cache_hits else "compiled"

    return load


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_kernel_is_compiled_once(
    chosen: Path, load: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert load() == "compiled"
    assert capsys.readouterr().err == (
        "sojourn: compiling a kernel; this takes about 0.5 s, and happens once ...\n"
    )
    assert load() == "kept"
    assert capsys.readouterr().err == ""
    (file,) = files(chosen)
    assert file.parent == jit.cache_folder()
    for path in (file, file.parent, chosen):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def replace(file: Path) -> None:
    """Another object, as a whole."""
    data = pickle.dumps("nonsense")
    file.write_bytes(hashlib.sha256(data).digest() + data)


def block(file: Path) -> None:
    file.unlink()
    file.mkdir()


def lock(file: Path) -> None:
    file.chmod(0)


@pytest.mark.parametrize(
    "spoil",
    [truncate, damage, replace, block, lock, Path.unlink, lambda file: os.truncate(file, 0)],
)
def test_a_file_that_cannot_be_used_is_a_missing_one(
    spoil: Callable[[Path], None], chosen: Path, load: Callable[[], str]
) -> None:
    load()
    (file,) = files(chosen)
    spoil(file)
    may_read_all = spoil is lock and os.geteuid() == 0
    assert load() == ("kept" if may_read_all else "compiled")
    assert load() == ("compiled" if spoil is block else "kept")


def test_a_folder_that_vanishes_is_made_again(chosen: Path, load: Callable[[], str]) -> None:
    load()
    shutil.rmtree(chosen)
    assert load() == "compiled"
    assert load() == "kept"
    assert not stat.S_IMODE(jit.cache_folder().stat().st_mode) & 0o077


def test_a_full_disk_costs_the_file_alone(
    chosen: Path, load: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python would cut the bytecode of the module itself short as well.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        assert load() == "compiled"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files(chosen) == []

    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkstemp", full)
    assert load() == "compiled"
    assert files(chosen) == []


class Plant:
    """Makes a file where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.fixture
def planted(tmp_path: Path, chosen: Path, load: Callable[[], str]) -> tuple[Path, Path]:
    """A folder as the one of kernels, with code in it that others wrote; where that would show."""
    load()
    mark = tmp_path / "mark"
    data = pickle.dumps(Plant(mark))
    for file in files(chosen):
        file.write_bytes(hashlib.sha256(data).digest() + data)
    load()
    assert mark.exists()  # It would work.
    mark.unlink()
    (file,) = files(chosen)
    file.write_bytes(hashlib.sha256(data).digest() + data)
    forget()
    return chosen, mark


def given_away(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def open_inside(folder: Path) -> None:
    next(folder.iterdir()).chmod(0o777)


def linked(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def foreign_file(folder: Path) -> None:
    """As if the folder had been exchanged after it was looked at."""
    for file in files(folder):
        os.chown(file, NOBODY, NOBODY)


CHANGES = [given_away, open_to_all, open_inside, foreign_file]


@pytest.mark.parametrize(
    ("place", "change"),
    [*product(("chosen", "temporary"), CHANGES), ("temporary", linked)],
)
def test_what_others_may_have_written_is_not_loaded(
    place: str,
    change: Callable[[Path], None],
    planted: tuple[Path, Path],
    load: Callable[[], str],
    tmp_path: Path,
) -> None:
    if change in (given_away, foreign_file) and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    folder, mark = planted
    if place == "temporary":
        target = tmp_path / "temporary" / f"sojourn-{os.geteuid()}"
        folder.rename(target)
        folder.write_text("no folder")
        folder = target
    change(folder)
    before = stat.S_IMODE(folder.stat().st_mode)
    assert load() == "compiled"
    assert not mark.exists()
    assert stat.S_IMODE(folder.stat().st_mode) == before
    if change is not foreign_file:
        assert folder not in jit.cache_folder().parents


def test_a_chosen_folder_may_be_a_link(
    chosen: Path, load: Callable[[], str], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    chosen.symlink_to("elsewhere")
    assert [load(), load()] == ["compiled", "kept"]
    assert jit.cache_folder().parent == tmp_path / "elsewhere"


def test_a_folder_of_the_user_keeps_its_mode(chosen: Path, load: Callable[[], str]) -> None:
    chosen.mkdir()
    chosen.chmod(0o755)
    assert load() == "compiled"
    assert stat.S_IMODE(chosen.stat().st_mode) == 0o755
    assert load() == "kept"


def test_without_a_home(
    load: Callable[[], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("SOJOURN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(user: int) -> Any:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert load() == "compiled"
    assert jit.cache_folder().parent == tmp_path / "temporary" / f"sojourn-{os.geteuid()}"
    assert load() == "kept"


def test_where_nothing_can_be_written(
    chosen: Path, load: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*arguments: Any, **options: Any) -> Any:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    chosen.write_text("no folder")
    monkeypatch.setattr(tempfile, "gettempdir", none)
    monkeypatch.setattr(tempfile, "mkdtemp", none)
    assert load() == "compiled"
    assert load() == "compiled"


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    kept, content = _kept._Files(tmp_path, "some"), os.urandom(1 << 16)
    kept.save("key", content)
    stopped = threading.Event()

    def write() -> None:
        while not stopped.is_set():
            kept.save("key", content)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for each in writers:
        each.start()
    try:
        assert all(kept.load("key") == content for _ in range(50))
    finally:
        stopped.set()
        for each in writers:
            each.join()
    assert len(list(tmp_path.glob("some.*"))) == 1
    assert list(tmp_path.glob(".*")) == []


def test_processes_at_the_same_time_and_one_after_them(tmp_path: Path, chosen: Path) -> None:
    (tmp_path / "tiny.py").write_text(KERNEL)
    paths = os.pathsep.join([str(tmp_path), *map(os.path.abspath, sys.path)])

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import tiny; print(tiny.half(3.0), tiny.half.stats.cache_hits)",
            ],
            env={**os.environ, "PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    for each in [start(), start()]:
        out, _ = each.communicate(timeout=240)
        assert (each.returncode, out[:4]) == (0, "1.5 ")
    assert len(files(chosen)) == 1
    out, err = start().communicate(timeout=240)
    assert (out, err) == ("1.5 Counter({'float64(float64)': 1})\n", "")


SHARED = """
import numba
import numpy as np
from numba import types
from sojourn.jit import called, compiled

@called
def share(a, b, c, k):
    return a[k] if k == 0 else a[k] / (2.0 + share(a, b, c, k - 1))

ROW = types.float64[::1]

@compiled(types.float64(ROW, ROW, ROW, types.int64))
def kernel(a, b, c, k):
    return share(a, b, c, k) + share(c, b, a, k - 1)

@numba.njit
def other(a, b, c, k):
    return share(a, b, c, k) + share(c, b, a, k - 1)

a = np.arange(5.0)
print(kernel(a, a, 3.0 * a, 4), other(a, a, 3.0 * a, 4))
"""


def test_code_of_others_has_parts_of_its_own(tmp_path: Path, chosen: Path) -> None:
    """In a kernel a part is handed only what it uses; nobody else may call that one."""
    (tmp_path / "shared.py").write_text(SHARED)
    command = [sys.executable, str(tmp_path / "shared.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    def share(row: float, k: int) -> float:
        return row * k if k == 0 else row * k / (2.0 + share(row, k - 1))

    wanted = share(1.0, 4) + share(3.0, 3)
    assert done.stdout.split() == [str(wanted)] * 2


ENGINE = """
from sojourn.engine import kernels
from sojourn.engine.drive import Rules
from sojourn.engine.preloading import KernelKind, load_kernel
load_kernel(KernelKind(Rules(1)))
print(sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels._kernels.values()))
"""


def test_the_engine_is_found_by_another_process() -> None:
    """In the folder of the whole suite: it is compiled at most once."""
    told = [
        subprocess.run(
            [sys.executable, "-c", ENGINE], env=BEFORE, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert told[1] == "1\n"


FIRST_USE = """
import time
began = time.process_time()
from sojourn.engine.backfills import load_backfill
from sojourn.engine.drive import Rules
from sojourn.engine.preloading import KernelKind, load_kernel
load_kernel(KernelKind(Rules(1, load_backfill("{backfill}")), True, True, True))
print(time.process_time() - began)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_what_takes_longest_compiles_within_half_a_minute(backfill: str, chosen: Path) -> None:
    """And the line before it says about how long: other work on the machine costs some time too."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE.format(backfill=backfill)],
        env={**BEFORE, "SOJOURN_CACHE_DIR": str(chosen)},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    told = float(line.partition("takes about ")[2].split()[0])
    taken = float(done.stdout)
    assert taken <= 30
    assert told / 2 < taken < 2 * told


def test_every_kind_of_kernel_says_how_long_it_takes() -> None:
    from sojourn.engine import passes
    from sojourn.engine.parts import PARTS
    from sojourn.engine.types import Parts

    for module in pkgutil.iter_modules(passes.__path__, f"{passes.__name__}."):
        importlib.import_module(module.name)
    assert all(kind.says and min(kind.seconds) > 0 for kind in passes.DISCIPLINES.values())
    assert set(PARTS) == set(Parts._fields)
    assert min(part.seconds for part in PARTS.values()) > 0


@pytest.mark.parametrize("where", ["part.py", "passes/part.py"])
def test_an_edited_part_moves_the_cache_of_its_kernel(
    where: str, tmp_path: Path, chosen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba looks at the kernel's own file only: a part beside it must change the folder.

    So must one in a folder below the engine's, where its passes are.
    """
    sources = tmp_path / "sources"
    part = sources / where
    part.parent.mkdir(parents=True)
    (sources / "kernel.py").write_text("from .part import f\n")
    if part.parent != sources:
        monkeypatch.setattr(_kept, "_ENGINE", sources)

    def folder(text: str) -> Path:
        part.write_text(text)
        forget()
        return jit.cache_folder(sources)

    first, edited, again = (folder(text) for text in ("f = 1\n", "f = 2\n", "f = 1\n"))
    assert first == again != edited
    assert first != jit.cache_folder()
    assert {first.parent, edited.parent} == {chosen}


def test_a_kernel_outside_the_engine_is_kept_by_its_own_folder() -> None:
    """Its file is among the sources that the name of the folder is a digest of."""
    theory = Path(_kept.__file__).parent / "theory"
    locator = _kept._Locator(forget, str(theory / "loss.py"))
    assert Path(locator.get_cache_path()) == jit.cache_folder(theory) != jit.cache_folder()


def aged(folder: Path, days: float) -> None:
    moment = time.time() - days * 86400
    os.utime(folder, (moment, moment))


@pytest.fixture
def older(chosen: Path) -> Callable[..., Path]:
    """Make a folder of other sources with a file, used so many days ago."""

    def make(name: str, days: float) -> Path:
        folder = chosen / name
        folder.mkdir(parents=True, mode=0o700)
        chosen.chmod(0o700)
        (folder / "some.kernel").write_bytes(b"compiled")
        aged(folder, days)
        return folder

    return make


def test_folders_that_nobody_used_for_a_month_go(chosen: Path, older: Callable[..., Path]) -> None:
    gone = [older(f"0.0.{k}-{k:016x}", 31) for k in range(3)]
    kept = [
        older("0.0.1-0123456789abcdef", 29),
        older("notes", 400),
        older("0.0.1-short", 400),
        older("v1-0123456789abcdef", 400),
    ]
    current = jit.cache_folder()
    assert not any(folder.exists() for folder in gone)
    assert all((folder / "some.kernel").exists() for folder in kept)
    assert {path.name for path in chosen.iterdir() if path.is_dir()} == {
        *(folder.name for folder in kept),
        current.name,
    }


def test_a_folder_in_use_is_marked_and_nothing_cleared_again(
    chosen: Path, older: Callable[..., Path]
) -> None:
    current = jit.cache_folder()
    aged(current, 40)
    old = older("0.0.1-0123456789abcdef", 400)
    forget()
    assert jit.cache_folder() == current
    assert time.time() - current.stat().st_mtime < 3600
    # Only who makes a folder looks for old ones.
    assert old.exists()


def with_folder(folder: Path) -> None:
    (folder / "more").mkdir()


def with_link(folder: Path) -> None:
    (folder / "link").symlink_to("some.kernel")


def writable(folder: Path) -> None:
    folder.chmod(0o770)


def foreign(folder: Path) -> None:
    os.chown(folder / "some.kernel", NOBODY, NOBODY)


def as_link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")
    moment = time.time() - 400 * 86400
    os.utime(folder, (moment, moment), follow_symlinks=False)


@pytest.mark.parametrize("change", [with_folder, with_link, writable, foreign, as_link])
def test_what_may_not_be_ours_stays(
    change: Callable[[Path], None], chosen: Path, older: Callable[..., Path]
) -> None:
    if change is foreign and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    folder = older("0.0.1-0123456789abcdef", 400)
    change(folder)
    if change is not as_link:
        aged(folder, 400)
    jit.cache_folder()
    assert (folder / "some.kernel").exists()


def test_one_process_clears_at_a_time(chosen: Path, older: Callable[..., Path]) -> None:
    folder = older("0.0.1-0123456789abcdef", 400)
    with FileLock(chosen / ".clearing.lock"):
        assert jit.cache_folder().is_dir()
    assert folder.exists()


def test_what_a_killed_process_left_goes(chosen: Path, older: Callable[..., Path]) -> None:
    folder = older(".going-0.0.1-0123456789abcdef-1", 0)
    jit.cache_folder()
    assert not folder.exists()


def test_other_peoples_functions_are_cached_where_they_want() -> None:
    assert str(jit.cache_folder()) != numba.config.CACHE_DIR
