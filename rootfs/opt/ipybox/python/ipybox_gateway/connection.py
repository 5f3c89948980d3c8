"""One WebSocket: a client's way to the channels of a kernel."""

from __future__ import annotations

import asyncio
from typing import Any

import jupyter_client.session
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from tornado.ioloop import IOLoop

HOLD_SECONDS = 2.0
IDLES_MAX = 1000

# Dates of headers go on as the text that they came as: nobody here reads them, and making objects
# of them and text again, ten times a cell, takes a tenth of a millisecond.
jupyter_client.session.extract_dates = lambda obj: obj  # type: ignore[attr-defined]


class Connection(ZMQChannelsWebsocketConnection):  # type: ignore[misc]
    """As Jupyter's, but an execute_reply is handed on after all of its cell's output was.

    The output comes through another socket than the reply, and clients that stop reading at the
    reply would lose its end. The idle status is what comes last there.
    """

    _nudged: asyncio.Future[None] | None = None

    @classmethod
    def of_kernel(cls, kernel_id: str) -> list[Connection]:
        """The connections to this kernel."""
        return [
            connection
            for connection in list(cls._open_sockets)
            if isinstance(connection, Connection) and connection.kernel_id == kernel_id
        ]

    def connect(self) -> asyncio.Future[None] | None:
        """Begin to hand messages on, each at once."""
        self._held: dict[str, tuple[Any, list[Any]]] = {}
        self._idle: set[str] = set()
        self.websocket_handler.set_nodelay(True)
        connected: asyncio.Future[None] | None = super().connect()
        return connected

    # --- the kernel has become another one ---

    def reattach(self, key: bytes) -> None:
        """Connect to the kernel that there is now, unless this is connected to it."""
        if self.session.key == key or not self.channels:
            return
        self._send_status_message("restarting")
        for stream in self.channels.values():
            if not stream.closed():
                stream.on_recv(None)
                stream.close()
        self._held.clear()
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

    # --- messages to the client ---

    def handle_outgoing_message(self, stream: Any, outgoing_msg: list[Any]) -> None:
        """Hand a message on, or keep it until its cell's idle status was handed on."""
        kind, request = self._look_at(stream, outgoing_msg)
        if kind == "reply" and request not in self._idle:
            self._held[request] = (stream, outgoing_msg)
            IOLoop.current().call_later(HOLD_SECONDS, self._release, request)
            return
        super().handle_outgoing_message(stream, outgoing_msg)
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
