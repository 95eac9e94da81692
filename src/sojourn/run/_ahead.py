"""Loading what comes next while compiled code runs.

Kernels let go of the interpreter lock, so that a thread can import modules and load compiled
code beside them. It changes nothing but the time: whatever fails here fails again, and is told,
where it is needed.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable

__all__ = ["Ahead", "reader_is_loaded"]

_LOOK_AGAIN = 0.004


class Ahead:
    """Calls a function in a thread.

    Parameters
    ----------
    load : what to do.
    when : waited for until it is true (or until `wait` is called): two threads that import parts
        of one library at the same time could each see the other's unfinished.
    """

    def __init__(self, load: Callable[[], object], when: Callable[[], bool] | None = None) -> None:
        self._load, self._when = load, when
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._when is not None and not self._when():
            if self._over.wait(_LOOK_AGAIN):
                return
        with contextlib.suppress(BaseException):
            self._load()

    def wait(self) -> None:
        """Wait until it is done; what has not begun is left."""
        self._over.set()
        self._thread.join()


def reader_is_loaded() -> bool:
    """Whether the reader of logs has been loaded: from then on it reads, and imports nothing."""
    kernels = sys.modules.get("sojourn.jobs.formats.scanning")
    return bool(getattr(getattr(kernels, "scan", None), "signatures", None))
