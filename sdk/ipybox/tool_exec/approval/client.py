"""Deciding on tool calls: ApprovalRequest, and ApprovalClient for a tool server's channel."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from ipybox_tools import ApprovalRequestor

from ipybox.tool_exec import tokens

if TYPE_CHECKING:
    import aiohttp

__all__ = ["ApprovalCallback", "ApprovalClient", "ApprovalRequest", "ApprovalRequestor"]

logger = logging.getLogger(__name__)


class ApprovalRequest:
    """A tool call that waits for accept() or reject().

    `server_name`, `tool_name` and `tool_args` are what the code calls; `respond` carries the
    decision to the server. The first decision counts; later ones have no effect.

    `outcome` is what has become of it, as far as the server told: "accepted", "rejected",
    "expired", "failed" (nobody could be asked), "withdrawn" (the code is gone), or None. Somebody
    else may have decided, too.
    """

    def __init__(
        self,
        server_name: str,
        tool_name: str,
        tool_args: dict[str, Any],
        respond: Callable[[bool], Awaitable[None]],
    ) -> None:
        self.server_name = server_name
        self.tool_name = tool_name
        self.tool_args = tool_args
        self.outcome: str | None = None
        self._respond = respond
        self._decision: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def __str__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.tool_args.items())
        return f"{self.server_name}.{self.tool_name}({arguments})"

    async def accept(self) -> None:
        """Let the call be made."""
        await self._decide(True)

    async def reject(self) -> None:
        """Have the call fail with ApprovalRejectedError in the code."""
        await self._decide(False)

    async def response(self) -> bool:
        """Await the decision, whoever makes it: True for accept(). A call that expired or whose
        code is gone counts as rejected."""
        return await asyncio.shield(self._decision)

    def on_decision(self, callback: Callable[[bool], None]) -> None:
        """Call `callback` with the decision, once; now if it was made already."""
        if self._decision.done():
            self._tell(callback, self._decision.result())
        else:
            self._decision.add_done_callback(lambda made: self._tell(callback, made.result()))

    def set_on_decision(self, on_decision: Callable[[], None]) -> None:
        """on_decision() for a callback that takes nothing."""
        self.on_decision(lambda _: on_decision())

    @staticmethod
    def _tell(callback: Callable[[bool], None], decision: bool) -> None:
        try:
            callback(decision)
        except Exception:
            logger.exception("a callback for an approval's decision failed")

    def settle(self, outcome: str) -> None:
        """The server has told what became of it."""
        self.outcome = outcome
        if not self._decision.done():
            self._decision.set_result(outcome == "accepted")

    async def _decide(self, decision: bool) -> None:
        if not self._decision.done():
            self._decision.set_result(decision)
            await self._respond(decision)


ApprovalCallback = Callable[[ApprovalRequest], Awaitable[None]]
"""Is given each request, and accepts or rejects it."""


class ApprovalClient:
    """The approver of the tool server at `host`:`port`; there is one at a time.

    `callback` is awaited for each request in turn, so calls are decided in their order. `token` is
    the approver's token; without it the one of a ToolServer of this process, or
    IPYBOX_APPROVER_TOKEN.
    """

    def __init__(
        self,
        callback: ApprovalCallback,
        host: str = "localhost",
        port: int = 8900,
        token: str | None = None,
    ) -> None:
        self.callback = callback
        self.host = host
        self.port = port
        self._token = token
        self._http: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.disconnect()

    async def connect(self) -> None:
        """Open the channel. Raises aiohttp.ClientError when the server does not let us."""
        import aiohttp

        token = self._token or tokens.approver(self.host, self.port)
        self._http = aiohttp.ClientSession(headers=tokens.headers(token))
        try:
            self._socket = await self._http.ws_connect(
                f"ws://{self.host}:{self.port}/approval", heartbeat=20, max_msg_size=32 << 20
            )
        except BaseException:
            await self._http.close()
            raise
        self._task = asyncio.create_task(self._receive(self._socket))

    async def disconnect(self) -> None:
        """Leave; questions that wait go to the next approver, or fail."""
        if self._socket:
            await self._socket.close()
        if self._task:
            await self._task
        if self._http:
            await self._http.close()
        self._socket = self._task = self._http = None

    async def _send(self, decision: bool, request_id: str) -> None:
        if not self._socket:
            raise RuntimeError("the approval client is not connected")
        await self._socket.send_json({"jsonrpc": "2.0", "result": decision, "id": request_id})

    async def _receive(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            data = json.loads(message.data)
            if data.get("method") != "approve":
                continue
            params = data["params"]
            request = ApprovalRequest(
                params["server_name"],
                params["tool_name"],
                params["tool_args"],
                partial(self._send, request_id=data["id"]),
            )
            try:
                await self.callback(request)
            except Exception:
                logger.exception("the approval callback failed; the request is still undecided")
