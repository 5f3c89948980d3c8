"""ApprovalChannel: the server's half of the approval wire, for applications that have a WebSocket
server of their own. The appliance's tool server has its own one; see docs/tool-server.md."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol


class WebSocket(Protocol):
    """What is used of Starlette's and FastAPI's WebSocket."""

    async def accept(self) -> None:
        """Answer the handshake."""

    async def receive_json(self) -> Any:
        """The next message. Any exception means that the socket is closed."""

    async def send_json(self, data: Any) -> None:
        """Send one message."""


if not TYPE_CHECKING:
    with suppress(ImportError):  # FastAPI sees by the annotation of connect() that it is a route's
        from starlette.websockets import WebSocket


class ApprovalChannel:
    """Asks the one connected ApprovalClient for decisions on tool calls, by JSON-RPC 2.0.

    Without `approval_required` every request is accepted at once. `approval_timeout` is in seconds;
    None waits forever.
    """

    def __init__(
        self, approval_required: bool = False, approval_timeout: float | None = 60
    ) -> None:
        self.approval_required = approval_required
        self.approval_timeout = approval_timeout
        self._socket: WebSocket | None = None
        self._waiting: dict[str, asyncio.Future[bool]] = {}
        self._closed = asyncio.Event()
        self._closed.set()

    @property
    def open(self) -> bool:
        """Whether an ApprovalClient is connected."""
        return not self._closed.is_set()

    async def join(self, timeout: float = 5) -> None:
        """Wait until the channel is closed. Raises TimeoutError after `timeout` seconds."""
        await asyncio.wait_for(self._closed.wait(), timeout)

    async def connect(self, websocket: WebSocket) -> None:
        """Accept the socket and serve it until it is closed."""
        await websocket.accept()
        self._socket = websocket
        self._closed.clear()
        try:
            while True:
                self._settle(await websocket.receive_json())
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if not _is_end(error):
                raise
        finally:
            await self.disconnect()

    async def disconnect(self) -> None:
        """Fail the requests that wait, and be closed."""
        self._socket = None
        for decision in self._waiting.values():
            if not decision.done():
                decision.set_exception(RuntimeError("Approval channel disconnected"))
        self._waiting.clear()
        self._closed.set()

    async def request(self, server_name: str, tool_name: str, tool_args: dict[str, Any]) -> bool:
        """Ask, and return whether the call was accepted.

        Raises RuntimeError when no client is connected or it leaves, TimeoutError when it does not
        answer in time.
        """
        if not self.approval_required:
            return True
        if self._socket is None:
            raise RuntimeError("Approval channel not connected")
        request_id = str(uuid.uuid4())
        params = {"server_name": server_name, "tool_name": tool_name, "tool_args": tool_args}
        decision: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = decision
        try:
            async with asyncio.timeout(self.approval_timeout):
                await self._socket.send_json(
                    {"jsonrpc": "2.0", "method": "approve", "params": params, "id": request_id}
                )
                return await decision
        finally:
            self._waiting.pop(request_id, None)

    def _settle(self, answer: Any) -> None:
        decision = self._waiting.get(answer.get("id", "")) if isinstance(answer, dict) else None
        if decision and not decision.done():
            decision.set_result(answer.get("result") is True)


def _is_end(error: Exception) -> bool:
    """Starlette is no dependency, so its exception is known by name."""
    return type(error).__name__ == "WebSocketDisconnect" or isinstance(error, ConnectionError)
