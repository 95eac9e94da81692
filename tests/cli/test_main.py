"""The command line as a whole: help, version, exit codes, one line per error."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sojourn

from .conftest import without_notices

VERBS = ("demo", "simulate", "peas", "compare", "inspect", "generate", "convert")
HEAVY = ("numba", "pandas", "pyarrow", "matplotlib", "scipy", "numpy")

Refused = Callable[..., str]


def command(*arguments: object, heavy: tuple[str, ...] = HEAVY) -> list[str]:
    code = (
        "import sys; from sojourn.cli import main; code = main(sys.argv[1:]);"
        f"print('LOADED', [m for m in {heavy} if m in sys.modules]); sys.exit(code)"
    )
    return [sys.executable, "-c", code, *map(str, arguments)]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["simulate", "--help"], ["peas", "--help"], ["--version"]]
)
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    # Policies and logs, whose names the options of a verb list, are made with NumPy.
    heavy = HEAVY if len(arguments) == 1 else tuple(name for name in HEAVY if name != "numpy")
    asked = command(*arguments, heavy=heavy)
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_help_alone_imports_no_pydantic() -> None:
    # Typer takes it to read the options of a verb; before that nobody needs it.
    asked = command("--help", heavy=("pydantic",))
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_version(run) -> None:
    told = run("--version")
    assert (told.code, told.out, told.err) == (0, f"sojourn {sojourn.__version__}\n", "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(run, verb: str) -> None:
    told = run(verb, "--help")
    assert told.code == 0
    assert f"Example: sojourn {verb}" in " ".join(told.out.split())


@pytest.mark.parametrize("model", ["lublin", "poisson"])
def test_every_model_has_help_with_an_example(run, model: str) -> None:
    told = run("generate", model, "--help")
    assert told.code == 0
    assert f"Example: sojourn generate {model}" in " ".join(told.out.split())


@pytest.mark.parametrize(
    "verb", [[], ["simulate"], ["adequacy"], ["energy"], ["cluster", "inspect"]]
)
def test_help_shows_no_value_for_options_that_take_none(run, verb: list[str]) -> None:
    shown = run(*verb, "--help").out
    assert "--help" in shown
    assert "<bool>" not in shown


def test_help_lists_the_verbs(run) -> None:
    out = run("--help").out
    assert all(f" {verb} " in out for verb in VERBS)


def test_nothing_given_shows_help_and_is_wrong_usage(run) -> None:
    told = run()
    assert told.code == 2
    assert "Usage" in told.out + told.err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["simulat"], "sojourn --help"),
        (["simulate"], "sojourn simulate --help"),
        (["simulate", "log.swf", "--procs", "many"], "sojourn simulate --help"),
        (["simulate", "log.swf", "--no-such-option"], "sojourn simulate --help"),
        (["simulate", "log.swf", "--seed", "1.5"], "sojourn simulate --help"),
        (["generate", "nothing"], "sojourn generate --help"),
    ],
)
def test_wrong_usage_is_one_line(refused: Refused, arguments: list[str], hint: str) -> None:
    assert refused(*arguments).endswith(f"see {hint}")


@pytest.mark.parametrize("verb", ["simulate", "compare", "inspect"])
def test_missing_log(refused: Refused, tmp_path: Path, verb: str) -> None:
    line = refused(verb, tmp_path / "none.swf")
    assert "none.swf" in line
    assert "no such file" in line


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "memory"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x.bin"), 1, "x.bin: No space"),
        (sojourn.RunError("the run broke"), 1, "the run broke"),
        (sojourn.PolicyError("two\nlines"), 2, "two lines"),
        (ZeroDivisionError("oops"), 1, "ZeroDivisionError: oops"),
    ],
)
def test_whatever_happens_is_one_line(
    refused: Refused, small: Path, monkeypatch: pytest.MonkeyPatch, error, code: int, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("sojourn.run.workloads.read_jobs", fail)
    assert said in refused("simulate", small, code=code)


@pytest.mark.parametrize("verb", ["inspect", "simulate", "compare", "--version"])
def test_a_closed_pipe_is_quiet(small: Path, verb: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    log = () if verb == "--version" else (small,)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sojourn", verb, *log],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert without_notices(done.stderr) == ""
    assert done.returncode == 1


FULL = "standard output: cannot be written (No space left on device)"


@pytest.mark.parametrize(
    ("streams", "log", "code", "said"),
    [
        (">&-", "log.swf", 0, ""),
        ("2>&-", "log.swf", 0, ""),
        (">&- 2>&-", "log.swf", 0, ""),
        (">&-", "none.swf", 2, "no such file"),
        ("2>&-", "none.swf", 2, ""),
        ("<&- >&- 2>&-", "none.swf", 2, ""),
        (">/dev/full", "log.swf", 1, FULL),
        ("2>/dev/full", "none.swf", 2, ""),
        (">/dev/full 2>/dev/full", "log.swf", 1, ""),
    ],
)
def test_closed_and_full_streams(small: Path, streams: str, log: str, code: int, said: str) -> None:
    words = f'exec {sys.executable} -m sojourn inspect "$1" {streams}'
    done = subprocess.run(
        ["sh", "-c", words, "sh", small.with_name(log)], capture_output=True, text=True, check=False
    )
    err = without_notices(done.stderr)
    assert done.returncode == code
    assert said in err
    assert len(err.splitlines()) == bool(said)
    assert ("jobs" in done.stdout) == (streams == "2>&-" and code == 0)


def test_results_are_whole_without_streams(small: Path, tmp_path: Path) -> None:
    # Descriptors that are free would be those of the first files that are opened.
    words = f'exec {sys.executable} -m sojourn simulate "$1" --out "$2" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", words, "sh", small, tmp_path / "out"], check=False)
    assert done.returncode == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        summary["provenance"]["files"]
    )


HOMELESS = """
import os, pwd, sys
for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR"):
    os.environ.pop(name, None)
def nobody(*_):
    raise KeyError("uid not found")
pwd.getpwuid = nobody
from sojourn.cli import main
sys.exit(main())
"""


def test_a_user_without_a_home(small: Path, tmp_path: Path) -> None:
    from sojourn._kept import cache_folder

    words = [sys.executable, "-c", HOMELESS, "simulate", small, "--plots", "--out", tmp_path / "o"]
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(cache_folder().parent)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, without_notices(done.stderr)) == (0, "")
    assert (tmp_path / "o" / "overview.png").is_file()


def test_the_installed_command_answers() -> None:
    entry = Path(sys.executable).with_name("sojourn")
    if not entry.exists():
        pytest.skip("the package is not installed with its command")
    done = subprocess.run([entry, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"sojourn {sojourn.__version__}\n")


def test_a_first_compilation_is_announced_once(small: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path / "cache")}
    first = "sojourn: compiling the reader of logs; this takes about 1 s, and happens once"
    for notice in (f"{first} ...\n", ""):
        done = subprocess.run(
            command("inspect", small),
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert (done.returncode, done.stderr) == (0, notice)
