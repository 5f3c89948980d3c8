"""Before code of LibreChat's wire: what a cell is given so that it runs as the client says.

The server runs a cell that calls prepare() in a new kernel, and behind it the client's code. See
docs/librechat.md.
"""

from __future__ import annotations

import asyncio
import keyword
import re
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ipybox_tools import concurrent
from ipybox_tools.errors import ToolRunnerError

SERVER = "librechat"  # as the tool socket knows the client


def prepare(order: Mapping[str, Any]) -> None:
    """Put the files of `order` into the folder of the cell, and its arguments into sys.argv.

    `files` are pairs of an absolute path and a name below the folder; `args` are texts; `tools` are
    names, each of which becomes a function to be awaited. Raises OSError when a file cannot be
    copied.
    """
    for source, name in order["files"]:
        place = Path(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)
    sys.argv = ["main.py", *order["args"]]
    from IPython import get_ipython  # of the kernel: this package needs none

    shell: Any = get_ipython()
    shell.user_ns.update({identifier(name): _function(name) for name in order["tools"]})
    if order["script"]:
        _hide_loop(shell)


def identifier(name: str) -> str:
    """What clients call the tool in their code."""
    text = re.sub(r"[^a-zA-Z0-9_]", "", re.sub(r"[-\s]", "_", name))
    text = f"_{text}" if text[:1].isdigit() else text
    return f"{text}_tool" if keyword.iskeyword(text) else text


def _function(name: str) -> Callable[..., Awaitable[Any]]:
    async def call(*given: Mapping[str, Any], **arguments: Any) -> Any:
        for more in given:
            arguments = {**more, **arguments}
        asked = {"server_name": SERVER, "tool_name": name, "tool_args": arguments}
        answer = await concurrent.call("run", asked)
        if "error" in answer:
            raise ToolRunnerError(answer["error"])
        return answer["result"]["value"]

    call.__name__ = call.__qualname__ = identifier(name)
    return call


def _hide_loop(shell: Any) -> None:
    """A script may call asyncio.run(): the kernel's own loop is none of its business."""
    hidden: list[asyncio.AbstractEventLoop | None] = []

    def hide(*_: Any) -> None:
        hidden.append(asyncio._get_running_loop())
        asyncio._set_running_loop(None)

    def show(*_: Any) -> None:
        if hidden:
            asyncio._set_running_loop(hidden.pop())

    shell.events.register("pre_run_cell", hide)
    shell.events.register("post_run_cell", show)
