# SPDX-License-Identifier: Apache-2.0
"""A browser in its container: Chromium by its DevTools pipe, or with BROWSER=firefox firefox.py.

Requests are lines of JSON on standard input, answers go to standard output:
{"do": "open", "url": …}, {"do": "run", "script": …} (its value; with "frame": in the frame of
another origin whose address contains that),
{"do": "picture", "width": …, "height": …, "scheme": "light" or "dark"} (PNG in base64),
{"do": "press", "key": …, "ctrl": …}, {"do": "move", "x": …, "y": …},
{"do": "type", "text": …}, {"do": "errors"} (what its script has thrown and not caught),
{"do": "choose" or "drop", "selector": …, "files": {name: size in bytes}},
{"do": "serve", "script": …} (a program beside the browser),
{"do": "downloads"} (name to SHA-256 of what has been saved, whole),
{"do": "read", "name": …} (the text of one of them).
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from firefox import Firefox

DOWNLOADS = Path("/tmp/downloads")
UPLOADS = Path("/tmp/uploads")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--window-size=1280,900",
    "--user-data-dir=/tmp/browser",
    "--remote-debugging-pipe",
]
CODES = {" ": "Space", "c": "KeyC", "i": "KeyI"}  # of keys whose name is another
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "c": 67, "i": 73, "F6": 117}


class Chromium:
    """One page. Answers are taken as they come; events are kept when they are complaints."""

    def __init__(self) -> None:
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        more = shlex.split(os.environ.get("BROWSER_FLAGS", ""))
        start = f'exec chromium "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(
            ["bash", "-c", start, "bash", *FLAGS, *more, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.last = 0
        self.session = ""
        self.rest = b""
        self.complaints: list[str] = []
        self.frames: list[str] = []  # sessions of frames of other origins
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(DOWNLOADS))
        pages: list[str] = []
        while not pages:  # the first one may take a moment
            targets = self.call("Target.getTargets")["targetInfos"]
            pages = [target["targetId"] for target in targets if target["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=pages[0], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")
        self.call(
            "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True
        )

    def read(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = os.read(self.read_end, 1 << 16)
            if not more:
                raise EOFError("the browser is gone")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.last += 1
        session = params.pop("in_session", self.session)
        message = {"id": self.last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.keep(answer)
            if session and session not in (self.session, *self.frames):
                raise RuntimeError(f"{method}: the frame is gone")

    def keep(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["params"]))
        elif event.get("method") == "Target.attachedToTarget":
            self.frames.append(event["params"]["sessionId"])
        elif event.get("method") == "Target.detachedFromTarget":
            self.frames.remove(event["params"]["sessionId"])

    def find(self, frame: str) -> str:
        """The session of the newest frame whose address contains that, or nothing."""
        self.call("Runtime.evaluate", expression="0")  # what has come or gone is known then
        for session in reversed(list(self.frames)):
            with suppress(RuntimeError):  # it may go at this moment
                found = self.call(
                    "Runtime.evaluate", in_session=session, expression="location.href"
                )
                if frame in str(found["result"].get("value")):
                    return session
        return ""

    def run(self, script: str, frame: str = "") -> Any:
        session = self.find(frame) if frame else ""
        if frame and not session:
            return None
        result = self.call(
            "Runtime.evaluate",
            in_session=session or self.session,
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def open(self, url: str) -> None:
        why = self.call("Page.navigate", url=url).get("errorText")
        if why:
            raise RuntimeError(why)

    def type(self, text: str) -> None:
        """All at once, as what is pasted comes."""
        self.call("Input.insertText", text=text)

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str, ctrl: bool) -> None:
        details = {
            "key": key,
            "code": CODES.get(key, key),
            "windowsVirtualKeyCode": KEYS[key],
            "modifiers": 2 if ctrl else 0,
        }
        text = {"Enter": "\r", " ": " "}.get(key, "")
        down = {"type": "keyDown", "text": text} if text and not ctrl else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **details, **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", **details)

    def strike(self, text: str) -> None:
        """Key by key, as a keyboard does it; type() brings the text at once."""
        for one in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=one, text=one)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=one)

    def picture(self, width: int, height: int, scheme: str) -> str:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        data: str = self.call("Page.captureScreenshot")["data"]
        return data

    def choose(self, selector: str, paths: list[str]) -> None:
        found = self.call("Runtime.evaluate", expression=f"document.querySelector('{selector}')")
        self.call("DOM.setFileInputFiles", files=paths, objectId=found["result"]["objectId"])

    def drop(self, selector: str, paths: list[str]) -> None:
        self.run(f"document.querySelector('{selector}').scrollIntoView()")
        box = self.run(f"document.querySelector('{selector}').getBoundingClientRect().toJSON()")
        data = {"items": [], "files": paths, "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call(
                "Input.dispatchDragEvent", type=kind, x=box["x"] + 5, y=box["y"] + 5, data=data
            )


def make_files(sizes: dict[str, int]) -> list[str]:
    UPLOADS.mkdir(exist_ok=True)
    paths = [UPLOADS / name for name in sizes]
    for path, size in zip(paths, sizes.values(), strict=True):
        path.write_bytes(b"x" * size)
    return [str(path) for path in paths]


def downloads() -> dict[str, str]:
    found = {}
    for path in DOWNLOADS.glob("*"):
        with suppress(FileNotFoundError):  # it may get its name at this moment
            if path.suffix != ".crdownload":
                found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


Browser = Chromium | Firefox


def visit(browser: Browser, url: str) -> None:
    while True:
        try:
            return browser.open(url)
        except RuntimeError:
            time.sleep(0.1)  # the server is not up yet


ACTS: dict[str, Callable[[Browser, dict[str, Any]], Any]] = {
    "open": lambda browser, ask: visit(browser, ask["url"]),
    "run": lambda browser, ask: browser.run(ask["script"], ask.get("frame", "")),
    "serve": lambda browser, ask: subprocess.Popen([sys.executable, ask["script"]]).pid,
    "picture": lambda browser, ask: browser.picture(ask["width"], ask["height"], ask["scheme"]),
    "press": lambda browser, ask: browser.press(ask["key"], ask["ctrl"]),
    "move": lambda browser, ask: browser.move(ask["x"], ask["y"]),
    "strike": lambda browser, ask: browser.strike(ask["text"]),
    "type": lambda browser, ask: browser.type(ask["text"]),
    "choose": lambda browser, ask: browser.choose(ask["selector"], make_files(ask["files"])),
    "drop": lambda browser, ask: browser.drop(ask["selector"], make_files(ask["files"])),
    "downloads": lambda browser, ask: downloads(),
    "read": lambda browser, ask: (DOWNLOADS / ask["name"]).read_text(),
    "errors": lambda browser, ask: browser.complaints,
}


def main() -> None:
    is_firefox = os.environ.get("BROWSER") == "firefox"
    browser: Browser = Firefox(DOWNLOADS) if is_firefox else Chromium()
    for line in sys.stdin:
        try:
            ask = json.loads(line)
            answer = {"value": ACTS[ask["do"]](browser, ask)}
        except RuntimeError as e:
            answer = {"error": str(e)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    browser.process.kill()


main()
