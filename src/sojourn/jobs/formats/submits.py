"""Jobs to be submitted: a table, or submit commands with their instants."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import shlex
from collections.abc import Mapping

from ...errors import LogError
from ...files.access import parse_lines, read_bytes
from ..report import noted
from ..submission import Submission, jobs_of
from ..table import Jobs
from .slurm_fields import gpus_in, kilobytes, limit

_COMMAND = re.compile(r"-dt\s+(\d+(?:\.\d*)?)\s+-e\s+(\S+)\s*\|(.*)")
_MOST = 1e9
_WHOLE = ("id", "nodes", "cpus", "gpus")
_STREAM = ("id", "submit", "nodes", "run", "limit_min")
_SUBMIT = "submit_batch_job"
_SHORT = {
    "-J": "job-name",
    "-n": "ntasks",
    "-N": "nodes",
    "-t": "time",
    "-A": "account",
    "-p": "partition",
    "-c": "cpus-per-task",
    "-C": "constraint",
    "-q": "qos",
    "-sim-walltime": "sim-walltime",
}


def read_stream(path: str | os.PathLike[str]) -> tuple[list[Submission], list[str]]:
    """Read a table with columns id, submit, nodes, run and limit_min, and what is left out: none.

    It may have cpus, memory (MB) and gpus per node, features, partition, user and account.
    """
    text = read_bytes(path).decode("utf-8-sig", "replace")
    table = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True)
    missing = [name for name in _STREAM if name not in (table.fieldnames or ())]
    if missing:
        wanted = ", ".join(_STREAM)
        raise LogError(path, f"has no column {', '.join(missing)}; a stream has {wanted}")
    jobs: dict[str, Submission] = {}
    for row in table:
        line = table.line_num

        def number(
            name: str, least: float, row: Mapping[str, str] = row, line: int = line
        ) -> float:
            return _number(path, line, name, row.get(name) or "", least)

        def optional(name: str, row: Mapping[str, str] = row) -> float:
            return number(name, 0.0) if (row.get(name) or "").strip() else math.nan

        label = str(int(number("id", 0.0)))
        if label in jobs:
            raise LogError(path, f"{label} stands twice; number jobs apart", line=line, field="id")
        nodes = int(number("nodes", 1.0))
        jobs[label] = Submission(
            label=label,
            submit=number("submit", 0.0),
            run=number("run", 0.0),
            limit=60.0 * number("limit_min", 1.0),
            nodes=nodes,
            least_nodes=nodes,
            cpus=nodes * _count(optional("cpus")),
            memory=optional("memory"),
            gpus=_count(optional("gpus")),
            features=row.get("features"),
            partition=(row.get("partition") or "").strip(),
            user=(row.get("user") or "").strip(),
            account=(row.get("account") or "").strip(),
        )
    if not jobs:
        raise LogError(path, "has column names but no job; check that the table is complete")
    return list(jobs.values()), []


def _number(path: str | os.PathLike[str], line: int, name: str, text: str, least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    whole = name in _WHOLE
    if not least <= value <= _MOST or (whole and not value.is_integer()):
        shown = repr(text[:40]) if text.strip() else "nothing"
        kind = "whole number" if whole else "number"
        problem = f"{shown} is no {kind} from {least:g} to {_MOST:g}; correct it"
        raise LogError(path, problem, line=line, field=name)
    return value


def _count(value: float) -> int:
    return -1 if math.isnan(value) else int(value)


def read_submits(path: str | os.PathLike[str]) -> tuple[list[Submission], list[int]]:
    """Return submits, ``-dt 60 -e submit_batch_job | -n 12 ...``, and lines of other events."""
    others: list[int] = []

    def parse(text: str, line: int) -> Submission | None:
        match = _COMMAND.match(text.strip())
        if match is None:
            raise LogError(path, "is no '-dt T -e EVENT | OPTIONS'; correct it", line=line)
        if match[2] != _SUBMIT:
            others.append(line)
            return None
        try:
            return _submitted(float(match[1]), shlex.split(match[3]))
        except (ValueError, OverflowError) as error:
            raise LogError(path, f"{error}; correct it", line=line) from None

    made, _ = parse_lines(path, parse, "submit commands", strict=True)
    return [job for job in made if job is not None], others


def read_submit_commands(path: str | os.PathLike[str]) -> Jobs:
    """Read submit commands with their instants as a table of jobs.

    A line is ``-dt SECONDS -e submit_batch_job | OPTIONS``, with the options of ``sbatch`` and
    ``-sim-walltime SECONDS``, how long the job runs; a job without it, or with -1, runs until its
    limit. Besides what other logs have, the table has ``least_nodes``, nodes that were asked for by
    number, and ``to_the_limit``.

    Parameters
    ----------
    path : the file, plain or packed.

    Raises
    ------
    LogError
        When a line cannot be read.
    """
    made, others = read_submits(path)
    if not made:
        raise LogError(path, "has no job that is submitted; check that the file is complete")
    made.sort(key=lambda job: job.submit)
    notes = noted("other-event", "skip", "an event that is no submit", others, "line")
    return jobs_of(made, os.fspath(path), notes)


def _submitted(submit: float, words: list[str]) -> Submission:
    options: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            options[name[2:]] = value if equals else "1"
        elif word in _SHORT and at + 1 < len(words):
            at += 1
            options[_SHORT[word]] = words[at]
        at += 1
    tasks, per_task = int(options.get("ntasks", "1")), int(options.get("cpus-per-task", "1"))
    least = int(options.get("nodes", "1").partition("-")[0])
    spread = int(options.get("ntasks-per-node", "0"))
    nodes = max(least, math.ceil(tasks / spread) if spread else 1)
    run = float(options.get("sim-walltime", "nan"))
    name = options.get("job-name", "")
    return Submission(
        label=(re.findall(r"\d+", name) or [""])[-1] or name,
        name=name,
        submit=submit,
        run=math.inf if run < 0 else run,
        limit=limit(options["time"]) if "time" in options else math.nan,
        nodes=nodes,
        least_nodes=least,
        cpus=max(tasks * per_task, nodes),
        memory=kilobytes(options.get("mem", "0"), "M") / 1024.0,
        memory_per_cpu=kilobytes(options["mem-per-cpu"], "M") / 1024.0
        if "mem-per-cpu" in options
        else math.nan,
        gpus=gpus_in(options.get("gres", "")),
        features=options.get("constraint", ""),
        partition=options.get("partition", ""),
        qos=options.get("qos", ""),
        user=options.get("uid", ""),
        account=options.get("account", ""),
        whole="exclusive" in options,
    )
