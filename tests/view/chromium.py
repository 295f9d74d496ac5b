"""A headless Chromium that tests drive, over pipes: the DevTools protocol needs no other package.

`python -m view.chromium` installs Debian's package where that is possible, before any test starts.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
NO_CHROMIUM = "no Chromium on this machine"
# Nothing but the page: no profile, no updates, no questions to anybody; /dev/shm may be small.
OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


@cache
def find_chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install_chromium() -> str | None:
    """Its path; None where it is not there and cannot be installed."""
    if find_chromium() is None and shutil.which("apt-get") and os.geteuid() == 0:
        print("chromium: installing the package, this once", file=sys.stderr, flush=True)
        wait = ["-o", "DPkg::Lock::Timeout=300"]
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            done = subprocess.run(
                ["apt-get", "-qq", *wait, *arguments],
                capture_output=True,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                check=False,
            )
            if done.returncode:
                return None
        find_chromium.cache_clear()
    return find_chromium()


class Tab:
    """A page that is open. What its script writes to the console is kept, as are its faults."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session
        self.problems: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, parameters, self)

    def hear(self, method: str, said: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.problems.append(json.dumps(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.problems.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])

    def open(
        self, address: str, width: int = 1400, height: int = 900, theme: str = "light"
    ) -> None:
        self.resize(width, height)
        feature = {"name": "prefers-color-scheme", "value": theme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait_for("document.documentElement?.dataset.ready !== undefined")

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, script: str) -> Any:
        """The value of an expression, which may be a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Until it is true: asked in the page, at each of its frames."""
        script = f"""new Promise((done) => {{
            const ask = () => {{ if ({condition}) done(true); else setTimeout(ask, 10); }};
            ask();
        }})"""
        while True:
            try:
                assert self.evaluate(script)
                return
            except ContextGone:  # the page before has left
                continue

    def frame(self) -> None:
        """Until what was asked to be drawn is drawn."""
        self.evaluate(
            "new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(() => d(1))))"
        )

    def press(self, key: str, modifiers: int = 0) -> None:
        texts = {"text": key} if len(key) == 1 else {}
        codes = {"Enter": 13, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                modifiers=modifiers,
                windowsVirtualKeyCode=codes.get(key, 0),
                **(texts if kind == "keyDown" else {}),
            )
        self.frame()

    def type(self, text: str) -> None:
        for character in text:
            self.press(character)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.frame()

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)
        self.frame()

    def middle(self, selector: str, place: int = 0) -> tuple[float, float]:
        box = self.evaluate(
            f"(() => {{ const box = document.querySelectorAll({json.dumps(selector)})[{place}]"
            ".getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        return box[0], box[1]

    def click_on(self, selector: str, place: int = 0) -> None:
        self.click(*self.middle(selector, place))

    def screenshot(self) -> bytes:
        self.frame()
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])


class ContextGone(Exception):
    pass


class Browser:
    def __init__(self, process: subprocess.Popen[bytes], reads: int, writes: int) -> None:
        self.process, self.reads, self.writes = process, reads, writes
        self.number = 0
        self.rest = b""
        self.tabs: dict[str, Tab] = {}

    def open_tab(self) -> Tab:
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        session = attached["sessionId"]
        tab = Tab.__new__(Tab)
        self.tabs[session] = tab
        tab.__init__(self, session)  # type: ignore[misc]
        return tab

    def call(
        self, method: str, parameters: dict[str, Any], tab: Tab | None = None
    ) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if tab is not None:
            message["sessionId"] = tab.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writes, data) :]
        return self._answer(self.number)

    def _answer(self, number: int) -> dict[str, Any]:
        while True:
            said = self._message()
            if said.get("id") == number:
                if "error" in said:
                    gone = "context" in said["error"]["message"] or "navigat" in str(said["error"])
                    raise ContextGone if gone else AssertionError(said["error"])
                answer: dict[str, Any] = said["result"]
                return answer
            if "method" in said and (tab := self.tabs.get(said.get("sessionId", ""))) is not None:
                tab.hear(said["method"], said["params"])

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = os.read(self.reads, 1 << 20)
            assert more, "Chromium has ended"
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(text)
        return found


@contextmanager
def opened() -> Iterator[Browser]:
    """A browser, ended at the end."""
    path = find_chromium()
    assert path is not None
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:

        def as_three_and_four() -> None:
            """The numbers at which Chromium looks for its pipes."""
            read, write = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(read, 3)
            os.dup2(write, 4)

        process = subprocess.Popen(
            [path, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=as_three_and_four,
            close_fds=False,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        browser = Browser(process, ours_in, ours_out)
        try:
            yield browser
        finally:
            process.terminate()
            process.wait()
            os.close(ours_in)
            os.close(ours_out)


def page_address(file: Path, panel: str = "") -> str:
    return f"{file.resolve().as_uri()}{f'#{panel}' if panel else ''}"


if __name__ == "__main__":
    print(f"chromium: {install_chromium() or NO_CHROMIUM}")
