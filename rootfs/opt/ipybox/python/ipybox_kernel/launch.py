"""One process, one kernel."""

from __future__ import annotations

import os
import sys


def prepare() -> None:
    """Set up what ipykernel reads when it is imported; call it before any such import.

    No debugger: it costs 40 ms and 8 MiB. No polling of a parent: the supervisor uses
    PR_SET_PDEATHSIG. -m has put the working directory, which is the user's, before the standard
    library; IPython adds it again in its proper place.
    """
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
    sys.modules.setdefault("debugpy", None)  # type: ignore[arg-type]
    os.environ.pop("JPY_PARENT_PID", None)
    need_home()


def need_home() -> None:
    """Give a user who has neither a name nor HOME the root as home, as containers do; ipykernel
    does not start without."""
    if os.path.expanduser("~") == "~":
        os.environ["HOME"] = "/"


def settle() -> None:
    """Undo, once ipykernel has looked, what user code must not see."""
    if sys.modules.get("debugpy", prepare) is None:
        del sys.modules["debugpy"]


def main(argv: list[str]) -> None:
    """Run one kernel; `argv` is ipykernel's, most often ``["-f", CONNECTION_FILE]``.

    Returns when the kernel was shut down. Exits with status 1, and the reason on stderr, if the
    arguments, the connection file or IPYTHONDIR are of no use.
    """
    prepare()
    from ipybox_kernel.app import App, configure

    app = App.instance(config=configure())
    app.initialize(argv)
    settle()
    app.start()
