"""The one way in which a run is carried out: read, clean, build, run, measure, write."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..files.access import note_input
from ..jobs import Jobs
from .folder import (
    Write,
    check_folder,
    check_run,
    class_tables,
    ledger_tables,
    provenance,
    write_run,
)
from .inputs import digest_of
from .scenario import Scenario

if TYPE_CHECKING:
    from ..cluster.report import ClusterReport
    from .result import Result

_LOOK_AGAIN = 0.004


def run_scenario(
    scenario: Scenario,
    folder: str | os.PathLike[str] | None = None,
    *,
    pictures: Callable[[Result], Mapping[str, Write]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Run a scenario, and write to a folder what ``sojourn simulate`` writes; see `carry_out`."""
    return carry_out(scenario, folder, Caller(progress=progress), pictures)


class Caller(NamedTuple):
    """Who has a run carried out: what the provenance says of it, and what is called on the way.

    Parameters
    ----------
    command, options : for the provenance; options by default the keys of the scenario.
    more_files : that the scenario is from, by what they are.
    progress : called with (jobs arrived, jobs) from time to time.
    say : called with what is taken for granted.
    meanwhile : what to load while the engine runs.
    """

    command: str = "run"
    options: Mapping[str, Any] | None = None
    more_files: Mapping[str, str] | None = None
    progress: Callable[[int, int], None] | None = None
    say: Callable[[str], None] | None = None
    meanwhile: Callable[[], object] | None = None


def carry_out(
    scenario: Scenario,
    folder: str | os.PathLike[str] | None = None,
    caller: Caller | None = None,
    pictures: Callable[[Result], Mapping[str, Write]] | None = None,
) -> dict[str, Any]:
    """Run a scenario from beginning to end.

    Parameters
    ----------
    scenario : what to run; its table ``run`` says with which seed and what is written.
    folder : for the results; None: nothing is written.
    caller : who has it carried out.
    pictures : of a result, files by name and what draws each; asked where ``run.plots`` is set.

    Returns
    -------
    dict
        The summary with its provenance, as in ``summary.json``.

    Raises
    ------
    OptionError
        With the key, and where it stands, that it is about.
    """
    wanted, asked = scenario.keys.run, caller or Caller()
    check_results(scenario, folder)
    # Whatever can be wrong is found before the log is read.
    scenario.check_parts()
    files = scenario.files | dict(asked.more_files or {})
    digests = digests_ahead(files)
    engine = Ahead(lambda: scenario.preload(decisions=wanted.decisions), _reader_is_loaded)
    others = Ahead(asked.meanwhile or (lambda: None), lambda: engine.is_over)
    clock = [time.perf_counter()]
    jobs = scenario.read_jobs(asked.say)
    if folder is not None:
        check_run(
            folder,
            format=wanted.format,
            trajectory=wanted.trajectory,
            named=scenario.nodes is not None and scenario.nodes.is_named,
            classes=bool(wanted.by),
        )
    clock.append(time.perf_counter())
    engine.wait()
    with scenario.locating():
        result = scenario.run(
            jobs,
            record=wanted.trajectory and folder is not None,
            decisions=wanted.decisions,
            progress=asked.progress,
        )
        clock.append(time.perf_counter())
        others.wait()

    def measure() -> Mapping[str, Any]:
        with scenario.locating():
            return result.summary  # Energy and its cost are reckoned now.

    given = scenario.as_mapping() if asked.options is None else asked.options
    shas = digests.wait()
    origin = origin_of(scenario, jobs, files, shas, asked.command, given)
    if result.cluster.report is not None:
        origin.setdefault("cluster", {"path": scenario.keys.cluster.nodes, "sha256": None})
        origin["cluster"] |= _reading_of(result.cluster.report)
    origin["scenario"] = scenario.digest_given(shas)
    origin["seconds"] = {"read": clock[1] - clock[0], "simulate": clock[2] - clock[1]}
    by = wanted.by or ()
    if folder is None:
        tables = {"classes": class_tables(result, by), "ledger": ledger_tables(result, by)}
        return {**measure(), **{k: v for k, v in tables.items() if v}, "provenance": origin}
    return write_run(
        result,
        folder,
        format=wanted.format,
        trajectory=wanted.trajectory,
        by=by,
        extras=pictures(result) if wanted.plots and pictures is not None else {},
        origin=origin,
        measure=measure,
    )


def check_results(scenario: Scenario, folder: str | os.PathLike[str] | None) -> None:
    """Raise OptionError for what could not be written."""
    wanted, source = scenario.keys.run, scenario.source
    if folder is not None:
        check_folder(folder)
    elif wanted.plots:
        raise source.error(("run", "plots"), "draws into the folder of the results; give --out")
    elif wanted.decisions:
        raise source.error(
            ("run", "decisions"), "are written into the folder of the results; give --out"
        )


def origin_of(
    scenario: Scenario,
    jobs: Jobs,
    files: Mapping[str, str],
    digests: Mapping[str, str | None],
    command: str,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return where results are from: the command, its options, and the files with their digests."""
    origin = provenance(command, dict(options), scenario.keys.run.seed) | {
        name: {"path": path, "sha256": digests[name]} for name, path in files.items()
    }
    origin.setdefault("input", {"model": scenario.keys.workload.model})
    origin["input"]["jobs"] = jobs.report.read
    return origin


def _reading_of(report: ClusterReport) -> dict[str, Any]:
    """What became of the rows of a cluster's file, and what of it does not count."""
    read = report.as_dict()
    gone = [
        f"{remark['what']} ({remark['example']})"
        for remark in read["remarks"]
        if remark["what"].endswith("left out") and remark["example"]
    ]
    counts = {key: read[key] for key in ("kind", "rows", "repaired", "refused")}
    return {**counts, "left_out": gone} if gone else counts


class Ahead:
    """Calls a function in a thread, while compiled code runs.

    Kernels let go of the interpreter lock, so that a thread can import modules and load compiled
    code beside them. It changes nothing but the time: whatever fails here fails again, and is
    reported, where it is needed.

    Parameters
    ----------
    load : what to do.
    when : waited for until it is true (or until `wait` is called): two threads that import parts
        of one library at the same time could each see the other's unfinished.
    """

    def __init__(self, load: Callable[[], Any], when: Callable[[], bool] | None = None) -> None:
        self._load, self._when, self._made = load, when, None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._when is not None and not self._when():
            if self._over.wait(_LOOK_AGAIN):
                return
        with contextlib.suppress(BaseException):
            self._made = self._load()

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        return not self._thread.is_alive()

    def wait(self) -> Any:
        """Return what it has made, None where that failed; what has not begun is left."""
        self._over.set()
        self._thread.join()
        return self._made


def _reader_is_loaded() -> bool:
    """Whether the reader of logs has been loaded: from then on it reads, and imports nothing."""
    kernels = sys.modules.get("sojourn.jobs.formats.scanning")
    return bool(getattr(getattr(kernels, "scan", None), "signatures", None))


def digests_ahead(files: Mapping[str, str]) -> Ahead:
    """Compute the SHA-256 of files beside other work, by what they are."""
    for path in files.values():
        note_input(path)
    return Ahead(lambda: {name: digest_of(path) for name, path in files.items()})
