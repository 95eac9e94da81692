"""Running the command line inside the test process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sojourn.cli import main


class Told(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Told]


def without_notices(err: str) -> str:
    """Leave out what is said where kernels are compiled for the first time."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("sojourn: compiling "))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> Told:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Told(code, out, without_notices(err))

    return call


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run a command that must fail with one line and the given code; return the line."""

    def call(*arguments: object, code: int = 2) -> str:
        told = run(*arguments)
        assert told.code == code, told
        assert told.out == ""
        lines = told.err.splitlines()
        assert len(lines) == 1, told.err
        assert lines[0].startswith("sojourn: error: ")
        return lines[0]

    return call


def swf_line(job: int, submit: float, runtime: float, procs: int, estimate: float = -1) -> str:
    return f"{job} {submit} -1 {runtime} {procs} -1 -1 {procs} {estimate} -1 1 1 1 -1 1 -1 -1 -1"


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., Path]:
    """Write jobs (job, submit, runtime, procs, estimate) as a log for 4 processors."""

    def write(
        *jobs: tuple[float, ...], header: str = "; MaxProcs: 4\n", name: str = "log.swf"
    ) -> Path:
        path = tmp_path / name
        path.write_text(header + "".join(swf_line(*job) + "\n" for job in jobs))
        return path

    return write


# 4 processors. FCFS: job 2 waits for job 1, job 3 behind it; EASY lets job 3 run beside job 1.
SMALL = ((1, 0, 10, 3, 10), (2, 1, 5, 4, 5), (3, 2, 8, 1, 8))


@pytest.fixture
def small(write_log: Callable[..., Path]) -> Path:
    return write_log(*SMALL)
