"""Facts are of the log as it is."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sojourn.cli import main
from sojourn.jobs import Jobs
from sojourn.jobs.facts import facts, local_clock
from sojourn.jobs.header import Header
from sojourn.jobs.recorded import recorded_occupancy


def made(**columns):
    count = len(next(iter(columns.values())))
    header = columns.pop("header", ["MaxProcs: 4"])
    ones = [1] * count
    plain = {"submit": np.arange(count), "runtime": ones, "procs": ones}
    return Jobs({**plain, **columns}, header=header)


def test_estimates_are_counted_before_they_are_repaired():
    told = facts(made(estimate=[-1, 0, 10, -1], runtime=[5, 5, 5, 5]))
    assert told["estimates"]["known"] == 1
    assert told["jobs"] == 4


def test_a_runtime_beyond_its_estimate_is_not_cut():
    told = facts(made(estimate=[10, 10, 10], runtime=[5, 25, -1]))["estimates"]
    assert (told["accuracy"]["max"], told["over_limit"]) == (2.5, 1)
    assert (told["known"], told["accuracy"]["min"]) == (3, 0.5)


def test_what_is_not_known_is_no_number():
    told = facts(made(runtime=[-1, 10], procs=[2, -1]))
    assert told["processor_seconds"] == 0
    assert told["distributions"]["runtime"] == pytest.approx(dict.fromkeys(
        ("mean", "min", "p5", "p25", "median", "p75", "p95", "max"), 10.0
    ))  # fmt: skip
    assert told["distributions"]["procs"]["min"] == 2


def test_who_is_busiest_by_name():
    jobs = made(user=[3, 3, 9, -1], header=["User: 3 anna", "MaxProcs: 4"])
    told = facts(jobs)["users"]
    assert told["count"] == 2
    assert told["busiest"] == [
        {"id": 3, "name": "anna", "share": 0.5},
        {"id": 9, "name": "9", "share": 0.25},
    ]
    assert facts(jobs)["accounts"] == {"count": 0}


@pytest.mark.parametrize(
    ("header", "given", "size", "source"),
    [
        (["MaxProcs: 64", "MaxNodes: 16"], None, 64, "MaxProcs"),
        (["MaxProcs: -1", "MaxNodes: 16"], None, 16, "MaxNodes"),
        (["Note: nothing"], None, 7, "widest job"),
        (["MaxProcs: 64"], 32, 32, "given"),
    ],
)
def test_what_tells_the_size_of_the_machine(header, given, size, source):
    told = facts(made(procs=[1, 7], header=header), given)
    assert (told["procs"], told["size_source"]) == (size, source)


def test_processors_in_use_are_those_at_each_instant():
    """Against a plain count at every start; an end at the same instant comes first."""
    rng = np.random.default_rng(5)
    submit, wait = rng.integers(0, 40, 60), rng.integers(-1, 6, 60)
    runtime, procs, allocated = (rng.integers(-1, 9, 60) for _ in range(3))
    jobs = Jobs({"submit": submit, "wait": wait, "runtime": runtime, "procs": procs,
                 "allocated": allocated})  # fmt: skip
    held = [
        (s + w, s + w + r, a if a > 0 else p)
        for s, w, r, p, a in zip(submit, wait, runtime, procs, allocated, strict=True)
        if w >= 0 and r > 0 and (a > 0 or p > 0)
    ]
    instants = sorted({begin for begin, _, _ in held})
    busy = {t: sum(n for begin, end, n in held if begin <= t < end) for t in instants}
    peak = max(busy.values())
    found = recorded_occupancy(jobs, 10)
    assert (found["peak"], found["jobs"]) == (peak, len(held))
    assert found["peak_time"] == min(t for t in instants if busy[t] == peak)
    area = sum((end - begin) * n for begin, end, n in held)
    span = max(end for _, end, _ in held) - min(begin for begin, _, _ in held)
    assert found["mean"] == pytest.approx(area / span)
    assert found["overlap"] == (peak > 10)


def test_jobs_that_follow_each_other_do_not_overlap():
    jobs = made(submit=[0, 10], wait=[0, 0], runtime=[10, 10], procs=[4, 4])
    found = recorded_occupancy(jobs, 4)
    assert (found["peak"], found["overlap"], found["mean_utilisation"]) == (4, False, 1.0)
    assert recorded_occupancy(made(procs=[1, 2]), 4) is None


def test_a_clock_without_a_zone_is_not_called_utc():
    assert local_clock(Header(["UnixStartTime: 1000"])) == (1000.0, "clock of the log")
    assert local_clock(Header(["UnixStartTime: 1000", "TimeZone: 3600"])) == (4600.0, "local time")
    zone = Header(["UnixStartTime: 1000", "TimeZoneString: UTC"])
    assert local_clock(zone) == (1000.0, "UTC")


def _inspect(tmp_path, capsys, header, *options):
    rows = [
        "1 0 10 100 3 -1 -1 4 50 -1 1 1 1 -1 1 -1 -1 -1",
        "2 5 30 100 2 -1 -1 2 -1 -1 1 2 1 -1 1 -1 -1 -1",
    ]
    (tmp_path / "log.swf").write_text("\n".join([*header, *rows]) + "\n")
    assert main(["inspect", str(tmp_path / "log.swf"), *options]) == 0
    return capsys.readouterr().out


def test_inspect_flags_jobs_that_overlap(tmp_path, capsys):
    header = ["; MaxProcs: 4", "; UnixStartTime: 0", "; Queue: 1 batch"]
    out = _inspect(tmp_path, capsys, header)
    assert "! the recorded jobs overlap to 5 processors, more than the 4 of the machine" in out
    assert "at second 35" in out
    assert "50.0 % known" in out
    assert "95 %" in out.partition("waits")[2].splitlines()[0]
    told = json.loads(_inspect(tmp_path, capsys, header, "--json"))
    assert (told["occupancy"]["peak"], told["occupancy"]["overlap"]) == (5, True)
    assert "overlap" not in _inspect(tmp_path, capsys, header, "--procs", "5")


def test_inspect_gives_the_date_of_the_peak(tmp_path, capsys):
    header = ["; MaxProcs: 4", "; UnixStartTime: 1000000000", "; TimeZoneString: Europe/Stockholm"]
    assert "on 2001-09-09 03:47:15 (Europe/Stockholm)" in _inspect(tmp_path, capsys, header)


def test_inspect_takes_what_was_used_at_once_for_the_machine(tmp_path, capsys):
    out = _inspect(tmp_path, capsys, ["; Note: no size"])
    words = "does not say MaxProcs: 5 processors are the most that its jobs used at once; give"
    assert words in out
    assert "of 5 processors" in out.partition("load")[2].splitlines()[0]
    assert "at most 5 (100.0 %)" in out


def test_inspect_takes_the_widest_job_for_the_machine_where_no_wait_is_recorded(tmp_path, capsys):
    log = tmp_path / "log.csv"
    log.write_text("submit,runtime,procs\n0,10,3\n0,10,4\n")
    assert main(["inspect", str(log)]) == 0
    words = "4 processors are those of the widest job; give --procs"
    assert words in capsys.readouterr().out


def test_ends_and_starts_that_only_rounding_parts_do_not_overlap():
    """0.1 + 0.2 is more than 0.3, at which the next job starts."""
    jobs = made(submit=[0.1, 0.3], wait=[0, 0], runtime=[0.2, 1.0], procs=[2, 3])
    assert 0.1 + 0.2 > 0.3
    assert recorded_occupancy(jobs, 3)["peak"] == 3
