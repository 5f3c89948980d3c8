# SPDX-License-Identifier: Apache-2.0
"""The MCP Python SDK 1.30 over HTTP: sessions of the handshake, each with a kernel of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from box import GUARD, TOOLS, raises
from cells import ENDLESS, FOREVER, INTERRUPTED, SEEN, UNSEEN, Held
from http_box import serving
from mcp import ClientSession, McpError, types
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

pytestmark = pytest.mark.anyio

HEADERS = {"Accept": "application/json, text/event-stream"}
ASKS = ["--approve-tool-calls", "--approve-shell-cmds"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def url(workspace: Path) -> Iterator[str]:
    with serving(workspace) as url:
        yield url


@asynccontextmanager
async def connected(
    url: str, elicit: ElicitationFnT | None = None, token: str | None = None
) -> AsyncIterator[ClientSession]:
    headers = {"Authorization": f"Bearer {token}"} if token else None
    async with (
        create_mcp_http_client(headers) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write, elicitation_callback=elicit) as session,
    ):
        await session.initialize()
        yield session


async def cell(session: ClientSession, code: str, **more: Any) -> str:
    result = await session.call_tool("execute_ipython_cell", {"code": code, **more})
    assert not result.isError, result
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return str(block.text)


@pytest.mark.gate
async def test_a_session_keeps_its_state(url: str) -> None:
    async with connected(url) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS
        await cell(session, "x = 20")
        assert await cell(session, "x * 2 + 2") == "42"
        await session.send_ping()
        with raises(McpError, "Unknown tool: nonsense"):
            await session.call_tool("nonsense", {})


async def test_sessions_have_kernels_of_their_own(url: str) -> None:
    async with connected(url) as one, connected(url) as two:
        await cell(one, "x = 'one'")
        await cell(two, "x = 'two'")
        assert (await cell(one, "x"), await cell(two, "x")) == ("'one'", "'two'")


async def test_calls_at_the_same_time_are_all_answered(url: str) -> None:
    answers: dict[int, str] = {}
    async with connected(url) as session:

        async def run(n: int) -> None:
            answers[n] = await cell(session, f"print({n})")

        async with anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(run, n)
    assert answers == {n: str(n) for n in range(20)}


@pytest.mark.gate
async def test_progress_carries_the_output(url: str, workspace: Path) -> None:
    held = Held(workspace)

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        held.hear(message)

    async with connected(url) as session:
        result = await session.call_tool(
            "execute_ipython_cell", {"code": held.code}, progress_callback=on_progress
        )
    assert not result.isError
    assert held.text == "step 0\nstep 1\n"


@pytest.mark.gate
async def test_a_call_that_is_cancelled_is_interrupted(url: str) -> None:
    async with connected(url) as session:
        await cell(session, UNSEEN)
        request_id = session._request_id  # of the next one
        with anyio.fail_after(GUARD), anyio.CancelScope() as scope:

            async def on_progress(
                progress: float, total: float | None, message: str | None
            ) -> None:
                scope.cancel()

            arguments = {"code": ENDLESS, "timeout": FOREVER}
            await session.call_tool(
                "execute_ipython_cell", arguments, progress_callback=on_progress
            )
        assert scope.cancelled_caught
        cancelled = types.CancelledNotification(
            params=types.CancelledNotificationParams(requestId=request_id)  # not told by the SDK
        )
        with anyio.fail_after(GUARD):
            await session.send_notification(types.ClientNotification(cancelled))
            assert await cell(session, SEEN) == INTERRUPTED


@pytest.mark.gate
async def test_an_approval_is_asked_for_within_the_call(tmp_path: Path) -> None:
    asked: list[str] = []

    async def elicit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"decision": "approve"})

    with serving(tmp_path, *ASKS, IPYBOX_TOKEN="secret") as url:
        async with connected(url, elicit, "secret") as session:
            assert await cell(session, "!echo approved") == "approved"
    assert len(asked) == 1
    assert "echo approved" in asked[0]


async def test_without_a_token_nobody_approves_or_registers(tmp_path: Path) -> None:
    """Code in kernels can be a client of this port, too."""
    asked: list[str] = []

    async def elicit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"decision": "approve"})

    server = {"command": "sh", "args": ["-c", "echo ${HOME} > stolen"]}
    with serving(tmp_path, *ASKS) as url:
        async with connected(url, elicit) as session:
            run = await session.call_tool("execute_ipython_cell", {"code": "!touch stolen"})
            arguments = {"server_name": "s", "server_params": server}
            registered = await session.call_tool("register_mcp_server", arguments)
    assert asked == []
    assert run.isError
    assert "Approval channel not connected" in str(run.content)
    assert registered.isError
    assert "IPYBOX_TOKEN" in str(registered.content)
    assert not (tmp_path / "stolen").exists()


@pytest.mark.gate
async def test_delete_ends_the_session(url: str) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "0"},
        },
    }
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx.AsyncClient(headers=HEADERS) as client:
        answer = await client.post(url, json=body)
        assert answer.status_code == 200
        session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        assert (await client.post(url, json=ping, headers=session)).json()["result"] == {}
        assert (await client.delete(url, headers=session)).status_code == 200
        assert (await client.post(url, json=ping, headers=session)).status_code == 404
        assert (await client.post(url, json=ping)).status_code == 400


@pytest.mark.gate
async def test_a_lost_stream_is_resumed(url: str, workspace: Path) -> None:
    """The connection of a running call breaks; what came meanwhile is there for who comes back."""
    start = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "0"},
        },
    }
    held = Held(workspace)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "execute_ipython_cell",
            "arguments": {"code": held.code},
            "_meta": {"progressToken": 1},
        },
    }
    async with httpx.AsyncClient(headers=HEADERS, timeout=GUARD) as client:
        answer = await client.post(url, json=start)
        session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        last = ""
        async with client.stream("POST", url, json=call, headers=session) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("id: "):
                    last = line.removeprefix("id: ")
                if "step 0" in line:
                    break
        held.let_go()
        resumed = {**session, "Last-Event-ID": last, "Accept": "text/event-stream"}
        text = (await client.get(url, headers=resumed)).text
        assert '"id":1,"result"' in text
        assert "step 0\\nstep 1" in text
        await client.delete(url, headers=session)


async def test_a_page_of_another_site_is_refused(url: str) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx.AsyncClient(headers=HEADERS) as client:
        for header, status in (("Origin", 403), ("Host", 421)):
            answer = await client.post(url, json=ping, headers={header: "http://evil.example"})
            assert answer.status_code == status
