"""ZeroMQ sockets that take less time for a message: a kernel sends some fifty parts for each cell;
and the kernel's sockets where others have bound them for it.

pyzmq's own work with flags that are enumerations, and look the name of an option up each time.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any, cast

import zmq

_EVENTS = int(zmq.EVENTS)
_SNDMORE = int(zmq.SNDMORE)
_PARTS = (bytes, memoryview, zmq.Frame)

FIRST_GIVEN_FD = 5  # of the first port; CHILD_FIRST_FD of src/sandbox/spawn.h


def take_given(taker: zmq.Socket[Any], path: str, port: int) -> bool:
    """Have `taker`, when it is bound to `path`, listen at the descriptor that this process was
    started with for that. Returns whether there is one: a sandbox without anybody to ask for a Unix
    socket refuses all of them, so there the server has bound those of the kernel."""
    fd = FIRST_GIVEN_FD + port - 1
    try:
        given = socket.socket(fileno=fd)
    except OSError:
        return False
    ours = given.family == socket.AF_UNIX and given.getsockname() == path
    if ours:
        os.set_inheritable(fd, False)
        taker.setsockopt(zmq.USE_FD, fd)
    given.detach()
    return ours


class Socket(zmq.Socket[bytes]):
    """As its base class."""

    @property
    def events(self) -> int:
        """What can be done without waiting, as a mask of POLLIN and POLLOUT."""
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
