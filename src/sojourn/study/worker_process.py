"""What a process for runs does: it carries out what it is sent, and ends with its driver."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import queue
import threading
import time
from multiprocessing.connection import Connection

_GRACE = 1.0
"""Seconds in which the process ends by itself when the driver has gone."""

_Inbox = queue.SimpleQueue[bytes | None]


def main(channel: int, shared: int) -> None:
    """Carry out runs until the driver ends.

    Parameters
    ----------
    channel : handle of the socket through which batches of runs come and their rows go. Sent is
        first None, when the process is ready, or a text that says why it cannot be; then, for
        each batch, its rows and the seconds that it took.
    shared : handle of the memory with what runs have in common.
    """
    for handle in (channel, shared):
        os.set_inheritable(handle, False)
    connection, inbox = Connection(channel), _Inbox()
    threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        _work(connection, inbox, shared)


def _receive(connection: Connection, inbox: _Inbox) -> None:
    """Take what is sent, so that the driver never waits; end the process after the driver.

    Kernels run without the interpreter lock: also in a long one this goes on.
    """
    with contextlib.suppress(EOFError, OSError):
        while True:
            inbox.put(connection.recv_bytes())
    inbox.put(None)
    time.sleep(_GRACE)
    os._exit(1)


def _work(connection: Connection, inbox: _Inbox, shared: int) -> None:
    from ..errors import RunError

    try:
        # Imported here: meanwhile the driver can send.
        from .execute import Worker

        with mmap.mmap(shared, 0, access=mmap.ACCESS_READ) as memory:
            bundle = pickle.loads(memory)
            bundle.register_measures()
            worker = Worker(bundle, shared=True)
    except RunError as error:
        connection.send(str(error))
        return
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        connection.send(f"a process for runs cannot begin ({reason}); give workers = 1")
        return
    # What goes wrong in it goes wrong in the runs too, which say so.
    with contextlib.suppress(Exception):
        worker.get_ready()
    connection.send(None)
    while (order := inbox.get()) is not None:
        begun = time.perf_counter()
        rows = [worker.run(run) for run in pickle.loads(order)]
        connection.send((rows, time.perf_counter() - begun))
