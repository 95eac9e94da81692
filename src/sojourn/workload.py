"""The former name of `sojourn.jobs`."""

from typing import Any

from . import jobs


def __getattr__(name: str) -> Any:
    return getattr(jobs, name)
