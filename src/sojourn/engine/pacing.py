"""How long a kernel runs before it comes back: compiled code hears no Ctrl-C and shows no progress.

How long an instant takes depends on the machine, the discipline and the queue, and can change a
thousandfold within a run, so kernels do not guess. They run without the interpreter's lock, and
meanwhile another thread asks them to come back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_BREATH = 0.2
"""Seconds between two requests."""


@contextmanager
def asked_to_pause(flags: Any, at: Any) -> Iterator[None]:
    """Set a field of a record, or a place of an array, to 1 several times a second.

    The kernel that sees it clears it.
    """
    done = threading.Event()

    def ask() -> None:
        while not done.wait(_BREATH):
            flags[at] = 1

    thread = threading.Thread(target=ask, name="sojourn-pacing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
