# SPDX-License-Identifier: Apache-2.0
"""Firefox as browser.py drives Chromium, by WebDriver BiDi (https://w3c.github.io/webdriver-bidi/).

What differs: a drop of files is made by a script, since BiDi has none; a picture has the scheme of
the page, whatever was asked for.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

from tornado.websocket import websocket_connect

PROFILE = Path("/tmp/firefox")
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "ArrowUp": "\ue013",
    "F6": "\ue036",
}
CONTROL = "\ue009"
DEPTH = 20  # of values that scripts return
MESSAGE_MAX = 256 << 20  # bytes

DROP = """(() => {
  const all = new DataTransfer();
  for (const [name, size] of Object.entries(%s)) data.items.add(new File(["x".repeat(size)], name));
  const target = document.querySelector(%s);
  for (const type of ["dragenter", "dragover", "drop"])
    target.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: all}));
})()"""


def decode(value: dict[str, Any]) -> Any:
    """What JSON would make of a value of BiDi."""
    kind, inner = value["type"], value.get("value")
    if kind == "array":
        return [decode(item) for item in inner or []]
    if kind == "object":
        return {key: decode(item) for key, item in inner or []}
    if kind == "number" and isinstance(inner, str):  # NaN and its kind
        return None
    return inner if kind in ("string", "number", "boolean") else None


class Firefox:
    """One page."""

    def __init__(self, downloads: Path) -> None:
        PROFILE.mkdir()
        settings = {
            "browser.download.dir": str(downloads),
            "browser.download.folderList": 2,
            "browser.download.useDownloadDir": True,
            "browser.download.alwaysOpenPanel": False,
            "media.peerconnection.enabled": True,
        }
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in settings.items()]
        (PROFILE / "user.js").write_text("\n".join(lines))
        self.process = subprocess.Popen(
            [
                *("firefox-esr", "--headless", "--no-remote", "--profile", str(PROFILE)),
                *("--remote-debugging-port", "0", "--width", "1280", "--height", "900"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={"HOME": "/tmp", "PATH": "/usr/bin:/bin", "MOZ_DISABLE_CONTENT_SANDBOX": "1"},
        )
        assert self.process.stderr is not None
        address = ""
        while not address:
            line = self.process.stderr.readline()
            if not line:
                raise EOFError("the browser is gone")
            found = re.search(r"ws://\S+", line)
            address = found[0] if found else ""
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.socket = self.loop.run_until_complete(self._connect(f"{address}/session"))
        self.loop.run_in_executor(None, self.process.stderr.read)  # or it would stand still
        self.last = 0
        self.complaints: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self.page = self.call("browsingContext.getTree")["contexts"][0]["context"]

    @staticmethod
    async def _connect(address: str) -> Any:
        return await websocket_connect(address, max_message_size=MESSAGE_MAX)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.last += 1
        message = json.dumps({"id": self.last, "method": method, "params": params})
        return self.loop.run_until_complete(self._ask(method, message))

    async def _ask(self, method: str, message: str) -> dict[str, Any]:
        await self.socket.write_message(message)
        while True:
            text = await self.socket.read_message()
            if text is None:
                raise EOFError("the browser is gone")
            answer = json.loads(text)
            if answer.get("id") == self.last:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['error']}: {answer['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("params", {}).get("type") == "javascript":
                self.complaints.append(json.dumps(answer["params"]["text"]))

    def find(self, frame: str) -> str:
        """The newest frame whose address contains that, or nothing."""
        found = ""
        waiting = list(self.call("browsingContext.getTree", root=self.page)["contexts"])
        while waiting:
            context = waiting.pop(0)
            waiting += context["children"] or []
            if context["context"] != self.page and frame in context["url"]:
                found = context["context"]
        return found

    def run(self, script: str, frame: str = "") -> Any:
        context = self.find(frame) if frame else self.page
        if not context:
            return None
        result = self.call(
            "script.evaluate",
            expression=script,
            target={"context": context},
            awaitPromise=True,
            serializationOptions={"maxObjectDepth": DEPTH, "maxDomDepth": 0},
        )
        if result["type"] == "exception":
            raise RuntimeError(json.dumps(result["exceptionDetails"]["text"]))
        return decode(result["result"])

    def open(self, url: str) -> None:
        self.call("browsingContext.navigate", context=self.page, url=url, wait="complete")

    def _act(self, source: dict[str, Any]) -> None:
        self.call("input.performActions", context=self.page, actions=[source])

    def press(self, key: str, ctrl: bool) -> None:
        keys = [CONTROL] * ctrl + [KEYS.get(key, key)]
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._act({"type": "key", "id": "keys", "actions": down + up})

    def strike(self, text: str) -> None:
        for one in text:
            self.press({"\r": "Enter", "\n": "Enter"}.get(one, one), ctrl=False)

    def type(self, text: str) -> None:
        if not self.run(f"document.execCommand('insertText', false, {json.dumps(text)})"):
            raise RuntimeError("nothing takes the text")

    def move(self, x: float, y: float) -> None:
        at = {"type": "pointerMove", "x": round(x), "y": round(y)}
        self._act({"type": "pointer", "id": "mouse", "actions": [at]})

    def picture(self, width: int, height: int, scheme: str) -> str:
        size = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self.page, viewport=size)
        data: str = self.call("browsingContext.captureScreenshot", context=self.page)["data"]
        return data

    def choose(self, selector: str, paths: list[str]) -> None:
        locator = {"type": "css", "value": selector}
        found = self.call("browsingContext.locateNodes", context=self.page, locator=locator)
        element = {"sharedId": found["nodes"][0]["sharedId"]}
        self.call("input.setFiles", context=self.page, element=element, files=paths)

    def drop(self, selector: str, paths: list[str]) -> None:
        sizes = {Path(path).name: Path(path).stat().st_size for path in paths}
        self.run(DROP % (json.dumps(sizes), json.dumps(selector)))
