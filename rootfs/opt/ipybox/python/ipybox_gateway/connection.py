"""One WebSocket: a client's way to the channels of a kernel."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from functools import partial
from typing import Any

import jupyter_client.session
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClosedError

HOLD_SECONDS = 2.0
IDLES_MAX = 1000
# Bytes on their way to a client; while there are more, no output is read for it. Not larger, for
# pings wait behind them: a client on a slow line must get to them in time.
BACKLOG_MAX = 1 << 20

# Dates of headers go on as the text that they came as: nobody here reads them, and making objects
# of them and text again, ten times a cell, takes a tenth of a millisecond.
jupyter_client.session.extract_dates = lambda obj: obj  # type: ignore[attr-defined]


class Connection(ZMQChannelsWebsocketConnection):  # type: ignore[misc]
    """As Jupyter's, but for two things.

    An execute_reply is handed on after all of its cell's output was. The output comes through
    another socket than the reply, and clients that stop reading at the reply would lose its end.
    The idle status is what comes last there.

    Output is read from the kernel no faster than the client takes it; Jupyter's reads on, into
    memory. What is not read waits in the kernel's queue, and a full one slows the kernel down. Only
    output: of replies there is one for each request of the client's, and a kernel throws away those
    that do not fit into its queue.
    """

    _nudged: asyncio.Future[None] | None = None
    _backlog = 0  # bytes that are not written yet
    _paused: Any = None  # the stream of output that is not being read for that
    _resumed = 0.0  # when that last ended
    _flushing = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._held: dict[str, tuple[Any, list[Any]]] = {}
        self._idle: set[str] = set()

    @classmethod
    def of_kernel(cls, kernel_id: str) -> list[Connection]:
        """The connections to this kernel."""
        return [
            connection
            for connection in list(cls._open_sockets)
            if isinstance(connection, Connection) and connection.kernel_id == kernel_id
        ]

    def disconnect(self) -> None:
        """The client has gone, and the kernel is not to wait for it."""
        self._paused = None
        self._held.clear()
        super().disconnect()

    # --- the kernel has become another one ---

    def reattach(self, key: bytes) -> None:
        """Connect to the kernel that there is now, unless this is connected to it."""
        if self.session.key == key or not self.channels:
            return
        self._send_status_message("restarting")
        for request in list(self._held):
            self._release(request)
        for stream in self.channels.values():
            if not stream.closed():
                stream.on_recv(None)
                stream.close()
        self._idle.clear()
        self.session.key = key
        self.create_stream()
        self._nudged = self.nudge()
        self._nudged.add_done_callback(self._listen)

    def _listen(self, _: object) -> None:
        for stream in self.channels.values():
            if not stream.closed():
                stream.on_recv_stream(self.handle_outgoing_message)

    async def attached(self) -> None:
        """Wait until a reattach() has come to its end."""
        if self._nudged is not None:
            await asyncio.wait([self._nudged])

    # --- messages of the client ---

    def handle_incoming_message(self, incoming_msg: Any) -> None:
        """As ever. A message without a channel is one for the shell; the stock gateway takes it so,
        too, and writes the code that is in it to the log."""
        if isinstance(incoming_msg, str) and '"channel"' not in incoming_msg:
            incoming_msg = json.dumps({**json.loads(incoming_msg), "channel": "shell"})
        super().handle_incoming_message(incoming_msg)

    # --- messages to the client ---

    def handle_outgoing_message(self, stream: Any, outgoing_msg: list[Any]) -> None:
        """Hand a message on, or keep it until its cell's idle status was handed on."""
        kind, request = self._look_at(stream, outgoing_msg)
        if kind == "reply" and request not in self._idle:
            self._held[request] = (stream, outgoing_msg)
            IOLoop.current().call_later(HOLD_SECONDS, self._release_late, request)
            return
        super().handle_outgoing_message(stream, outgoing_msg)
        self._pause_if_slow(stream)
        if kind == "idle":
            self._note_idle(request)
        elif kind == "reply":
            self._idle.discard(request)

    def _look_at(self, stream: Any, message: list[Any]) -> tuple[str, str]:
        """("reply" or "idle" or "", the request's id)."""
        channel = getattr(stream, "channel", "")
        if channel not in ("shell", "iopub"):
            return "", ""
        try:
            _, parts = self.session.feed_identities(message, copy=True)
            kind = self.session.unpack(parts[1])["msg_type"]
            if (channel, kind) not in (("shell", "execute_reply"), ("iopub", "status")):
                return "", ""
            request = self.session.unpack(parts[2])["msg_id"]
            if kind == "execute_reply":
                return "reply", request
            is_idle = self.session.unpack(parts[4])["execution_state"] == "idle"
        except (ValueError, KeyError, TypeError, IndexError):
            return "", ""
        return ("idle" if is_idle else ""), request

    def _note_idle(self, request: str) -> None:
        if request in self._held:
            self._release(request)
            return
        if len(self._idle) >= IDLES_MAX:
            self._idle.clear()
        self._idle.add(request)

    def _release(self, request: str) -> None:
        held = self._held.pop(request, None)
        if held is not None and self.channels:
            super().handle_outgoing_message(*held)

    def _release_late(self, request: str) -> None:
        """Give the idle status up, unless it may be among what was not read for a while."""
        loop = IOLoop.current()
        if request not in self._held:
            return
        if self._paused is not None or loop.time() < self._resumed + HOLD_SECONDS:
            loop.call_later(HOLD_SECONDS, self._release_late, request)
        else:
            self._release(request)

    # --- no faster than the client takes them ---

    def write_message(self, message: str | bytes, binary: bool = False) -> None:
        """Send to the client, unless it has gone."""
        with suppress(WebSocketClosedError):
            written = self.websocket_handler.write_message(message, binary)
            self._backlog += len(message)
            written.add_done_callback(partial(self._note_written, len(message)))

    def _note_written(self, size: int, written: asyncio.Future[None]) -> None:
        if not written.cancelled():
            written.exception()  # the client has gone, as on_close() will say
        self._backlog -= size
        if self._backlog <= BACKLOG_MAX // 2:
            self._resume()

    def _pause_if_slow(self, stream: Any) -> None:
        if self._flushing or self._backlog <= BACKLOG_MAX or stream.closed():
            return
        if getattr(stream, "channel", "") == "iopub":
            stream.stop_on_recv()
            self._paused = stream

    def _resume(self) -> None:
        stream, self._paused = self._paused, None
        if stream is not None and not stream.closed():
            self._resumed = IOLoop.current().time()
            stream.on_recv_stream(self.handle_outgoing_message)

    def _send_status_message(self, status: str) -> None:
        """After all output that there is; where nobody reads that, Jupyter's throws it away."""
        self._flushing = True
        try:
            self._resume()
            super()._send_status_message(status)
        finally:
            self._flushing = False
