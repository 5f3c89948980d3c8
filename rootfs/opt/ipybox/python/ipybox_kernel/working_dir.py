"""A kernel that works in the same folder in every cell.

IPYBOX_RESTORE_CWD names the folder, which the kernel enters, and goes back to after each cell that
has left it; a line of the cell's output says so. Code does not see the variable.
"""

from __future__ import annotations

import os
from typing import Any

VARIABLE = "IPYBOX_RESTORE_CWD"


def install(shell: Any) -> None:
    """Do as the environment asks for."""
    if place := os.environ.pop(VARIABLE, ""):
        keep(shell, place)


def keep(shell: Any, place: str) -> None:
    """Enter `place`, and have `shell` go back to it after each cell. Raises OSError."""
    os.chdir(place)

    def restore(_result: object = None) -> None:
        if _current() != place:
            os.chdir(place)
            print(f"[ipybox] cwd reset to {place}")

    shell.events.register("post_run_cell", restore)


def _current() -> str | None:
    """None when a cell has removed the folder that it was in."""
    try:
        return os.getcwd()
    except OSError:
        return None
