"""One process, one kernel."""

from __future__ import annotations

import importlib.util
import os
import posix
import site
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ipybox_kernel import imports, stack


def prepare() -> None:
    """Set up what ipykernel reads when it is imported; call it before any such import.

    No debugger: it costs 40 ms and 8 MiB. No polling of a parent: the supervisor uses
    PR_SET_PDEATHSIG.
    """
    stack.keep()
    sys.modules.setdefault("debugpy", None)  # type: ignore[arg-type]
    os.environ.pop("JPY_PARENT_PID", None)
    need_home()


def need_home() -> None:
    """Give a user who has neither a name nor HOME the root as home, as containers do; ipykernel
    does not start without."""
    if os.path.expanduser("~") == "~":
        os.environ["HOME"] = "/"


def enter_user_site() -> None:
    """Have what users can write on the path: PYTHONPATH, their site-packages with its .pth files,
    and usercustomize. Python was started without (-I); call this when the kernel's own modules are
    imported and its walls stand.

    The directory is made: a package that is installed later is to be found.
    """
    for place in reversed(os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        if place and place not in sys.path:
            sys.path.insert(0, place)
    _add_generated_names()
    if not sys.flags.isolated or in_venv() or os.environ.get("PYTHONNOUSERSITE"):
        return
    site.USER_BASE = site.USER_SITE = None  # of another environment
    path = site.getusersitepackages()
    if not os.path.isabs(path):
        return  # no home: it begins with "~"
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        return  # pip cannot install there either, and says why
    site.ENABLE_USER_SITE = True
    with without_exit():
        _add_user_site(path)
        stack.give_way(path)
        if found := importlib.util.find_spec("usercustomize"):
            tell_loading(str(found.origin))
        try:
            site.execusercustomize()
        except SystemExit as error:
            print(f"usercustomize: {error!r}", file=sys.stderr)
    tell_loading()


def tell_loading(path: str = "") -> None:
    """Tell the server what of the user's is loaded next, "" when all is: should this process end by
    it, or never come up, the server names it. src/jupyter/loading.h has the form."""
    line = f"\x1e{path}".replace("\n", "?") + "\n"
    with suppress(OSError):
        os.write(2, line.encode(errors="surrogateescape"))


class Exit(SystemExit):
    """In place of an os._exit()."""

    def __repr__(self) -> str:
        return f"os._exit({self.code})"


@contextmanager
def without_exit() -> Iterator[None]:
    """Have os._exit() be an exception that names its caller: a package that calls it when it is
    loaded would end every kernel, and so keep the user from removing it. Forks of this process do
    exit."""
    stock, loading, ours = os._exit, True, os.getpid()

    def leave(status: int) -> None:
        if loading and os.getpid() == ours:
            raise Exit(status)
        stock(status)

    os._exit = posix._exit = leave  # type: ignore[assignment]
    try:
        yield
    finally:
        loading = False  # for who has kept it
        os._exit = posix._exit = stock


def in_venv() -> bool:
    """Whether this Python is one that leaves users' packages out. A native installation is in one,
    and has a place for them all the same: the workspace's."""
    return sys.prefix != sys.base_prefix and os.environ.get("IPYBOX_NATIVE") != "1"


def _add_generated_names() -> None:
    """What generated packages import and a wheel cannot install under its own name: mcpygen is also
    a package on PyPI, which may be there for what else it has, and then comes first."""
    names = Path(__file__).parent.parent / "ipybox" / "_kernel"
    if names.is_dir():
        sys.path.append(str(names))
    imports.install()


def _add_user_site(path: str) -> None:
    """As Python does: before what all users share, and what .pth files name behind it."""
    start = next(
        (i for i, entry in enumerate(sys.path) if entry.endswith("-packages")), len(sys.path)
    )
    shared = sys.path[start:]
    sys.path[start:] = [path]
    for name in sorted(os.listdir(path)):
        if not name.endswith(".pth") or name.startswith("."):
            continue
        tell_loading(f"{path}/{name}")
        try:
            site.addpackage(path, name, None)
        except (Exception, SystemExit) as error:  # a kernel without it is better than none
            print(f"{path}/{name}: {error!r}", file=sys.stderr)
    sys.path += [entry for entry in shared if entry not in sys.path]


def add_working_directory() -> None:
    """Have the working directory on the path where IPython puts it, which does not do so in a
    Python that was started isolated."""
    if "" in sys.path or os.environ.get("PYTHONSAFEPATH"):
        return
    start = next((i for i, entry in enumerate(sys.path) if entry.endswith("-packages")), 0)
    sys.path.insert(start, "")


def forget_flags() -> None:
    """Have Pythons that a cell starts (multiprocessing does) not be isolated as this one is."""
    import multiprocessing.util
    import subprocess

    stock = subprocess._args_from_interpreter_flags  # type: ignore[attr-defined]

    def flags() -> list[str]:
        return [word for word in stock() if word not in ("-I", "-E", "-s", "-P")]

    for module in subprocess, multiprocessing.util:
        module._args_from_interpreter_flags = flags  # type: ignore[attr-defined]


def package_directories() -> list[str]:
    """Where installed packages appear, the user's first: their times tell that something was
    installed. The user's is made, which kernels in a sandbox may not do."""
    user = site.getusersitepackages()
    if os.path.isabs(user) and sys.flags.isolated and not in_venv():
        with suppress(OSError):
            os.makedirs(user, exist_ok=True)
    return [user, *(path for path in sys.path if path.endswith("-packages") and path != user)]


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
    forget_flags()
    enter_user_site()
    app = App.instance(config=configure())
    app.shell_runner = runner
    with app.starting():
        app.initialize(argv)
        settle()
    app.start()
