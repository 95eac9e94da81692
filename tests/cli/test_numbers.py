"""Numbers that must not mislead: recorded beside simulated, assumed watts, what is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run

GAP = "the model lacks what the real machine had"
ASSUMED = "assumed 41/18 W per processor"


def line(job: int, submit: int, wait: int, procs: int = 1, queue: int = 1) -> str:
    """A job of 100 s with an estimate of 100 s."""
    return f"{job} {submit} {wait} 100 {procs} -1 -1 {procs} 100 -1 1 1 1 -1 {queue} -1 -1 -1\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Four jobs, one after the other on one processor, which really waited 1,000 s more."""
    path = tmp_path / "log.swf"
    rows = (line(k, 0, 1000 + 100 * k, queue=1 + k % 2) for k in range(4))
    path.write_text("; MaxProcs: 1\n" + "".join(rows))
    return path


def words(text: str) -> str:
    return " ".join(text.split())


def test_simulate_shows_both_waits(run: Run, log: Path) -> None:
    out = words(run("simulate", log).out)
    assert "the 4 jobs whose wait the log records" in out
    assert "recorded: they waited 1,150 1,100 1,300" in out
    assert "simulated: they would wait 150 100 300" in out
    assert GAP in out
    assert "not acted on: 2 queues" in out
    assert "kWh" not in out


def test_compare_shows_both_waits(run: Run, log: Path) -> None:
    out = words(run("compare", log, "--policies", "fcfs,easy").out)
    assert "recorded: they waited 1,150" in out
    assert "easy: they would wait 150" in out
    assert out.count(GAP) == 1
    assert "not acted on: 2 queues" in out
    assert "kWh" not in out
    told = json.loads(run("compare", log, "--policies", "fcfs,easy", "--json").out)
    assert told["recorded"]["easy"]["wait"]["mean"] == 1150.0
    assert told["recorded"]["easy"]["simulated"]["wait"]["mean"] == 150.0
    assert (told["power_model"], told["not_modelled"]) == (ASSUMED, ["2 queues"])


def test_plan_shows_both_waits(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    rows = (line(k, 60 * k, 500, queue=1 + k % 3) for k in range(60))
    path.write_text("; MaxProcs: 3\n" + "".join(rows))
    command = ("plan", path, "--target-wait", "mean=10s", "--growth", 1.1)
    out = words(run(*command).out)
    assert "processors would meet" in out
    assert "recorded: they waited 500 500 500" in out
    assert "easy on 3 processors without growth: they would wait 0" in out
    assert GAP in out
    assert "not acted on: 3 queues" in out
    told = json.loads(run(*command, "--json").out)
    assert told["recorded"]["jobs"] == 60
    assert told["not_modelled"] == ["3 queues"]


def test_stability_says_what_it_leaves_out(run: Run, log: Path) -> None:
    log.write_text("; MaxProcs: 2\n" + "".join(line(k, 60 * k, 0, 1, 1 + k % 2) for k in range(9)))
    command = ("stability", log, "--policy", "fcfs", "--batch", 100)
    assert "not acted on: 2 queues" in run(*command).out
    assert json.loads(run(*command, "--json").out)["not_modelled"] == ["2 queues"]


@pytest.mark.parametrize("given", [("--watts-busy", 90), ("--price", "0.25 EUR")])
def test_energy_and_its_peak_where_they_are_asked_for(run: Run, log: Path, given: tuple) -> None:
    out = words(run("simulate", log, *given).out)
    assert "energy" in out
    assert "peak power" in out
    assert (ASSUMED in out) == (given[0] == "--price")
    table = words(run("compare", log, *given).out)
    assert "peak" in table
    assert (ASSUMED in table) == (given[0] == "--price")


def test_a_sweep_shows_no_invented_energy(run: Run, log: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(f'[workload]\nlog = "{log}"\n')
    command = ("sweep", scenario, "--set", "policy.name=fcfs,easy", "--workers", 1)
    out = run(*command).out
    assert "energy" not in out
    assert "not acted on: 2 queues" in out
    assert f"energy: {ASSUMED}" in run(*command, "--measures", "energy_kwh").out
    told = json.loads(run(*command, "--json").out)
    assert (told["power_model"], told["not_modelled"]) == (ASSUMED, ["2 queues"])
    scenario.write_text(f'[workload]\nlog = "{log}"\n[power]\nbusy = 90\n')
    out = run(*command).out
    assert "energy" in out.splitlines()[1]  # after what runs do not act on
    assert ASSUMED not in out


def test_the_time_of_a_comparison_is_that_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    import sojourn
    from sojourn.engine import drive

    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    load_kernel, begun = drive.kernel_for, []

    def slow_load(*given, **options):
        clock[0] += 9.7  # a kernel is compiled
        return load_kernel(*given, **options)

    def run_to_the_end(self, progress=None):
        begun.append(clock[0])
        clock[0] += 0.5
        to_the_end(self, progress)

    to_the_end = drive.Run.to_the_end
    monkeypatch.setattr(drive, "kernel_for", slow_load)
    monkeypatch.setattr(drive.Run, "to_the_end", run_to_the_end)
    jobs = sojourn.Jobs({"submit": [0, 5], "runtime": [10, 10], "procs": [3, 2]})
    runs = list(sojourn.compare(jobs, 4, ["fcfs", "easy"]))
    assert [run.seconds for run in runs] == pytest.approx([0.5, 0.5])
    assert begun == pytest.approx([9.7, 2 * 9.7 + 0.5])


@pytest.mark.parametrize("verb", ["simulate", "compare", "plan", "stability"])
def test_what_is_taken_for_the_machine_is_said(run: Run, tmp_path: Path, verb: str) -> None:
    rows = "".join(line(k, 60 * k, 0) for k in range(9))
    path = tmp_path / "log.swf"
    extra = {"stability": ("--batch", 100), "plan": ("--target-wait", "mean=1h")}.get(verb, ())
    path.write_text("; MaxNodes: 2\n" + rows)
    said = "sojourn: processors: 2, MaxNodes of its header; the log does not say MaxProcs: give"
    assert run(verb, path, *extra).err.startswith(said)
    path.write_text("; MaxProcs: 2\n" + rows)
    assert run(verb, path, *extra).err == ""
    path.write_text(rows)
    assert run(verb, path, "--procs", 2, *extra).err == ""
    told = run(verb, path, *extra)  # A machine is never guessed for a run.
    assert told.code == 2
    assert "give --procs" in told.err


@pytest.mark.parametrize("watts", [None, (90.0, 40.0)])
def test_the_overview_states_energy_where_watts_were_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, watts: tuple[float, float] | None
) -> None:
    import sojourn
    from sojourn import report
    from sojourn.cli._run import overview_of
    from sojourn.report.figures import page

    drawn = []
    monkeypatch.setattr(page, "overview", lambda *given, **more: drawn.append(given))
    monkeypatch.setattr(report, "save", lambda figure, path: None)
    jobs = sojourn.Jobs({"submit": [0, 5], "runtime": [10, 10], "procs": [3, 2]})
    machine = 4
    if watts is not None:
        machine = sojourn.Cluster.homogeneous(4, power=sojourn.ConstantPower(*watts))
    result = sojourn.simulate(jobs, machine, "fcfs", record=True)
    overview_of(result)["overview.png"](tmp_path / "overview.png")
    ((table, trajectory, _, title),) = drawn
    assert ("energy" in table) == ("power" in trajectory) == (watts is not None)
    assert title == "fcfs on 4 processors, simulated"
