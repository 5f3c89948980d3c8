"""A kernel that is forked while it lives: the branch has all that the session has in memory.

The server asks over the kernel's line to its shim, a socket pair that was made before the walls
(src/sandbox/shim/branches.h has the whole). Between two turns of the event loop the kernel forks
(forks.py): there is a root then, which is no child of ours and executes ``ipybox branch``, and its
child, the branch. The branch puts a Landlock domain of its own around itself, lets go of
what belongs to the kernel that it comes from, and serves at sockets of its own.

What does not survive is looked for before (`obstacles`): by what the system says of this process,
never by looking through what the user has made.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import gc
import json
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from tornado.platform.asyncio import BaseAsyncIOLoop

from ipybox_kernel import forks
from ipybox_kernel.confine import ConfineError, enter_domain
from ipybox_kernel.forking import (
    LIBC,
    PR_SET_PDEATHSIG,
    WRITERS,
    close_all,
    move_away,
    new_secrets,
    prctl,
)

if TYPE_CHECKING:
    from ipybox_kernel.forked import ForkedApp

TOKEN = "IPYBOX_TOOL_TOKEN"
TOOLS = "IPYBOX_TOOL_SOCKET"
BASH_STATE = "IPYBOX_BASH_STATE"

GIVEN = 9  # output, five sockets, the connection file, orders, the branch's line
SLOT = 4096
SLOT_BRANCH, SLOT_ORDER, SLOT_PARENT = range(3)
FIRST_FD = 5  # of what a kernel is given
WORD = struct.Struct("=Iii512s")
FAILED = 2
MARK = os.O_APPEND  # of what stands in the place of a descriptor that was let go of

_LEFT: list[Any] = []  # of the kernel that this one was forked from: never closed here

NR_LANDLOCK_CREATE_RULESET = 444
LANDLOCK_VERSION = 1
LANDLOCK_SCOPES = 6  # the ABI in which they came

# Their threads do not survive, and they do not notice: they wait for them for ever.
LOSES_THREADS = ("polars", "torch", "tensorflow", "jax")
OPENMP = ("libgomp", "libomp", "libiomp")  # its threads, too
# What cannot be had twice; an epoll or an eventfd is somebody's inner working.
UNIQUE = ("inotify", "[timerfd]", "[io_uring]", "[signalfd]", "[pidfd]", "[userfaultfd]")


def can_be_fenced() -> bool:
    """Whether this system can keep a branch from the kernel that it comes from."""
    abi = LIBC.syscall(ctypes.c_long(NR_LANDLOCK_CREATE_RULESET), None, 0, LANDLOCK_VERSION)
    return bool(abi >= LANDLOCK_SCOPES)


def _links() -> Iterator[tuple[int, str]]:
    """Every open descriptor, and what it is."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            yield int(name), os.readlink(f"/proc/self/fd/{name}")


def _is_plain(link: str) -> bool:
    """A file, a folder, a device: what two processes may have."""
    return link.startswith("/")


def _has_place(link: str) -> bool:
    return _is_plain(link) and not link.startswith(("/dev/", "/memfd:"))


def _fdinfo(fd: int) -> dict[str, str]:
    with open(f"/proc/self/fdinfo/{fd}") as file:
        lines = (line.partition(":") for line in file)
        return {name: value.strip() for name, _, value in lines}


def _places() -> dict[int, dict[str, str]]:
    """Of each open file, where it is and how it was opened: behind the fork the kernel goes on at
    once, and moves the place that both share."""
    found = {}
    for fd, link in list(_links()):
        if _has_place(link):
            with suppress(OSError):
                found[fd] = _fdinfo(fd)
    return found


def _children() -> list[int]:
    found = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children") as file:
            found += [int(pid) for pid in file.read().split()]
    return found


def _has_openmp() -> bool:
    with open("/proc/self/maps") as file:
        return any(line.rpartition("/")[2].startswith(OPENMP) for line in file)


def _runs(thread: threading.Thread, loop: Any) -> bool:
    target = getattr(thread, "_target", None)
    return loop is not None and getattr(target, "__self__", None) is loop


class Branches:
    """How a kernel is forked. One per kernel, made when its sockets and threads are there."""

    def __init__(self, app: ForkedApp, line: socket.socket) -> None:
        self._app = app
        self._line = line
        self._asked: list[list[int]] = []  # the descriptors of each request
        self._loop = cast(BaseAsyncIOLoop, app.io_loop).asyncio_loop
        self._loop.add_reader(line.fileno(), self._on_line)
        self._own = {fd: link for fd, link in _links() if not _is_plain(link)}
        self._own_links = set(self._own.values())
        self._own_threads = set(threading.enumerate())

    def _on_line(self) -> None:
        """A request: it is done when the event loop stands still."""
        data, fds, _, _ = socket.recv_fds(
            self._line, 64, GIVEN, socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
        )
        if not data:
            self._loop.remove_reader(self._line.fileno())
            return
        if len(fds) == GIVEN:
            self._asked.append([move_away(fd) for fd in fds])
        else:
            close_all(fds)
        self._app.io_loop.stop()

    def go_on(self) -> bool:
        """Do what was asked for, the event loop having stopped. False: nothing was."""
        if not self._asked:
            return False
        while self._asked:
            fds = self._asked.pop(0)
            try:
                if self._fork(fds):
                    return True  # in the branch, which has its own
            except Exception as error:
                _refuse(fds[-1], f"fork: {error!r}")
            close_all(fds)
        return True

    def _fork(self, fds: list[int]) -> bool:
        """True in the branch, once it serves. Raises in the parent alone."""
        *given, orders, line = fds
        order = _read_slot(orders, SLOT_ORDER)
        if why := self._hindrance():
            _refuse(line, why, errno.EDOM)
            return False
        why = self._unfit({fd for request in (fds, *self._asked) for fd in request}, order)
        if why:
            _refuse(line, why)
            return False
        self._flush_files()
        files = _places()
        sys.stdout.flush()
        sys.stderr.flush()
        kept = random.getstate() if order.get("keep_random") else None
        if not (root := forks.fork_branch(order["program"], line)):
            _take_token(_read_slot(orders, SLOT_PARENT))
            return False
        same_session = bool(order.get("same_session"))
        _become_branch(root, line, same_session)
        try:
            _take_token(_read_slot(orders, SLOT_BRANCH))
            os.close(orders)
            left = self._serve(given, line, files)
            new_secrets(random=kept is None)
            self._app.begin_anew(socket.socket(fileno=line))
            _close_marked(left)
            if kept is not None:
                random.setstate(kept)
        except BaseException:
            os.dup2(given[0], 2)
            os.write(2, traceback.format_exc().encode())
            os._exit(1)
        return True

    # --- what does not survive --------------------------------------------------------------------

    def _hindrance(self) -> str:
        """What makes a fork impossible, in words; "": nothing."""
        if self._app.shell_runner is not None:
            return "a kernel whose shell commands are approved cannot be forked"
        if not forks.loaded():
            return "the library forks.so, beside opens.so, cannot be read"
        return "" if can_be_fenced() else "a fork needs the scopes of Landlock (Linux 6.12)"

    def _unfit(self, besides: set[int], order: dict[str, Any]) -> str:
        """What is in the way now; "": nothing, or it is to be forced."""
        if self._app.kernel._main_asyncio_lock.locked():
            return "a cell is running"
        if order.get("force") or not (found := self.obstacles(besides)):
            return ""
        return f'a fork would lack this ("force": true makes it without): {"; ".join(found)}'

    def obstacles(self, besides: set[int]) -> list[str]:
        """What a branch would lack, in words; these descriptors are not a user's."""
        found = [
            f"the package {name}, whose threads end"
            for name in LOSES_THREADS
            if sys.modules.get(name) is not None
        ]
        if _has_openmp():
            found.append("OpenMP, whose threads end")
        script = self._script_loop()
        own = self._own_threads | self._idle_workers()
        found += [
            f"the thread {thread.name!r}"
            for thread in threading.enumerate()
            if thread not in own and not _runs(thread, script)
        ]
        if children := _children():
            found.append(f"child processes ({', '.join(map(str, children[:8]))})")
        found += self._tasks()
        if script is not None:
            besides = besides | {script._ssock.fileno(), script._csock.fileno()}
        for fd, link in _links():
            if fd not in besides and (what := self._obstacle(fd, link)):
                found.append(what)
        return found[:20]

    def _idle_workers(self) -> set[threading.Thread]:
        """Those of the event loop (asyncio.to_thread): the branch has a loop of its own."""
        executor: Any = getattr(self._loop, "_default_executor", None)
        threads: set[threading.Thread] = set(getattr(executor, "_threads", ()))
        idle = threads and executor._idle_semaphore._value == len(threads)
        return threads if idle else set()

    def _script_loop(self) -> Any:
        """The event loop of IPython's %%bash and its kind, in a thread; it makes another one when
        this is gone."""
        return getattr(self._script_magics(), "event_loop", None)

    def _script_magics(self) -> Any:
        assert self._app.shell is not None
        return self._app.shell.magics_manager.registry.get("ScriptMagics")

    def _tasks(self) -> list[str]:
        from ipybox_kernel.kernel import is_of_kernel

        tasks = asyncio.all_tasks(self._loop)
        return [f"the asyncio task {task.get_name()!r}" for task in tasks if not is_of_kernel(task)]

    def _obstacle(self, fd: int, link: str) -> str:
        """Why this descriptor does not survive; "" if it does."""
        if link in self._own_links:
            return ""
        if link.startswith("socket:"):
            return "" if self._is_own_socket(fd) else f"a socket (descriptor {fd})"
        if link.startswith("pipe:"):
            return f"a pipe (descriptor {fd})"
        if link.startswith("anon_inode:"):
            kind = link.removeprefix("anon_inode:")
            return f"{kind.strip('[]')} (descriptor {fd})" if kind in UNIQUE else ""
        return self._file_obstacle(fd, link)

    def _is_connection(self, fd: int) -> bool:
        """A connection to this kernel, which ZeroMQ's thread may have taken up at any time."""
        with socket.socket(fileno=os.dup(fd)) as other:
            if other.family != socket.AF_UNIX:
                return False
            name = other.getsockname()
            return isinstance(name, str) and name.startswith(f"{self._app.ip}-")

    def _is_own_socket(self, fd: int) -> bool:
        """A connection to this kernel, or to the server's socket for tools."""
        if self._is_connection(fd):
            return True
        with socket.socket(fileno=os.dup(fd)) as other, suppress(OSError):
            return bool(other.getpeername() == os.environ.get(TOOLS, ""))
        return False

    def _is_kernels(self, fd: int, link: str) -> bool:
        """Whether the kernel opened it, not a user."""
        return self._own.get(fd) == link or (link.startswith("socket:") and self._is_connection(fd))

    def _file_obstacle(self, fd: int, link: str) -> str:
        try:
            info = _fdinfo(fd)
            if "lock" in info:
                return f"a lock on {link}"
            readable = int(info["flags"], 8) & os.O_ACCMODE == os.O_RDWR
            head = os.pread(fd, 16, 0) if readable else b""
        except (OSError, KeyError, ValueError):
            return ""
        return f"the SQLite database {link}" if head.startswith(b"SQLite format 3") else ""

    def _flush_files(self) -> None:
        """Write out what is buffered for files, or both would."""
        for _, link in _links():
            if _has_place(link):
                break
        else:
            return
        for thing in gc.get_objects():
            if issubclass(type(thing), WRITERS):
                with suppress(Exception):
                    thing.flush()

    # --- in the branch ----------------------------------------------------------------------------

    def _serve(self, given: list[int], line: int, files: dict[int, dict[str, str]]) -> list[int]:
        """Be a kernel of its own; the files of the one before are kept, nothing else of it."""
        keep = {line, *given}
        left = []
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC | MARK)
        for fd, link in list(_links()):
            if fd in keep or fd == null:
                continue
            if not _is_plain(link):
                if self._is_kernels(fd, link):
                    left.append(fd)
                os.dup2(null, fd, inheritable=False)  # still taken: somebody may close it
            elif fd in files:
                _open_anew(fd, files[fd])
        os.close(null)
        output, *sockets = given
        for number in (1, 2):
            os.dup2(output, number)
        for number, fd in enumerate(sockets, FIRST_FD):
            os.dup2(fd, number, inheritable=False)
        close_all(given)
        _copy_bash_state()
        if self._script_loop() is not None:
            _LEFT.append(self._script_loop())
            self._script_magics().event_loop = None
        return left


def _close_marked(fds: list[int]) -> None:
    """Of the kernel before: by now it has closed those that it closes at all. What kept the others
    open is never freed."""
    for fd in fds:
        with suppress(OSError):
            if fcntl.fcntl(fd, fcntl.F_GETFL) & MARK:
                os.close(fd)


def _read_slot(orders: int, slot: int) -> dict[str, Any]:
    text = os.pread(orders, SLOT, slot * SLOT).rstrip(b"\0")
    return dict(json.loads(text)) if text else {}


def _take_token(said: dict[str, Any]) -> None:
    if "token" in said:
        os.environ[TOKEN] = said["token"]


def _refuse(line: int, why: str, code: int = errno.EBUSY) -> None:
    with socket.socket(fileno=os.dup(line)) as end, suppress(OSError):
        end.send(WORD.pack(FAILED, code, 0, why.encode("utf-8", "replace")[:500]))


def _become_branch(root: int, line: int, same_session: bool) -> None:
    """In the fork of a kernel: be a process of its own, behind the wall of its own, which it needs
    towards other sessions alone."""
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != root:
            os._exit(1)
        if not same_session:
            enter_domain()
        gc.freeze()  # a collection would copy what is shared
    except BaseException as error:
        reason = error if isinstance(error, (OSError, ConfineError)) else repr(error)
        _refuse(line, f"the branch: {reason}")
        os._exit(1)


def _open_anew(fd: int, info: dict[str, str]) -> None:
    """Have a place in the file that is not the parent's. Where it cannot be opened again, both
    share it."""
    with suppress(OSError, KeyError, ValueError):
        flags = int(info["flags"], 8) & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC)
        if flags & (os.O_PATH | os.O_DIRECTORY):
            return
        inheritable = os.get_inheritable(fd)
        other = os.open(f"/proc/self/fd/{fd}", flags | os.O_CLOEXEC)
        os.lseek(other, int(info["pos"]), os.SEEK_SET)
        os.dup2(other, fd, inheritable)
        os.close(other)


def _copy_bash_state() -> None:
    """The shells of a branch go on where those of its parent are, and leave them alone."""
    if not (state := os.environ.get(BASH_STATE)):
        return
    handle, copy = tempfile.mkstemp(prefix="ipybox-bash-")
    with suppress(OSError), open(state, "rb") as file:
        os.write(handle, file.read())
    os.close(handle)
    os.environ[BASH_STATE] = copy
