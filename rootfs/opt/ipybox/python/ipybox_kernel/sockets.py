"""ZeroMQ sockets that take less time for a message: a kernel sends some fifty parts for each cell;
and the kernel's sockets where others have bound them for it.

pyzmq's own work with flags that are enumerations, and look the name of an option up each time.
"""

from __future__ import annotations

import hmac
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import zmq

_EVENTS = int(zmq.EVENTS)
_SNDMORE = int(zmq.SNDMORE)
_PARTS = (bytes, memoryview, zmq.Frame)

_CHILD_PAUSE = 0.05  # seconds

FIRST_GIVEN_FD = 5  # of the first port; CHILD_FIRST_FD of src/sandbox/shim/spawn.h


class Visitors:
    """Who may connect to a kernel's sockets: one process, or who says the password."""

    def __init__(self, peer: int | None = None, password: str | None = None) -> None:
        self._peer = peer
        self._password = None if password is None else password.encode()
        self._watched: set[zmq.Context[Any]] = set()

    def admit_to(self, taker: zmq.Socket[Any]) -> None:
        """Before it is bound. Others of our uid lose their connection before they hear a word."""
        if self._peer is not None:
            taker.setsockopt(zmq.IPC_FILTER_PID, self._peer)
        if self._password is not None:
            self._watch(taker.context)
            taker.plain_server = True
            taker.zap_domain = b"ipybox"

    def _watch(self, context: zmq.Context[Any]) -> None:
        """ZeroMQ asks in its own context, at this address (RFC 27), before it lets somebody in."""
        if context in self._watched:
            return
        self._watched.add(context)
        door = context.socket(zmq.REP)
        door.linger = 0
        door.bind("inproc://zeromq.zap.01")
        words = door, cast(bytes, self._password)
        threading.Thread(target=_answer, args=words, name="visitors", daemon=True).start()


def _answer(door: zmq.Socket[Any], expected: bytes) -> None:
    """Until the context ends: let in who says what is expected."""
    with suppress(zmq.ContextTerminated), door:
        while True:
            version, request, *_, password = door.recv_multipart()
            known = hmac.compare_digest(password, expected)
            status = (b"200", b"OK", b"ipybox") if known else (b"400", b"not let in", b"")
            door.send_multipart([version, request, *status, b""])


def take_given(taker: zmq.Socket[Any], path: str, port: int, visitors: Visitors) -> bool:
    """Have `taker`, when it is bound to `path`, listen at the descriptor that this process was
    started with for that. Returns whether there is one: the server binds the sockets of its kernels
    at names that they cannot reach."""
    fd = FIRST_GIVEN_FD + port - 1
    try:
        given = socket.socket(fileno=fd)
    except OSError:
        return False
    ours = given.family == socket.AF_UNIX and given.getsockname() == path
    if ours:
        os.set_inheritable(fd, False)
        taker.setsockopt(zmq.USE_FD, fd)
        visitors.admit_to(taker)
    given.detach()
    return ours


class Socket(zmq.Socket[bytes]):
    """As its base class. In a forked child, where ZeroMQ would ask for ever, nothing can be done;
    the pause is for event loops there, which wake with those of the parent."""

    in_child = False

    @property
    def events(self) -> int:
        """What can be done without waiting, as a mask of POLLIN and POLLOUT."""
        if Socket.in_child:
            time.sleep(_CHILD_PAUSE)
            return 0
        return cast(int, self.get(_EVENTS))

    EVENTS = events

    def send_multipart(
        self,
        msg_parts: Sequence[Any],
        flags: int = 0,
        copy: bool = True,
        track: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Send all parts as one message. Raises TypeError, and sends none, for what is no bytes."""
        for part in msg_parts:
            if not isinstance(part, _PARTS):
                memoryview(part)
        send, flags = super(zmq.Socket, self).send, int(flags)
        for part in msg_parts[:-1]:
            send(part, flags | _SNDMORE, copy, track)
        return send(msg_parts[-1], flags, copy, track)
