"""A real browser, driven over the pipe of its DevTools protocol: nothing but chromium is needed."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE = 60.0
_SWITCHES = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "about:blank",
)


def find_browser() -> str | None:
    """Return the browser's program: SOJOURN_BROWSER, or the first one on the path."""
    named = os.environ.get("SOJOURN_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser did not do what it was asked."""


class Browser:
    """A headless browser with one page; what goes wrong in the page is collected in `errors`."""

    def __init__(self, program: str) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.mkdtemp(prefix="browser-")
        self._number = 0
        self._rest = b""
        self._loaded = False
        down, self._out = os.pipe()
        self._in, up = os.pipe()
        # The browser reads from descriptor 3 and writes to 4; keep ours out of the way.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (down, up)]
        actions = [(os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4)]
        for stream in (1, 2):
            actions.append((os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0))
        self._process = os.posix_spawn(
            program,
            [program, f"--user-data-dir={self._profile}", *_SWITCHES],
            {**os.environ, "HOME": self._profile},
            file_actions=actions,
            setsid=True,
        )
        for end in (down, up, *high):
            os.close(end)
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser and all its processes."""
        with contextlib.suppress(OSError):
            os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **given: Any) -> Any:
        """Call a method of the protocol on the page."""
        return self._call(method, given, self._session)

    def _call(self, method: str, given: dict[str, Any], session: str | None = None) -> Any:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": given}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        until = time.monotonic() + _PATIENCE
        while True:
            told = self._read(until)
            if told.get("id") == number:
                if "error" in told:
                    raise BrowserError(f"{method}: {told['error']['message']}")
                return told["result"]
            self._hear(told)

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(until - time.monotonic(), 0.0))[0]:
                raise BrowserError("no answer in time")
            part = os.read(self._in, 1 << 20)
            if not part:
                raise BrowserError("the browser has ended")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _hear(self, event: dict[str, Any]) -> None:
        method, told = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(part.get("value")) for part in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.errors.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def look(self, width: int = 1200, height: int = 900, *, dark: bool = False) -> None:
        """Set the size of the window and the colour scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        """Open a page from a file, without any network, and wait until all charts are drawn."""
        self.errors.clear()
        self.requests.clear()
        self._loaded = False
        self.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=0, uploadThroughput=0,
        )  # fmt: skip
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.body && document.body.dataset.ready === 'yes'")

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page, awaited if it is a promise."""
        told = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in told:
            raise BrowserError(f"{script}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + _PATIENCE
        while not self.evaluate(condition):
            if self.errors or time.monotonic() > until:
                raise BrowserError(f"never true: {condition}; errors: {self.errors}")
            time.sleep(0.05)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Move, press or release the mouse, at a place in the window."""
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Click once."""
        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("Released", x, y, button="left", clickCount=1)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag from one place to another."""
        self.mouse("Moved", *start)
        self.mouse("Pressed", *start, button="left", buttons=1, clickCount=1)
        for part in (0.3, 0.6, 1.0):
            x, y = (a + part * (b - a) for a, b in zip(start, end, strict=True))
            self.mouse("Moved", x, y, button="left", buttons=1)
        self.mouse("Released", *end, button="left", clickCount=1)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture of the page."""
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))

    def pdf(self) -> bytes:
        """Print the page."""
        told = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        return base64.b64decode(told["data"])
