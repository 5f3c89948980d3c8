# SPDX-License-Identifier: Apache-2.0
"""Cells that run until a test says so: what comes meanwhile is seen without a clock."""

from __future__ import annotations

import secrets
from pathlib import Path

from box import GUARD

# Longer than any test waits: for a cell's `timeout`, or what it sleeps.
FOREVER = 10 * GUARD

# Prints, and runs until it is interrupted. SEEN tells what came of it, if UNSEEN was run before.
ENDLESS = f"""
import time
try:
    begun = True
    print('begun', flush=True)
    time.sleep({FOREVER})
except KeyboardInterrupt:
    ended = 'interrupted'
""".strip()
UNSEEN = "begun = ended = None"
SEEN = "(begun, ended)"
INTERRUPTED = "(True, 'interrupted')"
# For who gives up by a clock of its own: the cell may not have begun.
GIVEN_UP = (INTERRUPTED, "(None, None)")


class Held:
    """A cell of this workspace that prints "step 0" and "step 1", and after each waits until that
    has been heard. `text` is all that was heard."""

    def __init__(self, workspace: Path) -> None:
        self.text = ""
        self.marks = [workspace / f"heard-{secrets.token_hex(8)}" for _ in range(2)]
        self.code = (
            f"import os, time\nfor n, mark in enumerate({[mark.name for mark in self.marks]}):\n"
            "    print('step', n)\n    while not os.path.exists(mark): time.sleep(0.01)"
        )

    def hear(self, text: str | None) -> None:
        self.text += text or ""
        for n, mark in enumerate(self.marks):
            if f"step {n}\n" in self.text:
                mark.touch()

    def let_go(self) -> None:
        for mark in self.marks:
            mark.touch()
