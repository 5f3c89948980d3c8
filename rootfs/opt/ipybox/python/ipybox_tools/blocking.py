"""Calls that block their thread. A connection serves one call at a time and is then kept.

Ctrl-C in a call closes its connection; the server cancels what was asked on it.
"""

from __future__ import annotations

import os
import socket
import weakref
from typing import Any

from ipybox_tools import wire
from ipybox_tools.errors import ToolRunnerError

KEPT_MAX = 8  # connections without a call
READ_BYTES = 1 << 16
READ_MORE_BYTES = 1 << 20  # when an answer turns out to be long

_kept: list[_Connection] = []
_open: weakref.WeakSet[_Connection] = weakref.WeakSet()


class _Connection:
    def __init__(self) -> None:
        path, token = wire.address()
        self.place = (path, token)
        try:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError as error:  # refused by a sandbox of the level landlock
            raise wire.unreachable(path, error) from None
        _open.add(self)
        try:
            self.socket.connect(path)
            wire.check(self.socket, path)
            self.socket.sendall(wire.hello(token))
            wire.result(wire.parse(self._receive()))
        except OSError as error:
            self.close()
            raise wire.unreachable(path, error) from None
        except BaseException:
            self.close()
            raise

    def ask(self, request: bytes) -> dict[str, Any]:
        try:
            self.socket.sendall(request)
            return wire.parse(self._receive())
        except OSError as error:
            raise ToolRunnerError(f"{wire.LOST} ({error.strerror or error})") from None

    def still_there(self) -> bool:
        """Whether the server waits for a request, and it is still the server that we would ask."""
        try:
            self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return self.place == wire.address()
        except OSError:
            pass
        return False  # closed, or something has come that nobody asked for

    def close(self) -> None:
        """Ends it also for a process that has a copy of the descriptor."""
        _open.discard(self)
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def _receive(self) -> bytes | bytearray:
        received = self.socket.recv(READ_BYTES)
        if received.endswith(b"\n"):
            return received
        whole = bytearray(received)
        while received and not received.endswith(b"\n"):
            received = self.socket.recv(READ_MORE_BYTES)
            whole += received
        if not received:
            raise ToolRunnerError(wire.LOST)
        return whole


def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request. Raises ToolRunnerError; ValueError if `params` are no JSON."""
    request = wire.line(1, method, params)
    connection = _take()
    try:
        message = connection.ask(request)
    except BaseException:
        connection.close()
        raise
    if len(_kept) < KEPT_MAX:
        _kept.append(connection)
    else:
        connection.close()
    return wire.result(message)


def _take() -> _Connection:
    """A connection that nobody else uses."""
    while _kept:
        try:
            connection = _kept.pop()
        except IndexError:  # another thread was faster
            break
        if connection.still_there():
            return connection
        connection.close()
    return _Connection()


def _forget() -> None:
    """In a fork: the connections are the parent's."""
    _kept.clear()
    for connection in _open:
        connection.socket.close()
    _open.clear()


os.register_at_fork(after_in_child=_forget)
