"""What the template and its forks say to the supervisor, and what a fork does to be on its own.

The packets are described in template.py.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import io
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NoReturn

from ipybox_kernel import launch

PACKET_MAX = 1 << 18  # bytes; what a socket takes by default is less
FDS_MAX = 32
FIRST_PRIVATE_FD = 200  # no request may name it or one above

WRITERS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)

LIBC = ctypes.PyDLL(None, use_errno=True)  # no call of these waits: they may keep the GIL

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36

NR_CLOSE_RANGE = 436  # on every architecture
CLOSE_RANGE_CLOEXEC = 4
LAST_FD = (1 << 32) - 1
STANDARD = (0, 1, 2)


class Channel:
    """The socket to the supervisor, out of the way of descriptors that a request may name."""

    def __init__(self, fd: int) -> None:
        self.socket = socket.socket(fileno=move_away(fd))

    def send(self, **packet: Any) -> None:
        """Send one packet; a supervisor that has gone away is noticed elsewhere."""
        try:
            self.socket.send(json.dumps(packet).encode())
        except OSError:
            pass

    def receive(self) -> tuple[bytes, list[int]]:
        """One packet and its descriptors; empty at the end."""
        try:
            data, fds, flags, _ = socket.recv_fds(
                self.socket, PACKET_MAX, FDS_MAX, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError:  # the end, with answers that nobody has read
            return b"", []
        fds = [move_away(fd) for fd in fds]
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            close_all(fds)
            return b'{"error": "packet too long"}', []
        return data, fds

    def close(self) -> None:
        self.socket.close()


class Request:
    """What one kernel is to be like. Raises ValueError, KeyError or TypeError for a bad packet."""

    def __init__(self, packet: bytes, fds: list[int]) -> None:
        self.fds = fds
        fields = json.loads(packet)
        self.id: int = fields["id"]
        self.kernel = Part(fields["kernel"], fds)
        self.connection_file: str = fields["kernel"]["connection_file"]
        self.cwd: str = fields["kernel"]["cwd"]
        self.parent = 0  # the kernel's, known when it is forked
        self.executed: int | None = None  # in the kernel: a pipe, at its end when `middle` executed
        middle = fields.get("middle")
        self.middle = None if middle is None else Part(middle, fds)
        self.confine_at: int | None = None if middle is None else middle.get("confine")
        self.confine: int | None = None  # in the kernel: its end of the pair with its broker


class Part:
    """What both processes of a request have."""

    def __init__(self, fields: dict[str, Any], fds: list[int]) -> None:
        self.argv: list[str] = [str(word) for word in fields["argv"]]
        self.env: dict[str, str] = {str(k): str(v) for k, v in fields["env"].items()}
        self.fds: dict[int, int] = {int(to): fds[at] for to, at in fields.get("fds", {}).items()}
        if any(not 0 <= to < FIRST_PRIVATE_FD for to in self.fds):
            raise ValueError(f"fds must be below {FIRST_PRIVATE_FD}")


def become_middle(channel: Channel, request: Request, part: Part, kernel: int) -> NoReturn:
    """Execute what is to be the kernel's parent; if that fails, say so and end the kernel."""
    try:
        channel.send(id=request.id, kernel=kernel)
        argv = [str(kernel) if word == "{pid}" else word for word in part.argv]
        place(part.fds)
        inherit_only(part.fds)
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(argv[0], argv, part.env)
    except BaseException as error:
        os.kill(kernel, signal.SIGKILL)
        channel.send(id=request.id, error=f"{part.argv[:1]}: {error}")
    os._exit(127)


def become_kernel(request: Request, channel: Channel) -> None:
    """Make this fork a process of its own: session, death with its parent, descriptors, directory,
    environment, random numbers. Raises OSError."""
    os.setsid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 1)  # the template is not; a program expects its own /proc/self
    if os.getppid() != request.parent:
        os._exit(1)
    complaints = copies_of_output()
    place(request.kernel.fds)
    for fd, standard in complaints.items():
        if fd not in request.kernel.fds:
            os.dup2(standard, fd, inheritable=False)
    close_private({channel.socket.fileno(), request.executed, request.confine})
    os.environ.clear()
    os.environ.update(request.kernel.env)
    time.tzset()
    os.chdir(request.cwd)
    launch.set_arguments(request.kernel.argv)
    new_secrets()
    if "tempfile" in sys.modules:
        import tempfile

        tempfile.tempdir = None  # chosen in another environment


def await_middle(request: Request) -> None:
    """Wait until the kernel's parent is what was asked for. If that fails, it kills the kernel."""
    if request.executed is not None:
        os.read(request.executed, 1)
        os.close(request.executed)


def leave() -> NoReturn:
    """End this kernel as Python would, but for the last of it: taking all modules apart would copy
    most of the template's memory, only to give it back.

    Threads are waited for and handlers at exit run (IPython's lets go of what cells have made);
    files that are still open are written out, and C ends its own things.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for thing in gc.get_objects():  # what was there before the fork is not among them
        if issubclass(type(thing), WRITERS):
            with suppress(Exception):
                thing.flush()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    LIBC.exit(0)  # holds the GIL: no thread of Python goes on meanwhile
    raise AssertionError("exit() returns")


def new_secrets(random: bool = True) -> None:
    """Replace what would be the same in every kernel; `random`: random states, too. Python's own
    is a new one behind every os.fork()."""
    if "multiprocessing.process" in sys.modules:
        import multiprocessing.process

        multiprocessing.process.current_process().authkey = os.urandom(32)
    if random and "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def fork_plainly() -> int:
    """fork(2) without what Python does after it, which writes to many pages: for a child that only
    forks again, by os.fork(), and executes a program. There must be one thread. Raises OSError."""
    child: int = LIBC.fork()
    if child < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return child


def place(fds: dict[int, int]) -> None:
    """Put descriptors where they are wanted, inheritable. The sources are all private ones, so no
    target is a source."""
    for target, source in fds.items():
        os.dup2(source, target)


def copies_of_output() -> dict[int, int]:
    """The descriptors of this process that lead where its 1 or 2 does, and to which: what is kept
    for reports of crashes, by us or by a preloaded module. The template's output is the server's:
    in a kernel these are to be its own."""
    own = {standard: os.fstat(standard) for standard in (2, 1)}
    found = {}
    for fd in open_descriptors():
        with suppress(OSError):
            state = os.fstat(fd)
            for standard, its in own.items():
                if os.path.samestat(state, its):
                    found[fd] = standard
    return found


def open_descriptors() -> list[int]:
    """Those above 2."""
    return [int(name) for name in os.listdir("/proc/self/fd") if int(name) not in STANDARD]


def inherit_only(fds: Iterable[int]) -> None:
    """Have programs that this process executes inherit these descriptors, beside 0, 1 and 2, and no
    others, whoever has opened them. Before every exec; src/base/process/exec.h is the same in C."""
    start = len(STANDARD)
    for fd in sorted(set(fds) - set(STANDARD)):
        _close_at_exec(start, fd - 1)
        start = fd + 1
    _close_at_exec(start, LAST_FD)


def _close_at_exec(first: int, last: int) -> None:
    words = map(ctypes.c_ulong, (NR_CLOSE_RANGE, first, last, CLOSE_RANGE_CLOEXEC))
    if first > last or LIBC.syscall(*words) == 0:
        return
    for fd in open_descriptors():  # a Linux before 5.11, or a filter without this call
        if first <= fd <= last:
            with suppress(OSError):
                os.set_inheritable(fd, False)


def close_inherited(keep: int) -> None:
    """Close what this process was started with, but for 0, 1, 2 and `keep`."""
    os.closerange(len(STANDARD), keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))


def move_away(fd: int) -> int:
    """The same file under a number that no request may name; not inherited."""
    moved: int = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_PRIVATE_FD)
    os.close(fd)
    return moved


def close_private(keep: set[int | None]) -> None:
    """Close every descriptor that no request may name, except those to `keep`."""
    start = FIRST_PRIVATE_FD
    for fd in sorted(fd for fd in keep if fd is not None):
        os.closerange(start, fd)
        start = fd + 1
    os.closerange(start, os.sysconf("SC_OPEN_MAX"))


def close_all(fds: list[int]) -> None:
    """Close each."""
    for fd in fds:
        os.close(fd)


def prctl(option: int, value: int) -> None:
    """prctl(2). Raises OSError."""
    if LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
