"""A real Chromium that a test drives through the DevTools protocol, over a pipe: nothing to install but Chromium."""

import base64
import contextlib
import fcntl
import itertools
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from cbo_pipeline.pages.article import pdf

PROGRAM = pdf.browser()
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
SPOKEN = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")


class Browser:
    """One window. ``with Browser(folder) as browser: browser.open(page)``; the folder takes its profile."""

    def __init__(self, folder: Path):
        orders, self._write = os.pipe()
        self._read, answers = os.pipe()

        def wire() -> None:
            """The browser takes orders from descriptor 3 and answers on descriptor 4."""
            high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (orders, answers)]
            for number, end in zip((3, 4), high, strict=True):
                os.dup2(end, number, inheritable=True)

        self._process = subprocess.Popen(
            [PROGRAM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            preexec_fn=wire,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(orders)
        os.close(answers)
        self._numbers, self._rest, self._session = itertools.count(1), b"", None
        self.events: list[dict[str, Any]] = []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *error) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._session = None
            self.call("Browser.close")
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def call(self, method: str, **params) -> dict[str, Any]:
        """One call of the protocol; events that come before its answer are kept."""
        number = next(self._numbers)
        order = {"id": number, "method": method, "params": params}
        order |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(order).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, after it is settled."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 60) -> Any:
        """Wait until an expression is true; a test fails if it never is."""
        until = time.monotonic() + seconds
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < until, f"not so after {seconds} s: {expression}; {self.spoken()}"
            time.sleep(0.05)
        return value

    def open(
        self,
        page: Path,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        mobile: bool = False,
        ready: str = "document.documentElement?.dataset.ready !== undefined",
    ) -> None:
        """Open a file in a window of that size; returns when the page says, by an expression, that it is ready."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=page.absolute().as_uri())
        self.wait_for(ready, 120)

    def requests(self) -> list[str]:
        """Everything that the page has asked for since it was opened, itself included."""
        self.evaluate("1")
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def spoken(self) -> list[dict[str, Any]]:
        """What the page has written to the console, and errors that nobody caught."""
        return [event["params"] for event in self.events if event.get("method") in SPOKEN]

    def place(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element, after it was scrolled into sight."""
        script = f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = element.getBoundingClientRect();
            return [box.x, box.y, box.width, box.height];
        }})()"""
        return tuple(self.evaluate(script))

    def mouse(self, kind: str, x: float, y: float, **more) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def point_at(self, x: float, y: float) -> None:
        """Move the pointer there, as a hand does: not in one leap."""
        self.mouse("mouseMoved", x - 3, y)
        self.mouse("mouseMoved", x, y)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def press(self, key: str, **more) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def screenshot(self, path: Path) -> Path:
        """The whole page as a picture."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path
