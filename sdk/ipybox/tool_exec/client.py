"""ToolRunner and reset(): in a kernel those of ipybox_tools, which use the appliance's own socket;
elsewhere clients of a tool server at `host`:`port` (docs/tool-server.md)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ipybox_tools import ApprovalRejectedError, ApprovalTimeoutError, ToolRunnerError
from ipybox_tools.errors import error_of
from ipybox_tools.jsonable import to_json

__all__ = [
    "ApprovalRejectedError",
    "ApprovalTimeoutError",
    "ToolRunner",
    "ToolRunnerError",
    "reset",
]


class _ToolRunner:
    """Calls the tools of one MCP server, which the tool server starts at the first call.

    `server_params` say how: see docs/tools.md. `token` is an application's; without it the one of a
    ToolServer of this process, or IPYBOX_TOOL_SERVER_TOKEN.
    """

    def __init__(
        self,
        server_name: str,
        server_params: dict[str, Any],
        host: str = "localhost",
        port: int = 8900,
        token: str | None = None,
    ) -> None:
        self.server_name = server_name
        self.server_params = server_params
        self.host = host
        self.port = port
        self._token = token

    async def reset(self) -> None:
        """Stop all MCP servers of the tool server; the next call of each starts it anew."""
        await _reset(self.host, self.port, self._token)

    async def run(self, tool_name: str, tool_args: dict[str, Any]) -> dict[str, Any] | str | None:
        """Call a tool. Raises ApprovalRejectedError or ApprovalTimeoutError when the call was not
        allowed, ToolRunnerError when it failed."""
        from ipybox.tool_exec.http import send

        return _result(await send("POST", *self._request(tool_name, tool_args)))

    def run_sync(self, tool_name: str, tool_args: dict[str, Any]) -> dict[str, Any] | str | None:
        """run(), and wait for it."""
        from ipybox.tool_exec.http import send_sync

        return _result(send_sync("POST", *self._request(tool_name, tool_args)))

    def _request(self, tool_name: str, tool_args: dict[str, Any]) -> tuple[str, str, bytes]:
        from ipybox.tool_exec import tokens

        token = self._token or tokens.application(self.host, self.port)
        body = {
            "server_name": self.server_name,
            "server_params": self.server_params,
            "tool_name": tool_name,
            "tool_args": tool_args,
        }
        return f"http://{self.host}:{self.port}/run", token, to_json(body)


def _result(answer: dict[str, Any]) -> dict[str, Any] | str | None:
    if "error" in answer:
        raise error_of(answer)
    result: dict[str, Any] | str | None = answer["result"]
    return result


async def _reset(host: str = "localhost", port: int = 8900, token: str | None = None) -> None:
    """Stop all MCP servers of the tool server; the next call of each starts it anew."""
    from ipybox.tool_exec import tokens
    from ipybox.tool_exec.http import send

    await send("PUT", f"http://{host}:{port}/reset", token or tokens.application(host, port), b"")


if TYPE_CHECKING or "IPYBOX_TOOL_SOCKET" not in os.environ:
    ToolRunner = _ToolRunner
    reset = _reset
else:
    from ipybox_tools import ToolRunner, reset
