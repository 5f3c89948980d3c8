# SPDX-License-Identifier: Apache-2.0
"""ToolServer, ToolRunner, ApprovalClient, ApprovalChannel, KernelGateway and KernelClient."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import aiohttp
import fastapi
import pytest
import uvicorn

from ipybox import CodeExecutor
from ipybox.kernel_mgr.client import ExecutionError, ExecutionResult, KernelClient
from ipybox.kernel_mgr.server import KernelGateway
from ipybox.tool_exec.approval.client import ApprovalClient, ApprovalRequest
from ipybox.tool_exec.approval.server import ApprovalChannel
from ipybox.tool_exec.client import ApprovalRejectedError, ToolRunner, ToolRunnerError, reset
from ipybox.tool_exec.server import ToolServer
from ipybox.utils import arun, find_free_port


@pytest.mark.gate
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
            with pytest.raises(RuntimeError, match="already running"):
                await server.start()
        assert asked[0] == "brave_search.brave_image_search(query='q', count=2)"

    asyncio.run(main())


@pytest.mark.gate
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


@pytest.mark.gate
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


@pytest.mark.gate
def test_a_kernel_has_its_time_to_start(backend: str) -> None:
    """And works in the folder that it is given."""

    async def main() -> None:
        port, place = find_free_port(), Path("place")
        place.mkdir()
        token = "s" if backend == "docker" else None
        async with KernelGateway(port=port, log_level="WARNING", token=token):
            client = KernelClient(port=port)
            assert client.kernel_init_timeout == 60
            with pytest.raises(TimeoutError):
                await client.connect(kernel_init_timeout=0.001)
            with pytest.raises(RuntimeError):
                _ = client.kernel_id
            async with KernelClient(port=port, working_dir=place) as client:
                result = await client.execute("import os\nos.chdir('/')")
                assert result.text == f"[ipybox] cwd reset to {place.resolve()}"
                with pytest.raises(ExecutionError, match="NameError"):
                    await client.execute("keep")

    asyncio.run(main())


@pytest.mark.gate
def test_ports_of_an_executor(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        tools, kernels = find_free_port(), find_free_port()
        async with CodeExecutor(
            tool_server_port=tools, kernel_gateway_port=kernels, approve_tool_calls=False
        ):
            runner = ToolRunner("brave_search", search, port=tools)
            assert isinstance(await runner.run("pid", {}), str)
            async with KernelClient(port=kernels) as client:
                assert (await client.execute("6 * 7")).text == "42"

    asyncio.run(main())


@pytest.mark.gate
def test_the_servers_half_of_the_approval_wire() -> None:
    """As a route of FastAPI, with the real ApprovalClient on the other side."""

    async def main() -> None:
        port = find_free_port()
        channel = ApprovalChannel(approval_required=True, approval_timeout=60)
        with pytest.raises(RuntimeError, match="not connected"):
            await channel.request("s", "t", {})
        assert await ApprovalChannel().request("s", "t", {})
        app = fastapi.FastAPI()
        app.websocket("/approval")(channel.connect)
        server = uvicorn.Server(uvicorn.Config(app, "localhost", port, log_level="warning"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)

        silent = asyncio.Event()

        async def decide(request: ApprovalRequest) -> None:
            assert (request.server_name, request.tool_args) == ("s", {"a": 1})
            if request.tool_name == "silent":
                silent.set()
            else:
                await (request.accept() if request.tool_name == "yes" else request.reject())

        async with ApprovalClient(decide, port=port):
            answers = [channel.request("s", name, {"a": 1}) for name in ("yes", "no", "yes")]
            assert await asyncio.gather(*answers) == [True, False, True]
            assert channel.open
            channel.approval_timeout = 0.3
            with pytest.raises(TimeoutError):
                await channel.request("s", "silent", {"a": 1})
            channel.approval_timeout = None
            silent.clear()
            waiting = asyncio.create_task(channel.request("s", "silent", {"a": 1}))
            await silent.wait()
        with pytest.raises(RuntimeError, match="disconnected"):
            await waiting
        await channel.join()
        assert not channel.open
        server.should_exit = True
        await serving

    asyncio.run(main())


@pytest.mark.gate
@pytest.mark.parametrize("kind", [CodeExecutor, ToolServer, ApprovalChannel])
def test_approval_timeout_is_60_by_default(kind: Any) -> None:
    assert inspect.signature(kind).parameters["approval_timeout"].default == 60


@pytest.mark.gate
def test_names_of_both_lines_can_be_imported() -> None:
    import ipybox
    from ipybox.code_exec import CodeExecutor
    from ipybox.mcp_apigen import generate_mcp_sources

    assert ipybox.CodeExecutor is CodeExecutor
    assert ipybox.generate_mcp_sources is generate_mcp_sources
    assert set(ipybox.__all__) <= set(dir(ipybox))
    assert (Path(ipybox.__file__).parent / "py.typed").exists()
