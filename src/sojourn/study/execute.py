"""Carrying out runs, in whatever process: the same rows come back from each.

A run that fails gives a row too, with the error in it. Only what would fail for every run, such as
another version of the package, is raised.
"""

from __future__ import annotations

import contextlib
import ctypes
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..__about__ import __version__
from ..errors import RunError, SojournError
from ..measures.entry import Measure
from ..measures.registry import own_measures, replace_own
from ..run.inputs import Stamp, digest_of, stamp_of
from .plan import PlannedRun, at_point, run_name, spelt

if TYPE_CHECKING:
    from ..jobs import Jobs
    from ..run.scenario import Scenario

DONE, FAILED = "done", "failed"

Row = dict[str, Any]
"""A run's name, status, error, and measures by name (under ``measures``)."""

_POINTS_KEPT = 1000
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


@dataclass(frozen=True, eq=False)
class Bundle:
    """All that runs of a study have in common: what a process needs once.

    `scenario` is without the values that are varied. `log` are the jobs that runs draw from, where
    they are read from a file, and `log_digest` is its SHA-256. `measures` are those that users
    registered, pickled: other processes have not seen their code.
    """

    scenario: Scenario
    keys: tuple[str, ...]
    log: Jobs | None = None
    log_digest: str | None = None
    version: str = __version__
    measures: bytes = b""

    @classmethod
    def of(cls, scenario: Scenario, keys: Sequence[str]) -> Bundle:
        """Return what the runs of a study have in common; a log is read here and nowhere else.

        Where what is varied could change how it is read, each worker reads it.
        """
        varied = any(map(scenario.reads_by, keys))
        log = None if varied else scenario.log()
        # After it was read: of a log that has changed since the names of runs were made, none fits.
        digest = None if log is None else digest_of(scenario.files["input"])
        return cls(scenario, tuple(keys), log, digest, measures=_pickled(own_measures()))

    def register_measures(self) -> None:
        """Know the measures of the study, and no others, in a process that is not its driver."""
        replace_own(pickle.loads(self.measures) if self.measures else ())


class _Point:
    """A scenario with the values of a point, and its files as they were when they were right."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._files = tuple(dict.fromkeys(scenario.files_to_open.values()))
        self._stamps: tuple[Stamp, ...] | None = None if scenario.files else ()
        self.is_known = False

    def check(self, run: PlannedRun) -> None:
        """Raise RunError where files are not those that a run has its name from.

        They are hashed once; as long as they stay as they are a run costs no more than a look.
        """
        self.is_known = True
        stamps = tuple(map(stamp_of, self._files))
        if stamps == self._stamps:
            return
        if run_name(self.scenario.digest, run.seed) != run.run_id:
            files = " or ".join(self._suspects(stamps))
            raise RunError(
                f"{files}: not as it was when the study began; run it again, with the same files "
                "everywhere"
            )
        self._stamps = stamps

    def _suspects(self, stamps: tuple[Stamp, ...]) -> list[str]:
        """Files that may be others: of those that were right once, the ones that have changed."""
        if self._stamps is None:
            return list(dict.fromkeys(self.scenario.files.values()))
        looked = zip(self._files, self._stamps, stamps, strict=True)
        return [file for file, then, now in looked if then != now]


class Worker:
    """Carries out runs one after the other, and keeps the jobs for those that share them.

    `shared` says that other processes carry out runs beside this one.
    """

    def __init__(self, bundle: Bundle, *, shared: bool = False) -> None:
        if bundle.version != __version__:
            raise RunError(
                f"a worker has sojourn {__version__}, the study was begun with {bundle.version}; "
                "install the same version everywhere"
            )
        _keep_memory()
        self._scenario = bundle.scenario.with_log(bundle.log, bundle.log_digest)
        self._keys = bundle.keys
        self._shared = shared
        self._points: dict[str, _Point] = {}
        self._jobs: Jobs | None = None
        self._draw = ""

    def get_ready(self) -> None:
        """Load the compiled code of the scenario as it is, without the values of a point."""
        with _one_at_a_time():
            self._scenario.preload()

    def run(self, run: PlannedRun) -> Row:
        """Carry out a run; what goes wrong is in the row."""
        try:
            point = self._at(run.values)
            scenario = point.scenario
            if point.is_known:  # Else what is wrong with it is reported first.
                point.check(run)
            if self._jobs is None or self._draw != run.draw:
                self._jobs = None  # The memory of the last jobs can go first.
                self._jobs, self._draw = scenario.workload(run.seed), run.draw
            measures = scenario.summary(scenario.run(self._jobs, run.seed))
            point.check(run)  # Some files are opened by the run itself.
        except Exception as error:
            if isinstance(error, RunError):
                self._jobs = None  # They may be of another file.
            return failed_row(run, error)
        return {"run_id": run.run_id, "status": DONE, "error": None, "measures": measures}

    def _at(self, values: Sequence[Any]) -> _Point:
        key = spelt(values)
        if key not in self._points:
            if len(self._points) >= _POINTS_KEPT:
                self._points.clear()
            self._points[key] = _Point(at_point(self._scenario, self._keys, values))
            if self._shared:
                with _one_at_a_time():
                    self._points[key].scenario.preload()
        return self._points[key]


def _pickled(measures: Sequence[Measure]) -> bytes:
    """Return measures with their functions, those of notebooks and scripts included."""
    if not measures:
        return b""
    from numba import cloudpickle

    return bytes(cloudpickle.dumps(tuple(measures)))


def failed_row(run: PlannedRun, error: BaseException | str) -> Row:
    """Return the row of a run that failed, with the error in one line."""
    text = str(error)
    if not isinstance(error, SojournError | str):
        text = f"{type(error).__name__}: {error}"
    one_line = " ".join(text.split())
    return {"run_id": run.run_id, "status": FAILED, "error": one_line, "measures": {}}


def _keep_memory() -> None:
    """Have the C library keep what a run gives back: the next one needs as much again.

    Otherwise up to a third of the time of a run goes into pages that are returned and asked for
    again. Other C libraries than GNU's do as they like.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold the folder of compiled code, so that processes do not compile the same code at once.

    Where the folder or its locks are missing they do, and nothing else is lost.
    """
    from filelock import FileLock

    from ..jit import cache_folder

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(FileLock(cache_folder() / "compiling.lock", fallback_to_soft=False))
        yield
