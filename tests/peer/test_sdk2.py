# SPDX-License-Identifier: Apache-2.0
"""The MCP Python SDK 2.3: its Client in every mode, which is both eras of the protocol."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from box import GUARD, TOOLS, Box, raises, statuses
from cells import ENDLESS, FOREVER, GIVEN_UP, INTERRUPTED, SEEN, UNSEEN, Held
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.subscriptions import ListenNotSupportedError
from sdk2_cells import VERSIONS, cell, modern_only, texts

pytestmark = pytest.mark.anyio


def client_of(box: Box, mode: str, status: Path | None = None) -> Client:
    """With `status`, the container is started by ./unsignalled."""
    command, *args = box.command() if status is None else box.unsignalled(status)
    return Client(StdioServerParameters(command=command, args=args), mode=mode)


@pytest.fixture(scope="module", params=list(VERSIONS))
async def client(request: pytest.FixtureRequest, shared_box: Box) -> AsyncIterator[Client]:
    async with client_of(shared_box, request.param) as client:
        yield client


# --- in every mode ---


@pytest.mark.gate
async def test_the_newest_version_of_the_era_is_negotiated(client: Client) -> None:
    assert client.protocol_version == VERSIONS[client.mode]


async def test_the_server_names_itself(shared_box: Box) -> None:
    for mode in ("auto", "legacy"):
        async with client_of(shared_box, mode) as client:
            assert client.server_info is not None
            assert client.server_info.name == "ipybox"
            assert client.server_capabilities.tools is not None
            assert client.instructions


@pytest.mark.gate
async def test_tools_are_listed(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    assert tools[0].input_schema["required"] == ["code"]
    assert tools[0].annotations is not None


@pytest.mark.gate
async def test_state_persists(client: Client) -> None:
    assert await cell(client, "x = 20") == ""
    assert await cell(client, "x * 2 + 2") == "42"


@pytest.mark.gate
async def test_an_error_is_a_result(client: Client) -> None:
    result = await client.call_tool("execute_ipython_cell", {"code": "1/0"})
    assert result.is_error
    prefix = "Error executing tool execute_ipython_cell: ZeroDivisionError: division by zero\n"
    assert texts(result)[0].startswith(prefix)


async def test_wrong_arguments_are_a_result(client: Client) -> None:
    result = await client.call_tool("execute_ipython_cell", {"code": 5})
    assert result.is_error
    assert "code" in texts(result)[0]


async def test_an_unknown_tool_is_an_error_of_the_protocol(client: Client) -> None:
    with raises(MCPError, "Unknown tool: nonsense"):
        await client.call_tool("nonsense", {})


async def test_a_timeout_keeps_the_state(client: Client) -> None:
    await cell(client, "x = 'kept'")
    result = await client.call_tool(
        "execute_ipython_cell", {"code": f"import time; time.sleep({FOREVER})", "timeout": 0.5}
    )
    assert result.is_error
    assert "TimeoutError" in texts(result)[0]
    assert await cell(client, "x") == "'kept'"


@pytest.mark.gate
async def test_progress_carries_the_output(client: Client, shared_box: Box) -> None:
    held = Held(shared_box.workspace)
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)
        held.hear(message)

    result = await client.call_tool(
        "execute_ipython_cell", {"code": held.code}, progress_callback=on_progress
    )
    assert texts(result) == ["step 0\nstep 1"]
    assert held.text == "step 0\nstep 1\n"
    assert heard == sorted(set(heard))


async def test_a_call_whose_time_is_over_is_cancelled(client: Client) -> None:
    """By the SDK's own clock."""
    await cell(client, f"x = 'through the cancel'; {UNSEEN}")
    arguments = {"code": ENDLESS, "timeout": FOREVER}
    with raises(MCPError):
        await client.call_tool("execute_ipython_cell", arguments, read_timeout_seconds=2)
    with anyio.fail_after(GUARD):
        assert await cell(client, "x") == "'through the cancel'"
        assert await cell(client, SEEN) in GIVEN_UP


@pytest.mark.gate
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


async def test_a_call_that_waits_can_be_cancelled(client: Client, shared_box: Box) -> None:
    """It is taken out of the queue; the cell before it is not touched."""
    await cell(client, "ran = []")
    held = Held(shared_box.workspace)
    begun, first, scope = anyio.Event(), list[str](), anyio.CancelScope()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    async def run_first() -> None:
        result = await client.call_tool(
            "execute_ipython_cell",
            {"code": f"{held.code}\nran.append(1)", "timeout": FOREVER},
            progress_callback=on_progress,
        )
        first.extend(texts(result))

    async def run_second() -> None:
        with scope:
            await client.call_tool("execute_ipython_cell", {"code": "ran.append(2)"})

    with anyio.fail_after(GUARD):
        async with anyio.create_task_group() as group:
            group.start_soon(run_first)
            await begun.wait()
            async with anyio.create_task_group() as waiting:
                waiting.start_soon(run_second)
                await anyio.wait_all_tasks_blocked()
                # It has been sent, and what is answered now was sent after it.
                assert (await client.call_tool("execute_ipython_cell", {})).is_error
                scope.cancel()
            held.let_go()
        assert first == ["step 0\nstep 1"]
        assert await cell(client, "ran") == "[1]"


@pytest.mark.gate
async def test_calls_at_the_same_time_are_all_answered(client: Client) -> None:
    answers: dict[int, str] = {}

    async def run(n: int) -> None:
        answers[n] = await cell(client, f"print({n})")

    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(run, n)
    assert answers == {n: str(n) for n in range(20)}


async def test_an_image_is_linked(client: Client, shared_box: Box) -> None:
    code = (
        "from IPython.display import Image, display\n"
        "display(Image(data=bytes.fromhex('89504e470d0a1a0a') + b'rest', format='png'))"
    )
    text = await cell(client, code)
    match = re.search(r"Generated images:\n\n- \[(\w{8})\]\(/app/workspace/images/\1\.png\)", text)
    assert match, text
    assert (shared_box.workspace / f"images/{match[1]}.png").read_bytes().endswith(b"rest")


@pytest.mark.gate
async def test_reset_clears_the_state_and_says_what_is_left(client: Client) -> None:
    await cell(client, "gone = 1")
    result = await client.call_tool("reset", {})
    [said] = texts(result)
    assert said.startswith("The kernel is new") and "files" in said
    assert not result.is_error
    assert await cell(client, "'gone' in globals()") == "False"


# --- the modern era only ---


@modern_only
async def test_a_list_may_be_cached_as_the_server_says(client: Client) -> None:
    tools = await client.list_tools()
    assert tools.ttl_ms > 0
    assert tools.cache_scope == "private"  # clients differ in what they show


@modern_only
async def test_results_carry_the_stamp_of_the_server(client: Client) -> None:
    result = await client.call_tool("execute_ipython_cell", {"code": "1"})
    assert result.meta is not None
    assert result.meta["io.modelcontextprotocol/serverInfo"]["name"] == "ipybox"


@modern_only
async def test_listen_is_acknowledged_and_disturbs_nothing(client: Client) -> None:
    with anyio.fail_after(GUARD):
        async with client.listen(tools_list_changed=True) as subscription:
            assert subscription.honored.tools_list_changed  # a server may be registered meanwhile
            assert await cell(client, "print('while listening')") == "while listening"
    assert await cell(client, "print('after it')") == "after it"


@pytest.mark.gate
async def test_listen_does_not_keep_the_container_alive(box: Box, status: Path) -> None:
    async with client_of(box, "auto", status) as client, client.listen(tools_list_changed=True):
        pass
    assert box.is_gone()
    assert statuses(status) == {"0"}


async def test_the_first_message_may_be_a_call(box: Box) -> None:
    """A pinned client sends no message of its own before its user's first request."""
    async with client_of(box, "2026-07-28") as client:
        assert await cell(client, "print('first')") == "first"
    assert box.is_gone()


# --- the handshake era only ---


async def test_listen_is_not_offered_to_a_handshake_client(shared_box: Box) -> None:
    async with client_of(shared_box, "legacy") as client:
        with raises(ListenNotSupportedError):
            async with client.listen(tools_list_changed=True):
                pass
