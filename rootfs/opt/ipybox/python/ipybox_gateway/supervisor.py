"""The server, which runs the kernels: one JSON line each way for each request.

A connection has no name that another process could connect to or take: it is a pair of sockets, of
which the server gets one end over the pair that the gateway was started with
(src/jupyter/gateway.h). Clients of the gateway come over it, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from typing import Any

ANSWER_MAX = 8 << 20
LIST_SECONDS = 5.0

CONTROL_FD, CHANNELS_FD = 5, 6  # CHILD_FIRST_FD of src/sandbox/shim/spawn.h
MESSAGE_MAX = 16
CLIENT, CONNECTION, READY = b"h", b"s", b"r"

_control: socket.socket | None = None


class Refused(RuntimeError):
    """What the server answered instead of doing what it was asked for."""


def control() -> socket.socket:
    """The pair with the server."""
    global _control
    if _control is None:
        _control = socket.socket(fileno=CONTROL_FD)
        for fd in (CONTROL_FD, CHANNELS_FD):
            os.set_inheritable(fd, False)
    return _control


def ready() -> None:
    """Clients may come."""
    control().send(READY)


def next_client() -> socket.socket | None:
    """A client's connection that has come, if there is one. Raises EOFError when none will."""
    try:
        what, fds, _, _ = socket.recv_fds(control(), MESSAGE_MAX, 1)  # it came non-blocking
    except BlockingIOError:
        return None
    if not what:
        raise EOFError
    return socket.socket(fileno=fds[0]) if what == CLIENT and fds else None


def reachable(info: dict[str, Any]) -> dict[str, Any]:
    """Connection information with the way from here: by the directory that we hold."""
    return info | {"ip": f"/proc/self/fd/{CHANNELS_FD}/{os.path.basename(info['ip'])}"}


def _connect() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(control(), [CONNECTION], [theirs.fileno()])
    return ours


def _answer(line: bytes) -> dict[str, Any]:
    if not line:
        raise Refused("the server is stopping")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise Refused(answer["error"])
    return answer


async def call(op: str, **arguments: Any) -> dict[str, Any]:
    """Ask, and wait for the answer."""
    reader, writer = await asyncio.open_unix_connection(sock=_connect(), limit=ANSWER_MAX)
    try:
        writer.write(json.dumps({"op": op, **arguments}).encode() + b"\n")
        return _answer(await reader.readline())
    finally:
        writer.close()


def list_kernels() -> list[dict[str, Any]]:
    """All kernels that run. Blocks, for some 0.2 ms: the callers are no coroutines."""
    with _connect() as connection:
        connection.settimeout(LIST_SECONDS)
        connection.sendall(b'{"op":"list"}\n')
        with connection.makefile("rb") as lines:
            kernels: list[dict[str, Any]] = _answer(lines.readline())["kernels"]
    for kernel in kernels:
        if kernel["conn"]:
            kernel["conn"] = reachable(kernel["conn"])
    return kernels


async def changes() -> AsyncIterator[str]:
    """The id of each kernel that has come up anew or has ended; "" when this begins."""
    reader, writer = await asyncio.open_unix_connection(sock=_connect(), limit=ANSWER_MAX)
    try:
        writer.write(b'{"op":"watch"}\n')
        while line := await reader.readline():
            yield str(_answer(line).get("changed", ""))
    finally:
        writer.close()
