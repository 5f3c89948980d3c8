"""One process, one kernel."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path


def prepare() -> None:
    """Set up what ipykernel reads when it is imported; call it before any such import.

    No debugger: it costs 40 ms and 8 MiB. No polling of a parent: the supervisor uses
    PR_SET_PDEATHSIG.
    """
    add_user_site()
    sys.modules.setdefault("debugpy", None)  # type: ignore[arg-type]
    os.environ.pop("JPY_PARENT_PID", None)
    need_home()


def need_home() -> None:
    """Give a user who has neither a name nor HOME the root as home, as containers do; ipykernel
    does not start without."""
    if os.path.expanduser("~") == "~":
        os.environ["HOME"] = "/"


def add_user_site() -> None:
    """Have the user's site-packages on the path even before anything was installed there.

    Python leaves out a directory that does not exist when it starts; a package installed later
    would only be found by the next process.
    """
    if not site.ENABLE_USER_SITE:
        return
    path = site.getusersitepackages()
    if not os.path.isabs(path):
        return  # no home: it begins with "~"
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        return  # pip cannot install there either, and says why
    if path in sys.path:
        return
    site.addsitedir(path)
    if path in sys.path:  # where Python would have put it: before what all users share
        sys.path.remove(path)
    shared = [i for i, entry in enumerate(sys.path) if entry.endswith("-packages")]
    sys.path.insert(shared[0] if shared else len(sys.path), path)


def package_directories() -> list[str]:
    """Where installed packages appear: their times tell that something was installed."""
    return [path for path in sys.path if path.endswith("-packages")]


def set_arguments(argv: list[str]) -> None:
    """Show programs the sys.argv that they know from other ipykernels: argparse, for one, names the
    program by it. ipykernel has been imported."""
    import ipykernel

    launcher = Path(ipykernel.__path__[0]).with_name("ipykernel_launcher.py")
    sys.argv[:] = [str(launcher), *argv]


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
    from ipybox_kernel import shell_approval

    runner = shell_approval.prepare()
    from ipybox_kernel.app import App, configure

    set_arguments(argv)
    app = App.instance(config=configure())
    app.shell_runner = runner
    app.initialize(argv)
    settle()
    app.start()
