"""A cluster of virtual nodes: started, waited for, and ended by process id."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ...errors import RunError
from .conf import Scheduling, free_ports, slurm_conf

AUTHENTICATIONS = ("none", "munge")
"""How the daemons and ``sbatch`` know each other."""

_PATIENCE = 90.0  # seconds until all nodes must be idle
_COMMAND = 120.0  # seconds that a command of Slurm may take
_ALONE = 0.3  # seconds for which the controller has the machine to itself
_LONGEST = 70  # characters; a socket's path has 107, and some are deep in the folder
_KILLED = 128  # exit codes of processes that a signal ended begin here
_SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class VirtualCluster:
    """A running Slurm with virtual nodes, in a folder of its own; use it in a ``with`` statement.

    Everything is stopped and the folder removed at the end, be it an error, Ctrl-C, or the death
    of this process.

    Parameters
    ----------
    nodes : number of virtual nodes.
    scheduling : lines that decide who starts when.
    auth : ``none``, with which any local user can submit jobs while the cluster lasts (they run as
        the user who started it), or ``munge``, with a key and a daemon of the cluster's own.
    environment : further variables of daemons, commands and jobs.
    folder : an empty one that holds the cluster; it is removed with it. Paths of sockets are short,
        so should be its own.
    """

    def __init__(
        self,
        nodes: int,
        scheduling: Scheduling,
        *,
        auth: str = "none",
        environment: Mapping[str, str] | None = None,
        folder: Path,
    ) -> None:
        self.nodes = nodes
        self.scheduling = scheduling
        self.auth = auth
        self.folder = folder
        self.conf = self.folder / "slurm.conf"
        self.log = self.folder / "slurmctld.log"
        self.completions = self.folder / "jobcomp.log"
        self.pids: list[int] = []
        self.controller = 0
        """Process id of the controller, which is among those of all daemons, `pids`."""
        self.started = 0.0
        """When the daemons were started, seconds of the Unix epoch."""
        self.environment = {
            "PATH": os.environ.get("PATH", "") + os.pathsep + _SYSTEM,
            "HOME": str(self.folder),
            "LANG": "C",
            # Instants in logs are then instants, also on the day the clocks change.
            "TZ": "UTC",
            "SLURM_CONF": str(self.conf),
            **(environment or {}),
        }
        self._port = 0
        self._keeper: subprocess.Popen[str] | None = None

    def __enter__(self) -> VirtualCluster:
        try:
            self._start()
            self._wait_until_idle()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def command(self, *arguments: str) -> str:
        """Run a command of Slurm against this cluster and return what it prints."""
        try:
            done = subprocess.run(
                arguments,
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND,
            )
        except subprocess.TimeoutExpired:
            raise RunError(f"{arguments[0]} did not answer within {_COMMAND:.0f} s") from None
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split()) or f"code {done.returncode}"
            raise RunError(f"{arguments[0]} failed: {said}")
        return done.stdout

    def check(self) -> None:
        """Raise RunError if a daemon has ended."""
        if not all(os.path.exists(f"/proc/{pid}") for pid in self.pids):
            raise RunError(f"a daemon of the virtual cluster has ended; {self._last_words()}")

    def stop(self) -> None:
        """End every process of the cluster and remove its folder."""
        keeper, self._keeper = self._keeper, None
        # A second Ctrl-C must not leave half of it running.
        with _deaf():
            if keeper is not None and keeper.stdin is not None and keeper.stdout is not None:
                with contextlib.suppress(OSError):
                    keeper.stdin.close()
                keeper.wait()
                keeper.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self.completions.touch()
        munge = self.folder / "munge.socket" if self.auth == "munge" else None
        self._port = free_ports(self.nodes + 1)
        text = slurm_conf(self.folder, self.nodes, self._port, self.scheduling, munge=munge)
        self.conf.write_text(text, encoding="utf-8")
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("_keeper.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for us: the daemons end when we say so.
            start_new_session=True,
            text=True,
        )
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        lines = self._daemons(munge)
        commands = [self._daemon(name, line) for name, line in lines.items()]
        order = {"commands": commands, "remove": str(self.folder)}
        # The loops of the controller count whole seconds: every run begins with one.
        time.sleep(-time.time() % 1.0)
        self.started = time.time()
        self._keeper.stdin.write(json.dumps(order) + "\n")
        self._keeper.stdin.flush()
        answer = self._keeper.stdout.readline()
        if not answer:
            raise RunError("the daemons cannot be started; see `sojourn virtual check`")
        self.pids = json.loads(answer)
        self.controller = self.pids[list(lines).index("slurmctld")]

    def _daemons(self, munge: Path | None) -> dict[str, list[str]]:
        """Command lines by name, in the order in which they are started."""
        common = ["-D", "-c", "-f", str(self.conf)]
        lines = {"slurmctld": [_program("slurmctld"), *common]}
        for k in range(1, self.nodes + 1):
            lines[f"n{k}"] = [_program("slurmd"), *common, "-N", f"n{k}"]
        if munge is None:
            return lines
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        options = {
            "key-file": key,
            "socket": munge,
            "pid-file": self.folder / "munge.pid",
            "log-file": self.folder / "munge.log",
            "seed-file": self.folder / "munge.seed",
        }
        munged = [_program("munged"), "--foreground", "--force"]
        munged += [f"--{name}={path}" for name, path in options.items()]
        return {"munged": munged, **lines}

    def _daemon(self, name: str, line: Sequence[str]) -> dict[str, Any]:
        return {
            "arguments": line,
            "environment": self.environment,
            "folder": str(self.folder),
            "output": str(self.folder / f"{name}.out"),
            # Its loops then begin at the same fraction of a second in every run.
            "pause": _ALONE if name == "slurmctld" else 0.0,
        }

    def _wait_until_idle(self) -> None:
        until = time.monotonic() + _PATIENCE
        idle = 0
        while time.monotonic() < until:
            self.check()
            if self._answers():
                # It may listen before it knows what to say.
                with contextlib.suppress(RunError):
                    said = self.command("sinfo", "-h", "-t", "idle", "-o", "%D").split()
                    idle = sum(map(int, said))
            if idle == self.nodes:
                return
            time.sleep(0.05)
        words = self._last_words()
        raise RunError(f"only {idle} of {self.nodes} virtual nodes are idle; {words}")

    def _answers(self) -> bool:
        """Whether the controller listens: a command that comes too early waits for a minute."""
        try:
            socket.create_connection(("127.0.0.1", self._port), timeout=1.0).close()
        except OSError:
            return False
        return True

    def _last_words(self) -> str:
        """The last complaints of the daemon that had something to complain of."""
        for word in ("fatal", "error"):
            for path in sorted(self.folder.glob("*.log")):
                text = path.read_text(encoding="utf-8", errors="replace")
                lines = [line.partition("] ")[2] for line in text.splitlines()]
                said = [line for line in lines if re.search(r"\b(fatal|error):", line)]
                if any(f"{word}:" in line for line in said):
                    return f"{path.stem}: {'; '.join(said[-2:])}"
        return "their logs hold no error"


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """Yield a temporary folder that nobody else can enter."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-"))
    try:
        # Sockets and preloaded libraries are found by paths that must be short and plain.
        if len(str(folder)) > _LONGEST or not re.fullmatch(r"[\w./-]+", str(folder), re.ASCII):
            raise RunError(f"{folder.parent}: no place for sockets; set TMPDIR=/tmp")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end what is under way like any exception."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in former.items():
        # As with nohup.
        if handler is not signal.SIG_IGN:
            signal.signal(number, _terminated)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _terminated(number: int, _: Any) -> None:
    raise SystemExit(_KILLED + number)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Hold back what would interrupt."""
    former = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def find_program(name: str) -> str | None:
    """Return the path of a program, also of one that is for administrators."""
    return shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + _SYSTEM)


def _program(name: str) -> str:
    path = find_program(name)
    if path is None:
        raise RunError(f"{name} is not installed; see `sojourn virtual check`")
    return path
