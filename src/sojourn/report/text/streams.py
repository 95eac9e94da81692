"""Standard output and error: there even if they are closed, and not obeyed by a terminal.

Names and headers of files reach the terminal. What in them would move the cursor, set the title or
clear the screen is shown as an escape such as ``\\x1b``.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ...errors import RunError

# C0 without tab and line feed, DEL, C1, and marks that turn the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_COLOUR_OR_CONTROL = re.compile(rf"(\x1b\[[0-9;]*m)|{_CONTROL.pattern}")


class OutputError(RunError):
    """What a command has to say cannot be written to standard output."""


def visible(text: str) -> str:
    """Return text in which control characters are written as escapes."""
    return _CONTROL.sub(lambda match: _escape(match[0]), text)


def _escape(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _with_colours(text: str) -> str:
    return _COLOUR_OR_CONTROL.sub(lambda match: match[1] or _escape(match[0]), text)


class Shown:
    """A text stream on which control characters become visible; on a terminal colours stay.

    Writing raises OutputError when there is no space, BrokenPipeError when nobody reads any more.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._made: Callable[[str], str] = _with_colours if stream.isatty() else visible

    def write(self, text: str) -> int:
        """Write text; the number of its characters."""
        with self._guarded():
            self._stream.write(self._made(text))
        return len(text)

    def flush(self) -> None:
        """Have everything written out."""
        with self._guarded():
            self._stream.flush()

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(
                f"standard output: cannot be written ({error.strerror or error}); make room or "
                "send it elsewhere"
            ) from None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Tolerant(Shown):
    """A text stream whose loss nobody needs to hear of: the exit code has to do then."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._made = stream, str

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            drop(self._stream)


@contextlib.contextmanager
def own_streams(*, is_process: bool) -> Iterator[None]:
    """Have streams that can be written to while a command runs.

    Of a process that lives for the command alone, closed descriptors are opened too, or the first
    file that is opened would be what others take for a stream.
    """
    if is_process:
        for number in range(3):
            with contextlib.suppress(OSError):
                _open_if_closed(number)
    former = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        out, err = (
            stack.enter_context(open(os.devnull, "w")) if stream is None else stream
            for stream in former
        )
        for stream in (out, err):
            if hasattr(stream, "reconfigure"):
                # A file name that is not valid text must not end a command.
                stream.reconfigure(errors="backslashreplace")
        sys.stdout, sys.stderr = Shown(out), Tolerant(err)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = former


def _open_if_closed(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        # The lowest number that is free is this one.
        os.open(os.devnull, os.O_RDWR)


def drop(stream: Any) -> None:
    """Give up a stream that cannot be written to, so that nothing fails at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
