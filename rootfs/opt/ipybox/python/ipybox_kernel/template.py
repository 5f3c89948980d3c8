"""A process that has imported and built everything, and forks kernels on request.

    python3 -I -m ipybox_kernel.template --socket FD [--forks LIBRARY]

FD is one end of a SOCK_SEQPACKET pair; each packet is one JSON object. LIBRARY is what kernels fork
themselves with (forks.py). The template ends when the other end is closed. It has one thread, no
ZeroMQ context, no children but those asked for.

First packet from here, and the only one before requests are read:

    {"ready": true, "pid", "milliseconds", "modules", "threads", "failed": {module: reason},
     "packages": [directories whose times tell that packages were installed; first the user's, of
                  which nothing is loaded here]}

Request; the file descriptors that it mentions come with it (SCM_RIGHTS), by index:

    {"id": 1,
     "kernel": {"argv": [...],        sys.argv of the kernel, from its second word on
                "connection_file": "/...",
                "cwd": "/...",
                "env": {...},         all of its environment
                "fds": {"1": 0}},     its descriptors; 0, 1 and 2 are else the template's own
     "middle": {"argv": [...], "env": {...}, "fds": {...}, "confine": 5}}

Without "middle" (or null) the kernel is a child of the template. With it, the kernel's parent is a
process of its own, a child subreaper, which then executes "argv", where "{pid}" stands for the
kernel's process id. SIGINT, SIGPIPE and SIGXFSZ have their defaults there. With "confine" it finds
the broker's end of a pair at that descriptor, and the kernel lets itself be confined over the other
one before it opens anything (confine.py). A kernel leads its own session; it is killed (SIGKILL)
when its parent ends.

Answers, in this order; "id" tells them apart:

    {"id": 1, "pid": P}        the template's child: the middle process, or else the kernel
    {"id": 1, "kernel": K}     only with "middle": the kernel's process id
    {"id": 1, "ready": true}   the kernel is behind its walls and lets go of this socket; what users
                               have is loaded now. It says the rest on its standard error
    {"id": 1, "error": "..."}  instead of any of these, the last; nothing of this request goes on
    {"exited": P, "id": 1, "status": N}  a child of the template ended; N as from waitpid()
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ipybox_kernel import forks, launch
from ipybox_kernel.forking import (
    LIBC,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    Channel,
    Request,
    become_middle,
    close_all,
    close_inherited,
    fork_plainly,
    move_away,
    prctl,
)

if TYPE_CHECKING:
    from ipybox_kernel.forked import ForkedApp

UNCOUNTED = (1 << 32) - 1  # the count of what is never freed; Include/internal/pycore_object.h
M_TRIM_THRESHOLD = -1  # <malloc.h>
TRIM_THRESHOLD = 1 << 17  # bytes
FIRST_SECONDS = 5.0  # for a request; the first one mostly waits already
PRELOAD = Path(__file__).with_name("preload.txt")


def main(argv: list[str]) -> None:
    """Run the template. Returns when it is to end, and in no kernel.

    The first kernel is waited for by somebody: it is forked as soon as there is all that it is made
    of. What kernels import sooner or later is imported then, for the others.
    """
    began = time.monotonic()
    parser = argparse.ArgumentParser(prog="ipybox_kernel.template")
    parser.add_argument("--socket", type=int, required=True, metavar="FD")
    parser.add_argument("--forks", metavar="LIBRARY")
    words = parser.parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    close_inherited(words.socket)
    channel = Channel(words.socket)
    give_back_memory()
    launch.prepare()
    later, asked = PRELOAD.read_text().split(), asked_for()
    gc.disable()
    if asked:  # every kernel has them
        load(later)
        later = []
    failed = load(asked)
    app = build()
    if words.forks:
        forks.load(words.forks)
    keep_shared()
    if threading.active_count() > 1:
        sys.exit(f"template: a preloaded module started threads: {threading.enumerate()}")
    channel.send(
        ready=True,
        pid=os.getpid(),
        milliseconds=round((time.monotonic() - began) * 1000),
        modules=len(sys.modules),
        threads=len(os.listdir("/proc/self/task")),
        failed=failed,
        packages=launch.package_directories(),
    )
    prctl(PR_SET_DUMPABLE, 0)  # code in a kernel has our uid: it must not write our memory
    server = Server(channel)
    request = server.serve(FIRST_SECONDS)
    if request is None and later and not server.over:
        gc.disable()
        load(later)
        keep_shared()
    if request is None and not server.over:
        request = server.serve()
    if request is not None:
        app.run(request, channel)


def give_back_memory() -> None:
    """Have malloc return what a cell with much output has freed; by default it keeps megabytes."""
    if hasattr(LIBC, "mallopt"):  # not in every C library
        LIBC.mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD)


def keep_shared() -> None:
    """Have kernels share the memory of all objects that are there now. Nothing is collected before:
    that takes 25 ms, and finds next to nothing."""
    stop_counting()
    gc.freeze()  # or the first collection in a kernel copies every page
    gc.enable()


def stop_counting() -> None:
    """Have Python leave alone the reference counts of the objects that are there now, as it does
    those of None and of built-in types: a kernel that only calls a function would copy the pages of
    all that the call touches. They are never freed. Pythons that do not have this, or keep it
    somewhere else, are recognized by the count of None; there nothing is done.

    Source: PEP 683.
    """
    count_at = ctypes.c_uint32.from_address
    if count_at(id(None)).value != UNCOUNTED:
        return
    for thing in gc.get_objects():
        count_at(id(thing)).value = UNCOUNTED


def asked_for() -> list[str]:
    """The modules that IPYBOX_PRELOAD names, separated by commas or blanks."""
    return os.environ.pop("IPYBOX_PRELOAD", "").replace(",", " ").split()


def load(names: list[str]) -> dict[str, str]:
    """Import these modules. Returns why which of them failed: those of the list may, made with
    another version of Python; a kernel imports what it needs."""
    failed = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


def build() -> ForkedApp:
    """The application with all that can be made before a fork."""
    from ipybox_kernel.app import configure
    from ipybox_kernel.forked import ForkedApp

    app = ForkedApp.instance(config=configure())
    app.build()
    launch.settle()
    return app


class Server:
    """Reads requests, forks, and reports children that ended."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.children: dict[int, int] = {}  # the request of each
        self.over = False  # the supervisor has gone
        reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.wakeup, writer = move_away(reader), move_away(writer)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _nothing)

    def serve(self, seconds: float | None = None) -> Request | None:
        """Returns None when the supervisor has gone, and in each kernel its request. `seconds`:
        None also after the first request, or when there was none for so long."""
        poller = select.poll()
        poller.register(self.channel.socket, select.POLLIN)
        poller.register(self.wakeup, select.POLLIN)
        while True:
            events = poller.poll(None if seconds is None else seconds * 1000)
            for fd, _ in events:
                if fd == self.wakeup:
                    self._reap()
                    continue
                packet, fds = self.channel.receive()
                self.over = not packet
                request = self._handle(packet, fds) if packet else None
                if request is not None or self.over:
                    return request
                close_all(fds)
            if seconds is not None:
                return None

    def _handle(self, packet: bytes, fds: list[int]) -> Request | None:
        """Returns a request in the kernel that was forked for it, else None."""
        try:
            request = Request(packet, fds)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            self.channel.send(id=_id_of(packet), error=f"bad request: {error!r}")
            return None
        request.parent = os.getpid()
        try:
            child = os.fork() if request.middle is None else fork_plainly()
        except OSError as error:
            self.channel.send(id=request.id, error=f"fork: {error}")
            return None
        if child:
            self.children[child] = request.id
            return None
        self.channel.send(id=request.id, pid=os.getpid())  # before what else it may say
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if request.middle is not None and (kernel := _fork_kernel(self.channel, request)):
            become_middle(self.channel, request, request.middle, kernel)
        return request

    def _reap(self) -> None:
        os.read(self.wakeup, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.channel.send(exited=pid, id=self.children.pop(pid, None), status=status)


def _fork_kernel(channel: Channel, request: Request) -> int:
    """In the middle process: the kernel's id, or 0 in the kernel. Does not return if it fails."""
    request.parent = os.getpid()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    reader, writer = (move_away(fd) for fd in os.pipe())
    ours = theirs = None
    if request.confine_at is not None:
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours, theirs = (move_away(end.detach()) for end in ends)
    try:
        kernel = os.fork()
    except OSError as error:
        channel.send(id=request.id, error=f"fork: {error}")
        os._exit(127)
    if not kernel:
        request.executed = reader
        request.confine = theirs
        os.close(writer)
    elif request.middle is not None and request.confine_at is not None and ours is not None:
        request.middle.fds[request.confine_at] = ours
    return kernel


def _nothing(signum: int, frame: FrameType | None) -> None:
    """A handler that is only there for the wakeup descriptor."""


def _id_of(packet: bytes) -> object:
    try:
        return json.loads(packet)["id"]
    except (ValueError, KeyError, TypeError):
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
