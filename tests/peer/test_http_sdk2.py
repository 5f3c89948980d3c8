# SPDX-License-Identifier: Apache-2.0
"""The MCP Python SDK 2.3 over HTTP, in every mode, which is both eras of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from box import GUARD, TOOLS, raises
from cells import ENDLESS, FOREVER, GIVEN_UP, INTERRUPTED, SEEN, UNSEEN, Held
from http_box import serving
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import ElicitRequestParams, ElicitResult
from sdk2_cells import VERSIONS, cell, modern_only, texts

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def url(workspace: Path) -> Iterator[str]:
    with serving(workspace) as url:
        yield url


@pytest.fixture(scope="module", params=list(VERSIONS))
async def client(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Client]:
    async with Client(url, mode=request.param) as client:
        yield client


@pytest.mark.gate
async def test_the_newest_version_of_the_era_is_negotiated(client: Client) -> None:
    assert client.protocol_version == VERSIONS[client.mode]


async def test_tools_are_listed(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    named = "session" in tools[0].input_schema["properties"]
    assert named == (client.mode != "legacy")


@pytest.mark.gate
async def test_state_persists(client: Client) -> None:
    assert await cell(client, "x = 20") == ""
    assert await cell(client, "x * 2 + 2") == "42"


@pytest.mark.gate
async def test_errors_are_as_they_should_be(client: Client) -> None:
    result = await client.call_tool("execute_ipython_cell", {"code": "1/0"})
    assert result.is_error
    assert "ZeroDivisionError" in texts(result)[0]
    with raises(MCPError, "Unknown tool: nonsense"):
        await client.call_tool("nonsense", {})


@pytest.mark.gate
async def test_progress_carries_the_output(client: Client, workspace: Path) -> None:
    held = Held(workspace)

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        held.hear(message)

    result = await client.call_tool(
        "execute_ipython_cell", {"code": held.code}, progress_callback=on_progress
    )
    assert texts(result) == ["step 0\nstep 1"]
    assert held.text == "step 0\nstep 1\n"


async def test_a_call_whose_time_is_over_is_cancelled(client: Client) -> None:
    """By the SDK's own clock."""
    await cell(client, f"x = 'through the cancel'; {UNSEEN}")
    arguments = {"code": ENDLESS, "timeout": FOREVER}
    with raises(MCPError):
        await client.call_tool("execute_ipython_cell", arguments, read_timeout_seconds=2)
    with anyio.fail_after(GUARD):
        assert await cell(client, "x") == "'through the cancel'"
        assert await cell(client, SEEN) in GIVEN_UP


async def test_a_call_given_up_is_cancelled(client: Client) -> None:
    """When its cell has begun."""
    await cell(client, UNSEEN)
    with anyio.fail_after(GUARD), anyio.CancelScope() as scope:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        arguments = {"code": ENDLESS, "timeout": FOREVER}
        await client.call_tool("execute_ipython_cell", arguments, progress_callback=on_progress)
    assert scope.cancelled_caught
    with anyio.fail_after(GUARD):
        assert await cell(client, SEEN) == INTERRUPTED


async def test_calls_at_the_same_time_are_all_answered(client: Client) -> None:
    answers: dict[int, str] = {}

    async def run(n: int) -> None:
        answers[n] = await cell(client, f"print({n})")

    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(run, n)
    assert answers == {n: str(n) for n in range(20)}


@pytest.mark.parametrize("mode", list(VERSIONS))
@pytest.mark.gate
async def test_an_approval_is_asked_for(tmp_path: Path, mode: str) -> None:
    """Within the call, or by a result that the SDK answers with the call's repetition."""
    asked: list[str] = []

    async def elicit(_: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": "approve"})

    asks = ["--approve-tool-calls", "--approve-shell-cmds"]
    headers = {"Authorization": "Bearer secret"}
    with serving(tmp_path, *asks, IPYBOX_TOKEN="secret") as url:
        async with (
            create_mcp_http_client(headers) as http,
            Client(
                streamable_http_client(url, http_client=http),
                mode=mode,
                elicitation_callback=elicit,
            ) as client,
        ):
            assert await cell(client, "!echo approved") == "approved"
    assert len(asked) == 1
    assert "echo approved" in asked[0]


@modern_only
async def test_sessions_are_named(client: Client) -> None:
    await cell(client, "x = 'default'")
    await cell(client, "x = 'another'", session="another")
    assert await cell(client, "x", session="default") == "'default'"
    assert await cell(client, "x", session="another") == "'another'"
    result = await client.call_tool("execute_ipython_cell", {"code": "1", "session": "a b"})
    assert result.is_error
    assert "session" in texts(result)[0]


@modern_only
async def test_listen_is_acknowledged_and_disturbs_nothing(client: Client) -> None:
    with anyio.fail_after(GUARD):
        async with client.listen(tools_list_changed=True) as subscription:
            assert subscription.honored.tools_list_changed
            assert await cell(client, "print('while listening')") == "while listening"
    assert await cell(client, "print('after it')") == "after it"
