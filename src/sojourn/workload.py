"""The former name of `sojourn.jobs`."""

from typing import Any

from . import jobs

__all__ = jobs.__all__


def __getattr__(name: str) -> Any:
    return getattr(jobs, name)
