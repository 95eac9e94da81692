"""The engine: its speed beside that of an earlier version, and how cost grows.

    python bench/engine.py [quick] [--against PATH] [NAME ...]

PATH is the root of a checkout of the earlier version. Each version runs in a process of its own;
they take turns, so that whatever else the machine does strikes both alike. Times are those of the
thread that runs the kernel; figures are medians. Schedules must be the same.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from cases import DEEP, DEPTHS, SIZES, cases
from measure import RESULTS, console, note, rows
from rich.table import Table

HERE = Path(__file__).resolve().parent
SHARES = {"counted": 0.9, "named 16": 0.8, "named 1000": 0.8, "ricc named": 0.8}
"""Speed that is wanted, as a share of the earlier version's."""
SPEEDS = {
    "three": 100_000,
    "ricc conservative": 50_000,
    "ricc sjf+conservative": 40_000,
    "ricc fcfs+easy:4": 200_000,
    "ricc wfp3+easy": 50_000,
}
"""Jobs per second that are wanted."""
LONGEST = {"ricc all": 20.0}
"""Seconds that are allowed."""
ALONE = {"three"}
"""What an earlier version may run, but without acting on all that jobs ask for."""
WORDS = {
    "counted": "EASY on counted processors",
    "named 16": "EASY on 16 nodes of 16 cores",
    "named 1000": "EASY on 1,000 nodes of 16 cores",
    "three": "cores, memory and GPUs of 1,000 nodes, EASY",
    "ricc named": "RICC on 512 nodes of 16 cores, EASY",
    "ricc all": "RICC, all jobs, conservative",
}


class Version:
    """A process that runs cases with the sources of one version."""

    def __init__(self, root: Path | None, quick: bool) -> None:
        environment = dict(os.environ)
        if root is not None:
            environment["PYTHONPATH"] = str(root / "src")
        command = [sys.executable, str(HERE / "cases.py"), *(["quick"] if quick else [])]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, name: str) -> dict[str, Any]:
        """Run a case once."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{name}: the process that runs it has ended")
        return json.loads(line)

    def close(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Bench:
    """Versions that take turns, and what they have measured."""

    def __init__(self, against: Path | None, quick: bool) -> None:
        self.quick = quick
        self.ours = Version(None, quick)
        self.theirs = None if against is None else Version(against, quick)

    def close(self) -> None:
        """Let all processes end."""
        for version in (self.ours, self.theirs):
            if version is not None:
                version.close()

    def turns(self, name: str, repeat: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Run a case in turns; medians of ours, and of the earlier version's if there is one."""
        found: list[dict[str, Any]] = []
        theirs: list[dict[str, Any]] = []
        for _ in range(repeat):
            found.append(self.ours.run(name))
            if self.theirs is not None and name not in ALONE:
                theirs.append(self.theirs.run(name))
        if "problem" in found[0]:
            raise SystemExit(f"{name}: {found[0]['problem']}")
        return _median(found), _median(theirs) if theirs else None

    def side_by_side(self, name: str) -> None:
        """Measure a case, and compare it with what is wanted."""
        ours, theirs = self.turns(name, 1 if self.quick or name == "ricc all" else 5)
        words = WORDS.get(name, f"{name.replace('ricc', 'RICC,')}, user estimates")
        speed = ours["jobs"] / ours["seconds"]
        seconds = LONGEST.get(name)
        measured = f"{speed:,.0f} jobs/s"
        wanted, met = "", None
        if seconds is not None:
            measured = f"{ours['seconds']:.1f} s"
            wanted, met = f"<= {seconds:.0f} s", ours["seconds"] <= seconds
        elif name in SPEEDS:
            wanted, met = f">= {SPEEDS[name]:,} jobs/s", speed >= SPEEDS[name]
        note(f"{words} ({ours['waited']:.0%} wait)", measured, wanted, None if self.quick else met)
        if theirs is None:
            return
        if "problem" in theirs:
            note("  the earlier version", "cannot", theirs["problem"][:60])
            return
        share = theirs["seconds"] / ours["seconds"]
        wanted, met = "", None
        if name in SHARES:
            wanted, met = f">= {SHARES[name]} x", share >= SHARES[name]
        before = theirs["jobs"] / theirs["seconds"]
        note(f"  against {before:,.0f} jobs/s", f"{share:.2f} x", wanted, met)
        same = ours["digest"] == theirs["digest"]
        note("  the same schedule", str(same), "", None if same else False)

    def growth(self, words: str, names: list[str], sizes: tuple[int, ...]) -> list[list[str]]:
        """Cost per job or instant at each size, and the exponent from one to the next.

        Where the first instant brings a whole queue, a second line with its cost per job.
        """
        found = [self.ours.run(name) for name in names]
        for name, each in zip(names, found, strict=True):
            if "problem" in each:
                raise SystemExit(f"{name}: {each['problem']}")
        lines = [_line(words, [each["seconds"] / each["jobs"] for each in found], sizes)]
        if "first" in found[0]:
            costs = [each["first"] / size for each, size in zip(found, sizes, strict=True)]
            lines.append(_line(f"{words}, first instant, per job", costs, sizes))
        return lines


def _line(words: str, costs: list[float], sizes: tuple[int, ...]) -> list[str]:
    """A line of a table of growth."""
    longest = len(SIZES if sizes == SIZES else DEPTHS)
    cells = [words, *(f"{cost * 1e6:,.2f}" for cost in costs)]
    steps = [
        math.log(b / a) / math.log(size / before)
        for a, b, before, size in zip(costs, costs[1:], sizes, sizes[1:], strict=False)
    ]
    cells += [""] * (longest - len(costs))
    cells.append(", ".join(f"{step:.2f}" for step in steps))
    rows.append({"what": words, "measured": " ".join(cells[1:]), "wanted": "", "ok": None})
    return cells


def _median(found: list[dict[str, Any]]) -> dict[str, Any]:
    if "problem" in found[0]:
        return found[0]
    return {**found[0], "seconds": statistics.median(each["seconds"] for each in found)}


def _table(title: str, sizes: tuple[int, ...], lines: list[list[str]]) -> None:
    table = Table(title=title)
    for heading in ("", *(f"{size:,}" for size in sizes), "exponents"):
        table.add_column(heading, justify="right" if heading else "left")
    for line in lines:
        table.add_row(*line)
    console.print(table)


def measure(quick: bool, against: Path | None = None, only: list[str] | None = None) -> None:
    """Measure everything about the engine, or cases of some names."""
    bench = Bench(against, quick)
    grows = ("nodes ", "three ", "depth ", "burst")
    console.print("\n[bold]The engine[/]: jobs per second of a thread, medians of turns")
    for name in cases(quick):
        if not name.startswith(grows) and (not only or name in only):
            bench.side_by_side(name)
    if not only or "growth" in only:
        lines = [
            line
            for words, kind in (
                ("EASY on nodes, load 1.1", "nodes"),
                ("EASY, three resources, load 0.8", "three"),
            )
            for line in bench.growth(words, [f"{kind} {size}" for size in SIZES], SIZES)
        ]
        _table("microseconds per job by number of nodes", SIZES, lines)
        lines = [
            line
            for policy, depths in DEEP.items()
            for line in bench.growth(
                policy, [f"depth {d} {policy}" for d in DEPTHS[:depths]], DEPTHS[:depths]
            )
        ]
        _table("microseconds per instant by length of the queue", DEPTHS, lines)
        first = bench.ours.run("burst")["first"]
        note("100,000 jobs at one instant, conservative: that instant", f"{first:.2f} s")
    bench.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="quick, growth, or names of cases")
    parser.add_argument("--against", type=Path, help="root of a checkout of an earlier version")
    given = parser.parse_args()
    names = [name for name in given.names if name != "quick"]
    measure("quick" in given.names, given.against, names)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "engine.json").write_text(json.dumps(rows, indent=1))
    sys.exit(any(row["ok"] is False for row in rows))
