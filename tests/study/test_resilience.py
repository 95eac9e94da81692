"""Whatever is killed, a study that is called again ends with the same rows as one left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from distributed import Client, KilledWorker
from studies import GRID, REPLICATIONS, Awaited, small_scenario, whole_study

from sojourn.errors import RunError
from sojourn.study import read_runs, runners, sweep, work_left
from sojourn.study.outcome import Tally

SCRIPT = Path(__file__).with_name("studies.py")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("undisturbed")
    whole_study(folder, workers=1)
    return rows_of(folder)


def rows_of(folder: Path) -> pd.DataFrame:
    """What anybody reads who does not know us, and nothing unfinished beside it."""
    assert len(list((folder / "runs").iterdir())) == 1
    return pd.read_parquet(folder / "runs")


def case(name: str, folder: Path) -> int:
    """Run a case of the script in a process of its own; return what it counted."""
    done = subprocess.run(
        [sys.executable, "-W", "error", SCRIPT, name, folder],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_drivers_killed_at_random(tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    assert case("kill_drivers", tmp_path / "study") >= 5
    last = whole_study(tmp_path / "study", workers=1)
    assert last.done == len(undisturbed) > last.new
    pd.testing.assert_frame_equal(rows_of(tmp_path / "study"), undisturbed, check_exact=True)


def test_driver_killed_at_each_step(tmp_path: Path) -> None:
    died = case("kill_at_each_step", tmp_path)
    folders = sorted(tmp_path.iterdir())
    assert died == len(folders) - 1 > 10
    alone = rows_of(tmp_path / "0")
    for folder in folders:
        pd.testing.assert_frame_equal(rows_of(folder), alone, check_exact=True)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> type[Awaited]:
    """Studies begin here, and go on in two processes after their second run."""
    monkeypatch.setattr(runners, "Processes", Awaited)
    monkeypatch.setattr(runners, "_WORTH_IT", -1.0)
    monkeypatch.setattr(runners, "usable_processors", lambda: 2)
    return Awaited


UNGUARDED = """
import sys

print("imported")
from sojourn.study import runners, sweep
from studies import Awaited, whole_study

runners._WORTH_IT, runners.Processes = -1.0, Awaited
assert whole_study(None, workers=2).failed == 0
assert Awaited.latest.process_ids == []
assert not {"dask", "distributed"} & set(sys.modules)
"""
PLANTED = "from pathlib import Path; Path(__file__).with_suffix('.seen').touch()\n"


def test_a_script_needs_no_guard_and_processes_import_nothing_of_the_folder(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "script.py"
    script.parent.mkdir()
    script.write_text(UNGUARDED)
    here = tmp_path / "here"
    here.mkdir()
    for name in ("json", "numba", "sojourn", "sitecustomize"):
        (here / f"{name}.py").write_text(PLANTED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    # Without a standard input, whose handle would be the first that is free.
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$1" <&-', sys.executable, script],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "imported\n", "")
    assert list(here.glob("*.seen")) == []


def test_where_processes_cannot_be_started_runs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: runners.Growing) -> None:
        raise RunError("no")

    monkeypatch.setattr(runners.Growing, "_several", fail)
    monkeypatch.setattr(runners, "_WORTH_IT", -1.0)
    monkeypatch.setattr(runners, "usable_processors", lambda: 2)
    with pytest.warns(RuntimeWarning, match="runs go on in this process alone: no"):
        study = sweep(small_scenario(), GRID, 3)
    assert study.done == len(study.plan)
    with pytest.raises(RunError, match="no"):
        sweep(small_scenario(), GRID, 3, workers=2)


def test_workers_killed_together_and_alone(
    processes: type[Awaited],
    tmp_path: Path,
    undisturbed: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Single runs: most are still to be sent, and done by workers that are started for others.
    monkeypatch.setattr(work_left, "_BATCH", 0.0)
    monkeypatch.setattr(work_left, "_HANDLING", 0.0)
    killed: list[int] = []

    def kill(tally: Tally) -> None:
        if tally.done > 2 and len(killed) < 3:
            alive = [each for each in processes.latest.process_ids if each not in killed]
            for process in alive[: 2 if not killed else 1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)

    study = whole_study(tmp_path / "study", progress=kill)
    assert len(killed) == 3
    assert study.failed == 0
    pd.testing.assert_frame_equal(rows_of(tmp_path / "study"), undisturbed, check_exact=True)


def test_a_driver_killed_with_workers_of_its_own(tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    folder = tmp_path / "study"
    driver = subprocess.Popen(
        [sys.executable, SCRIPT, "kill_itself", folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert driver.stdout is not None
    told = driver.stdout.readline().split()
    assert driver.wait(timeout=240) == -signal.SIGKILL
    driver.stdout.close()
    assert len(set(told)) == 2
    deadline = time.monotonic() + 60
    while left := session(driver.pid):
        assert time.monotonic() < deadline, f"processes {left} live on"
        time.sleep(0.05)
    assert 0 < read_runs(folder).num_rows < len(undisturbed)
    last = whole_study(folder, workers=1)
    assert last.done == len(undisturbed) > last.new > 0
    pd.testing.assert_frame_equal(rows_of(folder), undisturbed, check_exact=True)


def session(leader: int) -> list[int]:
    """Processes that were started by one, directly or not, and live."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name, which may hold anything: state, parent, group, session.
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
            if int(of) == leader and state != "Z":
                found.append(int(stat.parent.name))
    return found


DEADLY = """
import os, signal

os.kill(os.getpid(), signal.SIGKILL)
"""
DIED = "its worker died each time; it may need more memory than there is"


def deadly_grid(folder: Path) -> dict[str, list[str]]:
    """Of four orders, one kills each process that reads it."""
    (folder / "deadly.py").write_text(DEADLY)
    return {"policy.order": ["fcfs", "sjf", f"{folder / 'deadly.py'}:score", "ljf"]}


def check_deadly(table: pd.DataFrame, runs: int) -> None:
    deadly = table["policy.order"].str.endswith("deadly.py:score")
    assert (len(table), deadly.sum()) == (4 * runs, runs)
    assert set(table.loc[deadly, "error"]) == {DIED}
    assert set(table.loc[~deadly, "status"]) == {"done"}


def test_a_run_that_kills_its_worker_fails_alone(processes: type[Awaited], tmp_path: Path) -> None:
    study = sweep(small_scenario(), deadly_grid(tmp_path), 1)
    check_deadly(study.table, 1)


class Cluster(Client):  # type: ignore[misc]
    """A Dask cluster without one: what is sent is done at once, and the deadly run kills."""

    status = "running"

    def __init__(self) -> None:
        self.sent: list[int] = []

    def __del__(self) -> None:
        pass

    def nthreads(self) -> dict[str, int]:
        return {"worker": 2}

    def scatter(self, data: Any, **options: Any) -> Any:
        return data

    def cancel(self, futures: Any, **options: Any) -> None:
        assert futures == []

    def submit(self, function: Any, bundle: Any, batch: Any, **options: Any) -> Any:
        self.sent.append(len(batch))
        return Answer(function, bundle, batch)


class Answer:
    def __init__(self, function: Any, bundle: Any, batch: Any) -> None:
        self.key, self._work, self._batch = f"{id(self)}", (function, bundle, batch), batch

    def add_done_callback(self, call: Any) -> None:
        call(self)

    def result(self, timeout: float) -> Any:
        if any("deadly.py" in run.values[0] for run in self._batch):
            raise KilledWorker("run", None, 3)
        function, *arguments = self._work
        return function(*arguments)


def test_a_run_that_kills_workers_of_a_cluster_fails_alone(tmp_path: Path) -> None:
    client = Cluster()
    check_deadly(sweep(small_scenario(), deadly_grid(tmp_path), 8, client=client).table, 8)
    assert max(client.sent) > 1
    assert client.sent[-8:] == [1] * 8


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def dask(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler or workers, started by themselves; killed in the end."""
    environment = {**os.environ, "DASK_DISTRIBUTED__ADMIN__LOG_FORMAT": "%(message)s"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def scheduler(port: int) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    return dask("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")


def workers(address: str) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    return dask("worker", address, *options)


def test_scheduler_of_its_own_and_its_restart(tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(small_scenario().as_toml())
    folder = tmp_path / "study"
    command = [*sweep_command(scenario, REPLICATIONS), "--dask", address]
    with contextlib.ExitStack() as cluster:
        first = cluster.enter_context(scheduler(port))
        second = cluster.enter_context(workers(address))
        driver = subprocess.Popen([*command, "--out", folder], stderr=subprocess.PIPE)
        wait_for_parts(folder / "runs")
        os.killpg(first.pid, signal.SIGKILL)
        os.killpg(second.pid, signal.SIGKILL)
        first.wait()
        assert 0 < read_runs(folder).num_rows < len(undisturbed)
        cluster.enter_context(scheduler(port))
        cluster.enter_context(workers(address))
        # The driver takes up the new scheduler, which knows nothing of the study.
        _, told = driver.communicate(timeout=240)
        assert driver.returncode == 0, told
    pd.testing.assert_frame_equal(rows_of(folder), undisturbed, check_exact=True)


def sweep_command(scenario: Path, replications: int) -> list[str]:
    axes = [f"{k}={v if isinstance(v, str) else ','.join(v)}" for k, v in GRID.items()]
    sets = [part for axis in axes for part in ("--set", axis)]
    verb = [sys.executable, "-m", "sojourn", "sweep", str(scenario)]
    return [*verb, *sets, "--replications", str(replications)]


def wait_for_parts(runs: Path) -> None:
    deadline = time.monotonic() + 120
    while not (runs.is_dir() and any(runs.glob("part-*"))):
        assert time.monotonic() < deadline, "the study never began"
        time.sleep(0.005)


def test_an_interrupt_is_heard_where_processes_have_just_begun(monkeypatch) -> None:
    """Runs go on in this process while others start: what is done is handed over, then it ends."""
    came: list[int] = []

    class Interrupted:
        def __init__(self, bundle: object, *, shared: bool) -> None:
            pass

        def run(self, number: int) -> int:
            if number == 4:
                came.append(number)
                raise KeyboardInterrupt
            return number

    monkeypatch.setattr(runners, "Worker", Interrupted)
    monkeypatch.setattr(runners.Growing, "_start", lambda self: None)
    monkeypatch.setattr(runners.Growing, "_is_ready", lambda self: bool(came))
    rows: list[int] = []
    with contextlib.ExitStack() as stack:
        growing = runners.Growing(None, 2, stack, required=False)
        with pytest.raises(KeyboardInterrupt):
            rows.extend(chain.from_iterable(growing.run(range(10))))
    assert rows == [0, 1, 2, 3]


# A shell lets what it runs in the background ignore Ctrl-C, and its children inherit that.
ATTENTIVE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from sojourn.cli import main
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def test_interrupted_at_the_terminal(tmp_path: Path) -> None:
    scenario, script = tmp_path / "scenario.toml", tmp_path / "attentive.py"
    scenario.write_text(small_scenario().as_toml())
    script.write_text(ATTENTIVE)
    folder = tmp_path / "study"
    verb = sweep_command(scenario, 1000)[3:]
    command = [sys.executable, script, *verb, "--workers", "2", "--out", str(folder)]
    # As Ctrl-C does, the signal goes to the driver and to its workers.
    driver = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_for_parts(folder / "runs")
    os.killpg(driver.pid, signal.SIGINT)
    out, err = driver.communicate(timeout=120)
    assert (driver.returncode, out) == (130, "")
    done = len(rows_of(folder))
    assert err == (
        f"sojourn: interrupted; {done:,} of 12,000 runs are in {folder}; "
        "the same command goes on from there\n"
    )
    assert 0 < done < 12_000


def listening(processes: Sequence[int]) -> list[str]:
    """Sockets of processes to which others can connect, as Linux lists them."""
    waiting = {}
    for name, column, state in (("tcp", 3, "0A"), ("tcp6", 3, "0A"), ("unix", 3, "00010000")):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[column] == state:
                inode = cells[6] if name == "unix" else cells[9]
                waiting[f"socket:[{inode}]"] = f"{name} {line.strip()}"
    handles = [handle for each in processes for handle in Path(f"/proc/{each}/fd").iterdir()]
    return [waiting[target] for target in map(target_of, handles) if target in waiting]


def target_of(handle: Path) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(handle)
    return ""


def test_listening_sockets_are_found(tmp_path: Path) -> None:
    with socket.socket() as port, socket.socket(socket.AF_UNIX) as file:
        port.bind(("127.0.0.1", 0))
        file.bind(str(tmp_path / "file"))
        assert not any(str(tmp_path) in each for each in listening([os.getpid()]))
        before = len(listening([os.getpid()]))
        port.listen()
        file.listen()
        assert len(listening([os.getpid()])) == before + 2


INTRUDE = "kill -0 $0; ls /proc/$0/fd; cat /proc/$0/environ; cat < /proc/$0/mem"


def intruder(process: int) -> tuple[str, int]:
    """What another user hears from a process, and how often that is refused; only root can ask."""
    tried = subprocess.run(
        ["sh", "-c", INTRUDE, str(process)],
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    return tried.stdout, tried.stderr.count("ermi")


def test_nobody_else_can_connect_to_the_processes_of_a_study(
    processes: type[Awaited], tmp_path: Path, undisturbed: pd.DataFrame
) -> None:
    secret = tmp_path / "secret"
    looked = []

    def look(tally: Tally) -> None:
        if tally.done > 2 and not looked:
            workers = processes.latest.process_ids
            assert len(set(workers)) == 2
            looked.append(listening([os.getpid(), *workers]))
            for process in workers:
                opened = [target_of(each) for each in Path(f"/proc/{process}/fd").iterdir()]
                assert str(secret) not in opened
                assert sum(each.startswith("socket:") for each in opened) == 1
                if os.geteuid() == 0:
                    assert intruder(process) == ("", 4)

    with open(secret, "w") as file:
        os.set_inheritable(file.fileno(), True)
        whole_study(tmp_path / "study", workers=2, progress=look)
    assert looked == [[]]
    pd.testing.assert_frame_equal(rows_of(tmp_path / "study"), undisturbed, check_exact=True)


def test_a_second_driver_hears_of_the_first(tmp_path: Path) -> None:
    grid = {"policy.name": ["fcfs"]}
    reasons = []

    def try_as_well(tally: Tally) -> None:
        with pytest.raises(RunError) as refused:
            sweep(small_scenario(), grid, out=tmp_path / "study", workers=1)
        reasons.append(str(refused.value))

    sweep(small_scenario(), grid, out=tmp_path / "study", workers=1, progress=try_as_well)
    (reason,) = reasons
    assert f"process {os.getpid()} on" in reason
    assert "is writing to this study; wait until it ends, or name another folder" in reason
    assert len(rows_of(tmp_path / "study")) == 1
