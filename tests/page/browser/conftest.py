"""One browser for all tests that need it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .chromium import Browser, find_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no chromium here: apt-get install chromium, or set SOJOURN_BROWSER")
    started = Browser(program)
    yield started
    started.close()
