"""Jobs of a log: what its records tell of their requests."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping

import numpy as np

from ...errors import LogError
from ...workload import read_log
from ...workload._accounting import Accounting
from ...workload._lines import read_text
from ...workload._sacct_rows import read_rows
from ...workload._slurm_fields import trackable
from ...workload.events import read_accounting
from ._asked import Asked, gpus_in

__all__ = ["asked_in_accounting", "asked_in_swf"]

_KEY = re.compile(r"(?:^| )(Name|Account|Gres)=(.*?)(?= [A-Z][A-Za-z]*=|$)")


def asked_in_accounting(
    path: str | os.PathLike[str], format: str, timezone: str
) -> tuple[list[Asked], list[str]]:
    told = read_accounting(path, format, timezone=timezone)
    more = _sacct_texts(path) if format == "sacct" else _jobcomp_texts(path)
    jobs, cancelled, unended, unknown = [], 0, 0, 0
    for k in range(len(told)):
        job = _accounted(told, k, more)
        if job.nodes <= 0 and job.cpus <= 0:
            unknown += 1
            continue
        jobs.append(job)
        if math.isnan(job.run):
            cancelled += math.isfinite(job.cancel)
            unended += math.isinf(job.cancel)
    late = np.count_nonzero(told["eligible"] > told["submit"] + 1.0)
    said = [
        *(
            [f"{late} jobs were held for a while: taken as waiting from their submit"]
            if late
            else []
        ),
        *(
            [
                f"{cancelled} jobs were cancelled before they started: taken to wait until then, "
                "and if the model starts one, to run until then or to its limit"
            ]
            if cancelled
            else []
        ),
        *(
            [f"{unended} jobs have not ended in the log: taken to run to their limits"]
            if unended
            else []
        ),
        *([f"{unknown} jobs whose width is not told: left out"] if unknown else []),
    ]
    if not any(math.isfinite(job.run) for job in jobs):
        raise LogError(path, "holds no job that has ended; check that the log is complete")
    return jobs, said


def _accounted(told: Accounting, k: int, more: Mapping[int, Mapping[str, str]]) -> Asked:
    text = more.get(int(told["line"][k]), {})
    start, end = float(told["start"][k]), float(told["end"][k])
    nodes = int(told["nodes"][k])
    requested, allocated = int(told["requested"][k]), int(told["allocated"][k])
    cpus = requested if requested > 0 else allocated
    order = float(told["limit"][k])
    run = end - start
    if told["state"][k] == "TIMEOUT" and math.isfinite(order):
        run = max(run, order)
    memory = float(told["memory"][k])
    gpus = text.get("gres")
    return Asked(
        label=str(told["label"][k]),
        name=text.get("name", ""),
        submit=float(told["submit"][k]),
        run=run,
        limit=order,
        nodes=nodes,
        least_nodes=int(text.get("least", "") or -1),
        cpus=cpus,
        memory_per_cpu=memory / 1024.0 if memory > 0 else math.nan,
        gpus=-1 if gpus is None else gpus_in(gpus),
        features=text.get("features"),
        partition=str(told["queue"][k]).partition(",")[0],
        user=str(told["user"][k]),
        account=text.get("account", ""),
        cancel=end if math.isnan(start) and not math.isnan(end) else math.inf,
    )


def _sacct_texts(path: str | os.PathLike[str]) -> dict[int, dict[str, str]]:
    """Return what only single columns of ``sacct`` tell, by line."""
    rows = read_rows(path)
    place = {name: k for k, name in reversed(list(enumerate(rows.names)))}
    plain = {"jobname": "name", "account": "account", "constraints": "features", "reqgres": "gres"}
    made = {}
    for row in rows.good:
        texts = {
            ours: row.fields[place[theirs]].strip()
            for theirs, ours in plain.items()
            if theirs in place
        }
        if "reqtres" in place:
            wanted = trackable(row.fields[place["reqtres"]])
            if "gres" not in texts and wanted:
                total, nodes = wanted.get("gres/gpu", "0"), int(wanted.get("node", "1") or 1)
                texts["gres"] = f"gpu:{math.ceil(int(total) / max(nodes, 1))}"
            texts["least"] = wanted.get("node", "")
        made[row.line] = texts
    return made


def _jobcomp_texts(path: str | os.PathLike[str]) -> dict[int, dict[str, str]]:
    names = {"Name": "name", "Account": "account", "Gres": "gres"}
    return {
        number: {names[key]: value.strip() for key, value in _KEY.findall(line)}
        for number, line in enumerate(read_text(path).split("\n"), 1)
    }


def asked_in_swf(path: str | os.PathLike[str]) -> tuple[list[Asked], list[str]]:
    jobs = read_log(path, format="swf")
    usable = (jobs.procs > 0) & (jobs.runtime >= 0)
    memory = jobs["memory"]
    made = [
        Asked(
            label=str(int(jobs.job[k])),
            submit=float(jobs.submit[k]),
            run=float(jobs.runtime[k]),
            limit=float(jobs.estimate[k]) if jobs.estimate[k] > 0 else math.nan,
            cpus=int(jobs.procs[k]),
            memory_per_cpu=float(memory[k]) / 1024.0 if memory[k] > 0 else math.nan,
            user=str(int(jobs.user[k])),
            account=str(int(jobs["group"][k])),
        )
        for k in range(len(jobs))
        if usable[k]
    ]
    left = int((~usable).sum())
    return made, [f"{left} jobs without processors or runtime: left out"] if left else []
