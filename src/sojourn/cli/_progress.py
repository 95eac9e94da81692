"""A progress bar on a terminal, for runs that take long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..report.text.streams import visible

__all__ = ["Progress", "progress"]

_PATIENCE = 1.0


class Progress:
    """Called with (jobs arrived, jobs); shows a bar once a second has passed.

    Runs call it even where nothing is shown: between two calls an interrupt can be heard.
    """

    def __init__(self, title: str, shown: bool) -> None:
        self.title = title
        self._shown = shown
        self._begun = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, arrived: int, jobs: int) -> None:
        """Report how far a run is."""
        if not self._shown:
            return
        if self._bar is None:
            if time.monotonic() - self._begun < _PATIENCE:
                return
            self._start()
        title = visible(self.title)
        self._bar.update(self._task, completed=arrived, total=jobs, description=title)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("jobs"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(visible(self.title), total=None)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """Yield something to report progress to."""
    shown = Progress(title, sys.stderr.isatty())
    try:
        yield shown
    finally:
        shown.close()
