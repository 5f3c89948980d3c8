"""Shell commands of cells, `!command` and the magics that run one.

Nobody can type there, but IPython gives a command a terminal. So its standard input is /dev/null:
what asks gets the end of input at once, and not the cell's time-out. A command that names its input
(`< file`, a pipe) has that.
"""

from __future__ import annotations

import shutil
from typing import Any

import ipykernel.zmqshell
import IPython.core.interactiveshell
import IPython.utils.process

_HOLDERS: tuple[Any, ...] = (
    ipykernel.zmqshell,
    IPython.core.interactiveshell,
    IPython.utils.process,
)
_stock_system = IPython.utils.process.system  # type: ignore[attr-defined]


def _system(cmd: str) -> int:
    """Execute a command in a subshell that has nothing to read; returns its status."""
    status: int = _stock_system(f"exec </dev/null; {cmd}")
    return status


def install(shell: Any) -> None:
    """Have `!command` read nothing, and %uv be the uv that `!uv` is."""
    for module in _HOLDERS:
        module.system = _system
    stock_uv = shell.find_line_magic("uv")

    def uv(line: str) -> None:
        """Run uv. `%uv pip install` installs where pip does."""
        if stock_uv is not None and shutil.which("uv") is None:
            stock_uv(line)
            return
        shell.system(f"uv {line}")
        print("Note: you may need to restart the kernel to use updated packages.")

    shell.register_magic_function(uv, "line", "uv")
