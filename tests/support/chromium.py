"""A real headless Chromium, driven through a pair of pipes by its DevTools protocol."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--remote-debugging-pipe",
    ),
)
_LIMIT_S = 90.0


class Browser:
    """One page of a browser."""

    def __init__(self, to: int, come: int) -> None:
        self._to, self._come, self._number, self._rest = to, come, 0, b""
        self.session = ""
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self.session:
            said["sessionId"] = self.session
        os.write(self._to, json.dumps(said).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                return dict(message["result"])
            self.events.append(message)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _LIMIT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._come], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            piece = os.read(self._come, 1 << 20)
            assert piece, "the browser has ended"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))

    def open(self, file: Path, width: int = 1280, height: int = 900) -> None:
        """Load a file, and wait until it is there."""
        self.events.clear()
        self.resize(width, height)
        self.ask("Page.navigate", url=file.as_uri())
        end = time.monotonic() + _LIMIT_S
        while self.run("document.readyState") != "complete" or self.run("location.href") != file.as_uri():
            assert time.monotonic() < end, "the page does not load"
            time.sleep(0.02)

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **metrics)

    def run(self, program: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        made = self.ask("Runtime.evaluate", expression=program, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in made, made["exceptionDetails"]
        return made["result"].get("value")

    def hover(self, x: float, y: float) -> None:
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, file: Path, whole: bool = True) -> None:
        """All of the page, or what is seen without scrolling, as PNG."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        file.write_bytes(base64.b64decode(shot["data"]))

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    def troubles(self) -> list[str]:
        """What the console said, exceptions, and every request but that of the page itself."""
        self.run("new Promise(done => setTimeout(done, 50))")
        found = []
        for event in self.events:
            params = event.get("params", {})
            match event.get("method"):
                case "Log.entryAdded":
                    found.append(str(params["entry"]["text"]))
                case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                    found.append(json.dumps(params)[:500])
                case "Network.requestWillBeSent" if params["type"] != "Document":
                    found.append(str(params["request"]["url"]))
        return found


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with its own profile in a folder."""
    assert PROGRAM
    read_there, to = os.pipe()
    come, write_there = os.pipe()
    words = [PROGRAM, *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(
        ["bash", "-c", f'exec "$@" 3<&{read_there} 4>&{write_there}', "bash", *words],
        pass_fds=(read_there, write_there),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(read_there)
    os.close(write_there)
    try:
        found = Browser(to, come)
        target = found.ask("Target.createTarget", url="about:blank")["targetId"]
        session = found.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        found.session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            found.ask(f"{domain}.enable")
        yield found
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with its helpers, which write into the profile
        process.wait()
        os.close(to)
        os.close(come)
