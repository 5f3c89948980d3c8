# SPDX-License-Identifier: Apache-2.0
"""A page in a browser, which console/browser.py drives in a container beside the server: Chromium,
or with PEER_BROWSER_KIND=firefox Firefox."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECONDS = 60
KIND = os.environ.get("PEER_BROWSER_KIND", "chromium")
EDITOR = "document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')"
FRAME = "console/frame.html"


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
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def run(self, script: str, frame: str = "") -> Any:
        return self.do("run", script=script, frame=frame)

    def wait(self, script: str, frame: str = "") -> Any:
        end = time.monotonic() + SECONDS
        while not (value := self.run(script, frame)):
            assert time.monotonic() < end, f"{script}: {self.run('document.body.innerText')}"
            time.sleep(0.1)
        return value

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
        self.process.wait(30)


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
        end = time.monotonic() + SECONDS
        while (value := self.run(script, FRAME)) is None:
            assert time.monotonic() < end, script
            time.sleep(0.1)
        return value
