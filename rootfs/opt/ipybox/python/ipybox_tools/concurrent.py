"""Calls that are awaited: one connection for each event loop, any number of calls on it at a time.

A call whose task is cancelled is cancelled in the server.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from ipybox_tools import wire
from ipybox_tools.errors import ToolRunnerError

CALLS_MAX = 900  # at a time on one connection; the server takes 1000

_connections: dict[asyncio.AbstractEventLoop, asyncio.Task[_Connection]] = {}


class _Connection(asyncio.Protocol):
    def __init__(self, place: tuple[str, str]) -> None:
        self.place = place
        self.number = 0
        self.waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.received = bytearray()
        self.scanned = 0  # bytes of it that are known to hold no end of a line
        self.transport: asyncio.Transport | None = None
        self.room = asyncio.Semaphore(CALLS_MAX)
        self.writable = asyncio.Event()
        self.writable.set()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\n", self.scanned)) >= 0:
            packed = bytes(self.received[:end])
            del self.received[: end + 1]
            self.scanned = 0
            self._answered(packed)
        self.scanned = len(self.received)

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self.writable.set()
        self._fail(ToolRunnerError(wire.LOST))

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    # What calls use

    def usable(self) -> bool:
        transport = self.transport
        return transport is not None and not transport.is_closing() and self.place == wire.address()

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer. Raises ToolRunnerError; ValueError if `params` are no JSON."""
        async with self.room:
            return await self._ask(method, params)

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        await self.writable.wait()
        if self.transport is None:
            raise ToolRunnerError(wire.LOST)
        number = self.number
        request = wire.line(number, method, params)
        self.number += 1
        answer = self.waiting[number] = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        try:
            return wire.result(await answer)
        except asyncio.CancelledError:
            if self.transport is not None and number in self.waiting:
                self.transport.write(wire.cancel(number))
            raise
        finally:
            self.waiting.pop(number, None)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _answered(self, packed: bytes) -> None:
        try:
            message = wire.parse(packed)
        except ToolRunnerError as error:
            self._fail(error)
            self.abort()
            return
        number = message.get("id")
        if number is None and "error" in message:  # said of the connection
            self._fail(ToolRunnerError(message["error"].get("message")))
            return
        answer = self.waiting.pop(number, None) if isinstance(number, int) else None
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _fail(self, error: ToolRunnerError) -> None:
        waiting = list(self.waiting.values())
        self.waiting.clear()
        for answer in waiting:
            if not answer.done():
                answer.set_exception(ToolRunnerError(str(error)))


async def call(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request. Raises ToolRunnerError; ValueError if `params` are no JSON."""
    return await (await _connection()).ask(method, params)


async def _connection() -> _Connection:
    """The one of this loop, made anew when it was closed."""
    loop = asyncio.get_running_loop()
    task = _connections.get(loop)
    if task is not None and task.done() and not _is_usable(task):
        task = None
    if task is None:
        _drop_closed_loops()
        task = _connections[loop] = loop.create_task(_connect())
    return await asyncio.shield(task)  # one caller's cancellation is not another's


def _is_usable(task: asyncio.Task[_Connection]) -> bool:
    if task.cancelled() or task.exception() is not None:
        return False
    return task.result().usable()


async def _connect() -> _Connection:
    place = path, token = wire.address()
    loop = asyncio.get_running_loop()
    try:
        transport, connection = await loop.create_unix_connection(lambda: _Connection(place), path)
    except OSError as error:
        raise wire.unreachable(path, error) from None
    try:
        wire.check(transport.get_extra_info("socket"), path)
    except ToolRunnerError:
        transport.abort()
        raise
    await connection.ask("hello", {"token": token})
    return connection


def _drop_closed_loops() -> None:
    """Close the connections that nobody can use any more."""
    for loop in [loop for loop in _connections if loop.is_closed()]:
        task = _connections.pop(loop)
        if _has_result(task) and (transport := task.result().transport) is not None:
            _close_now(transport)


def _has_result(task: asyncio.Task[_Connection]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _close_now(transport: asyncio.Transport) -> None:
    """Its loop is closed, so that it cannot close in order."""
    peer = getattr(transport, "_sock", None)
    if peer is not None:
        transport._sock = None  # type: ignore[attr-defined]
        peer.close()


def _forget() -> None:
    """In a fork: the connections are the parent's."""
    for task in _connections.values():
        if _has_result(task) and (transport := task.result().transport) is not None:
            _close_now(transport)
    _connections.clear()


os.register_at_fork(after_in_child=_forget)
