# SPDX-License-Identifier: Apache-2.0
"""A page in a browser, which console/browser.py drives in a container beside the server: Chromium,
or with PEER_BROWSER_KIND=firefox Firefox."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from box import GUARD, until

HERE = Path(__file__).parent
KIND = os.environ.get("PEER_BROWSER_KIND", "chromium")
EDITOR = "document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')"
FRAME = "console/frame.html"


class ScriptError(Exception):
    """A script has thrown, or the frame in which it ran is gone."""


class Page:
    """What the browser shows; every question is asked until its answer is right."""

    def __init__(self, server: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [
                *("docker", "run", "-i", "--rm", "--init", "--network", f"container:{server}"),
                *("-v", f"{HERE}/console:/console:ro", "-e", f"BROWSER={KIND}"),
                *(*options, os.environ["PEER_BROWSER"]),
                *("python3", "-u", "/console/browser.py"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, what: str, **more: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ScriptError(answer["error"])
        return answer["value"]

    def run(self, script: str, frame: str = "") -> Any:
        return self.do("run", script=script, frame=frame)

    def ask(self, script: str, frame: str, is_right: Callable[[Any], object]) -> Any:
        """Until the answer is right. A page that loads has no body, a frame may just be replaced: a
        script that throws has no answer yet."""
        last: object = None

        def answer() -> list[Any]:
            nonlocal last
            try:
                last = self.run(script, frame)
            except ScriptError as e:
                last = e
                return []
            return [last] if is_right(last) else []

        def told() -> str:
            return f"{script}: {last}: {self.run('document.body?.innerText', frame)}"

        return until(answer, told)[0]

    def wait(self, script: str, frame: str = "") -> Any:
        return self.ask(script, frame, bool)

    def wait_text(self, selector: str, text: str) -> None:
        self.wait(
            f"document.querySelector({json.dumps(selector)})"
            f"?.innerText.includes({json.dumps(text)})"
        )

    def press(self, label: str) -> None:
        """A button found by its accessible name, and pressed by key."""
        find = (
            "[...document.querySelectorAll('button')].find((b) => b.checkVisibility() &&"
            f" (b.getAttribute('aria-label') ?? b.textContent) === {json.dumps(label)})"
        )
        self.wait(f"Boolean({find})")
        self.run(f"{find}.focus()")
        self.do("press", key="Enter", ctrl=False)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(GUARD)


class Console(Page):
    """The console as a user has it."""

    def sign_in(self, url: str, token: str) -> None:
        self.do("open", url=url)
        self.wait("document.activeElement?.id === 'token'")
        self.do("type", text=token)
        self.do("press", key="Enter", ctrl=False)
        self.wait_text("#sessions", "default")

    def cell(self, code: str) -> None:
        """Typed by a user without a mouse."""
        self.wait(f"Boolean({EDITOR})")
        self.run(f"{EDITOR}.focus()")
        self.do("type", text=code)
        self.do("press", key="Enter", ctrl=True)
        self.wait(f"Boolean({EDITOR}.querySelector('.cm-placeholder'))")  # it is empty again

    def panel(self, title: str) -> None:
        tab = f"[...document.querySelectorAll('.tab')].find((b) => b.textContent === {title!r})"
        self.run(f"{tab}.getAttribute('aria-expanded') === 'true' || {tab}.click()")
        self.wait(f"{tab}.getAttribute('aria-expanded') === 'true'")

    def framed(self, script: str) -> Any:
        """The value of a script in the newest frame of an output; asked until it is not null."""
        return self.ask(script, FRAME, lambda value: value is not None)
