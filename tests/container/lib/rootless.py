"""Runs a command as root of a user namespace of its own, as rootless Docker and Podman do.

Usage: rootless.py MAP... -- COMMAND...

MAP is INSIDE,OUTSIDE,COUNT, for uids and for gids; a single one is what a user without subordinate
ids can have. Run by root in a container that may make namespaces (`rootless` in helpers.bash). The
command is process 1 of a PID namespace. Ends with the command's status.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path


def become_root_and_run(ready: int, go: int, command: list[str]) -> int:
    """The child's part; the maps are written between `ready` and `go`."""
    os.unshare(os.CLONE_NEWUSER)
    os.close(ready)
    os.read(go, 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.unshare(os.CLONE_NEWPID | os.CLONE_NEWNS)
    if (first := os.fork()) == 0:
        subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(command[0], command)
    return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])


def main() -> int:
    cut = sys.argv.index("--")
    lines = "\n".join(word.replace(",", " ") for word in sys.argv[1:cut]).encode()
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go[1])
        return become_root_and_run(ready[1], go[0], sys.argv[cut + 1 :])
    os.close(ready[1])
    os.read(ready[0], 1)
    if cut == 2:
        Path("/proc", str(child), "setgroups").write_text("deny")
    for name in "uid_map", "gid_map":
        with open(Path("/proc", str(child), name), "wb", buffering=0) as file:
            file.write(lines)  # in one piece, or it is refused
    os.close(go[1])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


sys.exit(main())
