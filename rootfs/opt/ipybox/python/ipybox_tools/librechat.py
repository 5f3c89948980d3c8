"""Before code of LibreChat's wire: what a cell is given so that it runs as a script would.

The server runs a cell that calls prepare() in a new kernel, and behind it the client's code. See
docs/librechat.md.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def prepare(order: Mapping[str, Any]) -> None:
    """Put the files of `order` into the folder of the cell, and its arguments into sys.argv.

    `files` are pairs of an absolute path and a name below the folder; `args` are texts. Raises
    OSError when a file cannot be copied.
    """
    for source, name in order["files"]:
        place = Path(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)
    sys.argv = ["main.py", *order["args"]]
    if order["script"]:
        _hide_loop()


def _hide_loop() -> None:
    """A script may call asyncio.run(): the kernel's own loop is none of its business."""
    from IPython import get_ipython

    events = get_ipython().events
    hidden: list[asyncio.AbstractEventLoop | None] = []

    def hide(*_: Sequence[Any]) -> None:
        hidden.append(asyncio._get_running_loop())
        asyncio._set_running_loop(None)

    def show(*_: Sequence[Any]) -> None:
        if hidden:
            asyncio._set_running_loop(hidden.pop())

    events.register("pre_run_cell", hide)
    events.register("post_run_cell", show)
