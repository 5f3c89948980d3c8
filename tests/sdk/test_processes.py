# SPDX-License-Identifier: Apache-2.0
"""ToolServer, ToolRunner, ApprovalClient, ApprovalChannel, KernelGateway and KernelClient."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ipybox.kernel_mgr.client import ExecutionError, ExecutionResult, KernelClient
from ipybox.kernel_mgr.server import KernelGateway
from ipybox.tool_exec.approval.client import ApprovalClient, ApprovalRequest
from ipybox.tool_exec.approval.server import ApprovalChannel
from ipybox.tool_exec.client import ApprovalRejectedError, ToolRunner, ToolRunnerError, reset
from ipybox.tool_exec.server import ToolServer
from ipybox.utils import arun, find_free_port


def test_tools_are_called_and_approved(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        port, asked = find_free_port(), []

        async def decide(request: ApprovalRequest) -> None:
            asked.append(str(request))
            await (request.reject() if request.tool_args.get("query") == "no" else request.accept())

        async with (
            ToolServer(port=port, approval_required=True, log_level="WARNING") as server,
            ApprovalClient(decide, port=port),
        ):
            runner = ToolRunner("brave_search", search, port=port)
            found = await runner.run("brave_image_search", {"query": "q", "count": 2})
            assert isinstance(found, dict) and len(found["items"]) == 2
            assert isinstance(await arun(runner.run_sync, "pid", {}), str)
            with pytest.raises(ApprovalRejectedError):
                await runner.run("brave_image_search", {"query": "no"})
            with pytest.raises(ToolRunnerError):
                await runner.run("there_is_none", {})
            await reset(port=port)
            with pytest.raises(RuntimeError, match="running already"):
                await server.start()
        assert asked[0] == "brave_search.brave_image_search(query='q', count=2)"

    asyncio.run(main())


def test_a_stranger_is_not_let_in(backend: str, search: dict[str, Any]) -> None:
    """In Docker, and natively with tokens."""

    async def main() -> None:
        port = find_free_port()
        token = "a" if backend == "native" else None
        async with (
            ToolServer(port=port, log_level="ERROR", application_token=token),
            aiohttp.ClientSession() as http,
            http.put(f"http://localhost:{port}/reset") as answer,
        ):
            assert answer.status == 401

    asyncio.run(main())


def test_kernels_of_a_gateway(backend: str) -> None:
    async def main() -> None:
        port = find_free_port()
        token = "s" if backend == "docker" else None  # a published port needs one
        env = {"NAME": "value"}
        async with KernelGateway(port=port, env=env, log_level="WARNING", token=token):
            async with KernelClient(port=port) as client:
                items = [
                    item
                    async for item in client.stream("import os\nprint('hello')\nos.environ['NAME']")
                ]
                assert items[-1] == ExecutionResult("hello\n'value'", [])
                assert "".join(str(item) for item in items[:-1]) == "hello\n'value'"
                with pytest.raises(ExecutionError, match="ZeroDivisionError"):
                    await client.execute("1/0")
                with pytest.raises(TimeoutError):
                    await client.execute("import time; time.sleep(30)", timeout=0.5)
                first = client.kernel_id
                await client.execute("x = 1")
                await client.reset()
                assert client.kernel_id != first
                with pytest.raises(ExecutionError, match="NameError"):
                    await client.execute("x")
            with pytest.raises(RuntimeError):
                _ = client.kernel_id

    asyncio.run(main())


class FakeSocket:
    """What Starlette's WebSocket is to ApprovalChannel: a peer of its public protocol."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.said: asyncio.Queue[Any] = asyncio.Queue()

    async def accept(self) -> None:
        pass

    async def receive_json(self) -> Any:
        if (message := await self.said.get()) is None:
            raise ConnectionError
        return message

    async def send_json(self, data: Any) -> None:
        await self.sent.put(data)


def test_the_servers_half_of_the_approval_wire() -> None:
    async def main() -> None:
        channel, socket = (
            ApprovalChannel(approval_required=True, approval_timeout=0.3),
            FakeSocket(),
        )
        with pytest.raises(RuntimeError, match="not connected"):
            await channel.request("s", "t", {})
        assert await ApprovalChannel().request("s", "t", {})
        serving = asyncio.create_task(channel.connect(socket))
        await asyncio.sleep(0)
        assert channel.open
        asked = asyncio.create_task(channel.request("s", "t", {"a": 1}))
        question = await socket.sent.get()
        assert question["params"] == {"server_name": "s", "tool_name": "t", "tool_args": {"a": 1}}
        await socket.said.put({"jsonrpc": "2.0", "id": question["id"], "result": False})
        assert await asked is False
        with pytest.raises(TimeoutError):
            await channel.request("s", "t", {})
        waiting = asyncio.create_task(channel.request("s", "t", {}))
        await socket.sent.get()
        await socket.sent.get()
        await socket.said.put(None)
        with pytest.raises(RuntimeError, match="disconnected"):
            await waiting
        await channel.join()
        await serving
        assert not channel.open

    asyncio.run(main())


def test_names_of_both_lines_can_be_imported() -> None:
    import ipybox
    from ipybox.code_exec import CodeExecutor
    from ipybox.mcp_apigen import generate_mcp_sources

    assert ipybox.CodeExecutor is CodeExecutor
    assert ipybox.generate_mcp_sources is generate_mcp_sources
    assert set(ipybox.__all__) <= set(dir(ipybox))
    assert (Path(ipybox.__file__).parent / "py.typed").exists()
