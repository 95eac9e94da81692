"""Whatever is killed, a study that is called again ends with the same rows as one left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from studies import GRID, REPLICATIONS, small_scenario, whole_study

from sojourn.errors import RunError
from sojourn.study import read_runs, runners, sweep
from sojourn.study.dask_runner import local_client

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
    assert died == len(folders) - 1 > 20
    alone = rows_of(tmp_path / "0")
    for folder in folders:
        pd.testing.assert_frame_equal(rows_of(folder), alone, check_exact=True)


def test_the_same_rows_from_several_processes(tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    assert case("grow", tmp_path / "study") == 1
    pd.testing.assert_frame_equal(rows_of(tmp_path / "study"), undisturbed, check_exact=True)


UNGUARDED = """
import time
from sojourn.study import Scenario, execute, runners, sweep

class Slow(execute.Worker):
    def run(self, run):
        time.sleep(0.5)
        return super().run(run)

runners._WORTH_IT, runners.Worker = 0, Slow
scenario = Scenario.from_mapping(
    {"workload": {"model": "lublin", "jobs": 20, "load": 0.7}, "cluster": {"procs": 64}}
)
sweep(scenario, {"policy.name": ["easy"]}, 100, workers=2)
"""


def test_a_script_that_starts_over_when_imported(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 1
    assert "processes cannot be started (Nanny failed to start.); a script of yours must keep" in (
        done.stderr
    )


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


@pytest.mark.parametrize(("name", "died"), [("kill_one_worker", 1), ("kill_both_workers", 2)])
def test_workers_killed(name: str, died: int, tmp_path: Path, undisturbed: pd.DataFrame) -> None:
    assert case(name, tmp_path / "study") == died
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
    last = whole_study(folder, workers=2)
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


def test_a_run_that_kills_its_worker_fails_alone(tmp_path: Path) -> None:
    assert case("kill_by_run", tmp_path / "case") == 8
    table = rows_of(tmp_path / "case" / "study")
    deadly = table["policy.order"].str.endswith("deadly.py:score")
    assert set(table.loc[deadly, "status"]) == {"failed"}
    assert set(table.loc[deadly, "error"]) == {
        "its worker died each time; it may need more memory than there is"
    }
    assert set(table.loc[~deadly, "status"]) == {"done"}


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
    options = ("--nworkers", "3", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
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
        done = subprocess.run([*command, "--out", tmp_path / "whole"], check=False, timeout=240)
        assert done.returncode == 0
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
    for study in (tmp_path / "whole", folder):
        pd.testing.assert_frame_equal(rows_of(study), undisturbed, check_exact=True)


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


def test_a_local_cluster_keeps_to_itself(recwarn: pytest.WarningsRecorder) -> None:
    """No port that others may have, nor an address at which others could reach it."""
    with socket.socket() as taken:
        with contextlib.suppress(OSError):
            taken.bind(("", 8787))
            taken.listen()
        with local_client(1) as client:
            served = client.cluster.scheduler.http_server
            addresses = {each.getsockname() for each in served._sockets.values()}
            assert sweep(small_scenario(), GRID, 1, client=client).failed == 0
    assert {host for host, _ in addresses} == {"127.0.0.1"}
    assert [str(each.message) for each in recwarn] == []


def test_a_second_driver_is_told_of_the_first(tmp_path: Path) -> None:
    told = []

    def try_as_well(tally: object) -> None:
        done = subprocess.run(
            [sys.executable, SCRIPT, "whole_study", tmp_path / "study"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        told.append(done.stderr.splitlines()[-1])

    sweep(
        small_scenario(),
        {"policy.name": ["fcfs"]},
        out=tmp_path / "study",
        workers=1,
        progress=try_as_well,
    )
    assert f"process {os.getpid()} on" in told[0]
    assert "is writing to this study; wait until it ends, or name another folder" in told[0]
    assert len(rows_of(tmp_path / "study")) == 1
