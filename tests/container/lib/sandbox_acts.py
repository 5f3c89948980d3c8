"""What a sandbox has to allow and to refuse, tried in the container by the same acts inside and
outside of it.

    sandbox_acts.py plain|sandboxed OUTSIDE_PID FOREIGN_PORT

OUTSIDE_PID is a process of the same user outside of the sandbox, FOREIGN_PORT a port of 127.0.0.1
on which somebody outside listens. Prints every act with its outcome: "ok", the name of an errno, or
"gaierror N". The status is 1 when one is not as it has to be. Run in the workspace that
88-sandbox-modes.bats makes.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

KIND, OUTSIDE, FOREIGN_PORT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
CALLS = {  # the same numbers on x86_64 and aarch64, where they are above 424
    "x86_64": {"keyctl": 250, "unshare": 272, "userfaultfd": 323, "bpf": 321, "ptrace": 101},
    "aarch64": {"keyctl": 219, "unshare": 97, "userfaultfd": 282, "bpf": 280, "ptrace": 117},
}[os.uname().machine]
IO_URING_SETUP = 425
PTRACE_ATTACH = 16
CLONE_NEWNET = 0x40000000
TIOCSTI = 0x5412
WAIT = float(os.environ["WAIT"])  # seconds for whatever is waited for, as in drive.py


def read(path: str) -> Callable[[], object]:
    return lambda: Path(path).read_bytes()


def write(path: str) -> Callable[[], object]:
    return lambda: Path(path).write_text("new")


def call(number: int, *arguments: object) -> Callable[[], None]:
    def run() -> None:
        if libc.syscall(number, *arguments) < 0:
            raise OSError(ctypes.get_errno(), "")

    return run


def new_file() -> None:
    Path("new.txt").write_text("text")
    assert Path("new.txt").read_text() == "text"
    Path("new.txt").rename("newer.txt")
    Path("newer.txt").unlink()


def new_tree() -> None:
    os.makedirs("tree/of/folders")
    Path("tree/of/folders/file").write_text("x")
    os.chmod("tree/of/folders/file", 0o600)
    os.utime("tree/of/folders/file", (1, 1))
    os.symlink("file", "tree/of/folders/link")
    os.link("tree/of/folders/file", "tree/hard")
    os.truncate("tree/hard", 0)
    os.rename("tree/hard", "tree/of/hard")
    for path in ("of/hard", "of/folders/link", "of/folders/file"):
        os.unlink(f"tree/{path}")
    os.removedirs("tree/of/folders")


def connect(host: str, port: int) -> Callable[[], None]:
    return lambda: socket.create_connection((host, port), timeout=WAIT).close()


def own_listener() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        socket.create_connection(server.getsockname(), timeout=WAIT).close()


def make(family: int, kind: int) -> Callable[[], None]:
    return lambda: socket.socket(family, kind).close()


def abstract() -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("\0ipybox-acts")


def udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("127.0.0.1", 9))


def inject() -> None:
    """A character into the input of the terminal, where there is one."""
    main, other = os.openpty()
    try:
        fcntl.ioctl(other, TIOCSTI, b"x")
    finally:
        os.close(main)
        os.close(other)


def child() -> None:
    assert os.system("exit 3") == 3 << 8


ACTS: dict[str, Callable[[], object]] = {
    "read a file": read("README.md"),
    "read .env": read(".env"),
    "read .env by a symbolic link": read("link-to-env"),
    "read .env by /proc/self/cwd": read("/proc/self/cwd/.env"),
    "read .env by its parent": read("deep/../.env"),
    "link .env": lambda: os.link(".env", "copy"),
    "write .env": lambda: os.close(os.open(".env", os.O_WRONLY)),
    "move .env": lambda: os.rename(".env", "moved"),
    "read in a denied folder": read("deep/secret/file"),
    "read what is allowed in a denied folder": read("deep/secret/open/file"),
    "move the folder above a denied one": lambda: os.rename("deep", "deeper"),
    "create a name that a glob denies": write("late.key"),
    "make and move a file": new_file,
    "make a tree": new_tree,
    "write in a denied folder": write("frozen/file"),
    "write .bashrc": write(".bashrc"),
    "write a git hook": write(".git/hooks/pre-commit"),
    "write elsewhere": write("/tmp/elsewhere/file"),
    "make a folder elsewhere": lambda: os.mkdir("/tmp/elsewhere/folder"),
    "change a mode elsewhere": lambda: os.chmod("/tmp/elsewhere/there", 0o600),
    "remove elsewhere": lambda: os.unlink("/tmp/elsewhere/there"),
    "link what is denied": lambda: os.link("frozen/kept", "kept"),
    "write to /dev/null": write("/dev/null"),
    "start a child": child,
    "listen and connect on loopback": own_listener,
    "connect to a name that is allowed": connect("allowed.test", 8443),
    "connect to a foreign port of loopback": connect("127.0.0.1", FOREIGN_PORT),
    "look up a name that is not allowed": lambda: socket.getaddrinfo("denied.test", 8443),
    "connect to an address": connect("192.0.2.1", 80),
    "connect to the metadata service": connect("169.254.169.254", 80),
    "send a datagram": udp,
    "open a raw socket": make(socket.AF_INET, socket.SOCK_RAW),
    "open a vsock": make(socket.AF_VSOCK, socket.SOCK_STREAM),
    "bind an abstract name": abstract,
    "signal a process outside": lambda: os.kill(OUTSIDE, 0),
    "read the environment of a process outside": read(f"/proc/{OUTSIDE}/environ"),
    "trace a process outside": call(CALLS["ptrace"], PTRACE_ATTACH, OUTSIDE, 0, 0),
    "io_uring": call(IO_URING_SETUP, 1, ctypes.create_string_buffer(256)),
    "keyctl": call(CALLS["keyctl"], 0, -3, 0),
    "bpf": call(CALLS["bpf"], 0, ctypes.create_string_buffer(128), 128),
    "userfaultfd": call(CALLS["userfaultfd"], 1),
    "a network namespace": call(CALLS["unshare"], CLONE_NEWNET),
    "put words into a terminal": inject,
}


def outcome(act: Callable[[], object]) -> str:
    try:
        act()
    except socket.gaierror as error:
        return f"gaierror {error.errno}"
    except TimeoutError:
        return "timeout"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "ok"


NOT_HERE = {"EPERM", "EACCES", "ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESRCH"}
REFUSED = {"EPERM", "EACCES"}
ALLOWED = {  # in the sandbox as outside of it
    "read a file",
    "read what is allowed in a denied folder",
    "make and move a file",
    "make a tree",
    "write to /dev/null",
    "start a child",
    "listen and connect on loopback",
    "connect to a name that is allowed",
}
OUT_OF_HERE = {  # outside of the sandbox they show nothing but what network there is
    "connect to an address",
    "connect to the metadata service",
}
BY_POLICY = {  # refused with the error that the documents promise
    name
    for name in ACTS
    if name.split()[0] in {"read", "link", "move", "write", "make", "change", "remove", "create"}
} - ALLOWED
CLOSED_ANYWAY = {  # by the container, in one mode or the other
    "open a raw socket",
    "open a vsock",
    "io_uring",
    "keyctl",
    "bpf",
    "userfaultfd",
    "a network namespace",
    "put words into a terminal",
    "trace a process outside",
}


def wanted(name: str, result: str) -> bool:
    if name in ALLOWED:
        return result == "ok"
    if KIND == "plain":  # what is refused inside is possible outside: the sandbox is what refuses
        return result == "ok" or name in CLOSED_ANYWAY
    if name == "look up a name that is not allowed":
        return result.startswith("gaierror")
    if name == "read the environment of a process outside":
        return result in REFUSED
    return result == "EPERM" if name in BY_POLICY else result in NOT_HERE


wrong = False
for name, act in ACTS.items():
    if KIND == "plain" and name in OUT_OF_HERE:
        continue
    result = outcome(act)
    right = wanted(name, result)
    wrong = wrong or not right
    print(f"{'  ' if right else '! '}{name}: {result}")
sys.exit(wrong)
