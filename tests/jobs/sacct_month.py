"""A month of a Slurm cluster as ``sacct -P -D`` prints it, made by chance from a seed.

Three partitions with nodes of their own, jobs first come, first served on whole nodes. Among them
are arrays (some tasks of which still wait), heterogeneous jobs, jobs requeued after a node failed
or another job preempted them, jobs cancelled while they waited and while they ran, jobs held back
by a dependency, and steps. Instants are local times of a place whose clocks are set back during
the month.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

ZONE = "Europe/Berlin"
PROCS = 16 * 16 + 4 * 16 + 2 * 32
CONF = """\
ClusterName=month
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
NodeName=c[01-16] CPUs=16
NodeName=g[1-4] CPUs=16 Gres=gpu:a100:4
NodeName=fat[1-2] CPUs=32
PartitionName=cpu Nodes=c[01-16] Default=YES MaxTime=2-00:00:00
PartitionName=gpu Nodes=g[1-4] MaxTime=1-00:00:00
PartitionName=fat Nodes=fat[1-2] MaxTime=7-00:00:00
"""
COLUMNS = (
    *("JobID", "JobIDRaw", "JobName", "User", "UID", "Account", "Partition", "QOS", "Submit"),
    *("Eligible", "Start", "End", "Elapsed", "State", "Timelimit", "ReqCPUS", "AllocCPUS"),
    *("NNodes", "NodeList", "ReqMem", "ReqTRES", "AllocTRES", "ExitCode", "Constraints"),
)
_NODES = {
    "cpu": [f"c{k:02d}" for k in range(1, 17)],
    "gpu": [f"g{k}" for k in range(1, 5)],
    "fat": ["fat1", "fat2"],
}
_CORES = {"cpu": 16, "gpu": 16, "fat": 32}
_USERS = [("anna", 1001, "phys"), ("bo", 1002, "phys"), ("cy", 1003, "chem"), ("dee", 1004, "bio")]
_KINDS = {
    "plain": 30, "timeout": 4, "failed": 4, "oom": 2, "cancelled": 3, "withdrawn": 4, "held": 4,
    "array": 4, "waiting_array": 1, "het": 2, "node_fail": 2, "preempted": 2, "pending": 1,
}  # fmt: skip


@dataclass
class Month:
    """The state of the making: what nodes are free when, and the rows so far.

    Parameters
    ----------
    seed : of the chance.
    jobs : about how many are submitted; arrays have several tasks each.
    begin : Unix time (s) of the first day.
    """

    seed: int = 1
    jobs: int = 500
    begin: float = datetime(2024, 10, 1, tzinfo=ZoneInfo(ZONE)).timestamp()
    days: float = 31.0
    rows: list[str] = field(default_factory=list)
    number: int = 1000

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.free = {name: 0.0 for nodes in _NODES.values() for name in nodes}
        self.over = self.begin + self.days * 86400.0

    def text(self) -> str:
        """Return the whole output."""
        kinds = self.rng.choices(list(_KINDS), list(_KINDS.values()), k=self.jobs)
        submits = sorted(self.rng.uniform(self.begin, self.over) // 1 for _ in kinds)
        # Several on the night on which clocks change, an hour before and after.
        night = datetime(2024, 10, 27, 0, 20, tzinfo=UTC).timestamp()
        for k, submit in enumerate(submits):
            if abs(submit - night) < 43200.0:
                submits[k] = night + (k % 7) * 600.0
        for kind, submit in sorted(zip(kinds, submits, strict=True), key=lambda pair: pair[1]):
            getattr(self, f"_{kind}", self._ended)(kind, submit)
        return "\n".join(["|".join(COLUMNS), *self.rows]) + "\n"

    def write(self, path: Path) -> Path:
        """Write the output to a file."""
        path.write_text(self.text(), encoding="utf-8")
        return path

    def _next(self) -> int:
        self.number += self.rng.randint(1, 3)
        return self.number

    def _request(self) -> dict[str, str]:
        """What a job asks for, in the columns of sacct."""
        rng = self.rng
        partition = rng.choices(["cpu", "gpu", "fat"], [7, 2, 1])[0]
        nodes = rng.choice({"cpu": [1, 1, 2, 4, 8], "gpu": [1, 1, 2], "fat": [1]}[partition])
        cores = nodes * _CORES[partition]
        user, uid, account = rng.choice(_USERS)
        tres = f"billing={cores},cpu={cores},mem={4 * cores}G,node={nodes}"
        if partition == "gpu":
            tres += f",gres/gpu:a100={nodes * rng.choice([1, 2, 4])}"
        limit = rng.choice(["01:00:00", "04:00:00", "12:00:00", "1-00:00:00"])
        return {
            "JobName": rng.choice(["run", "a|b", "fit model", "x" * 20]),
            "User": user,
            "UID": str(uid),
            "Account": account,
            "Partition": partition,
            "QOS": rng.choice(["normal", "normal", "long"]),
            "Timelimit": limit,
            "ReqCPUS": str(cores),
            "NNodes": str(nodes),
            "ReqMem": rng.choice(["4000Mc", "16Gn", f"{4 * cores}G", "0n"]),
            "ReqTRES": tres,
            "Constraints": "",
        }

    def _seconds(self, request: dict[str, str]) -> float:
        days, _, clock = request["Timelimit"].rpartition("-")
        return 86400.0 * int(days or 0) + 3600.0 * int(clock[:2])

    def _place(self, request: dict[str, str], since: float, run: float) -> tuple[float, str]:
        """Return when a job starts that could from `since` on, and on which nodes."""
        names = sorted(_NODES[request["Partition"]], key=lambda name: (self.free[name], name))
        chosen = names[: int(request["NNodes"])]
        start = max(since + 1.0, *(self.free[name] + 2.0 for name in chosen)) // 1
        for name in chosen:
            self.free[name] = start + run
        return start, ",".join(sorted(chosen))

    def _add(self, job: str, raw: int, request: dict[str, str], **told: object) -> None:
        """Add the row of a job, and of its steps if it ran."""
        start, end = told.get("start"), told.get("end")
        ran = isinstance(start, float) and told.get("nodes") != "None assigned"
        fields = {
            **request,
            "JobID": job,
            "JobIDRaw": str(raw),
            "Submit": _clock(told["submit"]),
            "Eligible": _clock(told.get("eligible", told["submit"])),
            "Start": _clock(start),
            "End": _clock(end),
            "Elapsed": _elapsed(float(end) - float(start)) if ran and end else "00:00:00",  # type: ignore[arg-type]
            "State": str(told["state"]),
            "NodeList": str(told.get("nodes", "None assigned")),
            "AllocCPUS": request["ReqCPUS"] if ran else "0",
            "AllocTRES": request["ReqTRES"] if ran else "",
            "ExitCode": "0:0",
        }
        self.rows.append("|".join(fields[name] for name in COLUMNS))
        if not ran or not end:
            return
        for step in ("batch", "extern", "0"):
            kept = ("JobID", "Account", "Submit", "Start", "End", "Elapsed", "State", "NodeList")
            of_step = {name: fields[name] for name in (*kept, "AllocCPUS", "NNodes", "ExitCode")}
            of_step |= {"JobID": f"{job}.{step}", "JobIDRaw": f"{raw}.{step}", "JobName": step}
            of_step |= {"State": of_step["State"].partition(" ")[0], "Submit": fields["Start"]}
            self.rows.append("|".join(of_step.get(name, "") for name in COLUMNS))

    def _run(
        self, job: str, raw: int, request: dict[str, str], submit: float, state: str,
        share: float | None = None, eligible: float | None = None,
    ) -> float:  # fmt: skip
        """Let a job run for a share of its limit; return its end."""
        most = self._seconds(request)
        run = max(most * (self.rng.uniform(0.02, 0.9) if share is None else share) // 1, 1.0)
        since = submit if eligible is None else eligible
        start, nodes = self._place(request, since, run)
        times: dict[str, object] = {"submit": submit, "start": start, "nodes": nodes}
        if eligible is not None:
            times["eligible"] = eligible
        self._add(job, raw, request, **times, end=start + run, state=state)
        return start + run

    def _ended(self, kind: str, submit: float) -> None:
        number = self._next()
        states = {"timeout": "TIMEOUT", "failed": "FAILED", "oom": "OUT_OF_MEMORY",
                  "cancelled": "CANCELLED by 1001"}  # fmt: skip
        share = 1.0 if kind == "timeout" else None
        self._run(
            str(number), number, self._request(), submit, states.get(kind, "COMPLETED"), share
        )

    def _held(self, kind: str, submit: float) -> None:
        number = self._next()
        later = submit + self.rng.randint(60, 7200)
        self._run(str(number), number, self._request(), submit, "COMPLETED", eligible=later)

    def _withdrawn(self, kind: str, submit: float) -> None:
        number = self._next()
        end = submit + float(self.rng.randint(5, 3000))
        self._add(str(number), number, self._request(), submit=submit, start=end, end=end,
                  state="CANCELLED by 1002", nodes="None assigned")  # fmt: skip

    def _pending(self, kind: str, submit: float) -> None:
        number = self._next()
        late = max(submit, self.over - 3600.0)
        self._add(str(number), number, self._request(), submit=late, state="PENDING")

    def _array(self, kind: str, submit: float) -> None:
        number, request = self._next(), self._request()
        for task in range(self.rng.randint(3, 8)):
            raw = number if task == 0 else self._next()
            self._run(f"{number}_{task}", raw, request, submit, "COMPLETED", 0.1)

    def _waiting_array(self, kind: str, submit: float) -> None:
        number, request = self._next(), self._request()
        late = max(submit, self.over - 7200.0)
        self._run(f"{number}_1", self._next(), request, late, "COMPLETED", 0.1)
        self._add(f"{number}_[2-6%2]", number, request, submit=late, state="PENDING")

    def _het(self, kind: str, submit: float) -> None:
        number = self._next()
        for part in range(2):
            raw = number if part == 0 else self._next()
            self._run(f"{number}+{part}", raw, self._request(), submit, "COMPLETED")

    def _requeued(self, submit: float, state: str) -> None:
        number, request = self._next(), self._request()
        again = self._run(str(number), number, request, submit, state, 0.2)
        self._run(str(number), number, request, again, "COMPLETED", 0.4)

    def _node_fail(self, kind: str, submit: float) -> None:
        self._requeued(submit, "NODE_FAIL")

    def _preempted(self, kind: str, submit: float) -> None:
        self._requeued(submit, "PREEMPTED")


def _clock(instant: object) -> str:
    if instant is None:
        return "Unknown"
    assert isinstance(instant, float)
    return datetime.fromtimestamp(instant, ZoneInfo(ZONE)).replace(tzinfo=None).isoformat()


def _elapsed(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}"
    return f"{days}-{clock}" if days else clock
