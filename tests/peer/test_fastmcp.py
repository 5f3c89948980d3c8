# SPDX-License-Identifier: Apache-2.0
"""fastmcp 4.1: its Client in every mode and its command line."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from box import GUARD, TOOLS, Box, old_config, raises
from cells import ENDLESS, FOREVER, INTERRUPTED, SEEN, UNSEEN, Held
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from mcp_types import TextContent

MODES = ["auto", "legacy", "2026-07-28"]


@pytest.fixture(scope="module", params=MODES)
async def client(request: pytest.FixtureRequest, shared_box: Box) -> AsyncIterator[Client[Any]]:
    transport = StdioTransport("docker", shared_box.args(), keep_alive=False)
    async with Client(transport, mode=request.param) as client:
        yield client


async def cell(client: Client[Any], code: str, **more: Any) -> str:
    result = await client.call_tool(TOOLS[0], {"code": code, **more})
    (block,) = result.content
    assert isinstance(block, TextContent)
    text: str = block.text
    return text


# --- the client ---


@pytest.mark.anyio
@pytest.mark.gate
async def test_tools_are_listed(client: Client[Any]) -> None:
    assert [tool.name for tool in await client.list_tools()] == TOOLS


@pytest.mark.anyio
@pytest.mark.gate
async def test_state_persists(client: Client[Any]) -> None:
    await cell(client, "x = 6")
    assert await cell(client, "x * 7") == "42"


@pytest.mark.anyio
@pytest.mark.gate
async def test_an_error_is_raised_with_its_text(client: Client[Any]) -> None:
    begin = "^Error executing tool execute_ipython_cell: ZeroDivisionError: division by zero\n"
    with raises(ToolError, begin):
        await cell(client, "1/0")


@pytest.mark.anyio
async def test_a_timeout_keeps_the_state(client: Client[Any]) -> None:
    await cell(client, "x = 'kept'")
    with raises(ToolError, "TimeoutError"):
        await cell(client, f"import time; time.sleep({FOREVER})", timeout=0.5)
    assert await cell(client, "x") == "'kept'"


@pytest.mark.anyio
@pytest.mark.gate
async def test_progress_carries_the_output(client: Client[Any], shared_box: Box) -> None:
    held = Held(shared_box.workspace)

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        held.hear(message)

    await client.call_tool(TOOLS[0], {"code": held.code}, progress_handler=on_progress)
    assert held.text == "step 0\nstep 1\n"


@pytest.mark.anyio
@pytest.mark.gate
async def test_a_cancelled_call_is_interrupted(client: Client[Any]) -> None:
    await cell(client, UNSEEN)
    with anyio.fail_after(GUARD), anyio.CancelScope() as scope:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        arguments = {"code": ENDLESS, "timeout": FOREVER}
        await client.call_tool(TOOLS[0], arguments, progress_handler=on_progress)
    assert scope.cancelled_caught
    with anyio.fail_after(GUARD):
        assert await cell(client, SEEN) == INTERRUPTED


@pytest.mark.anyio
async def test_calls_at_the_same_time_are_all_answered(client: Client[Any]) -> None:
    answers: dict[int, str] = {}

    async def run(n: int) -> None:
        answers[n] = await cell(client, f"print({n})")

    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(run, n)
    assert answers == {n: str(n) for n in range(20)}


@pytest.mark.anyio
@pytest.mark.gate
async def test_reset_clears_the_state(client: Client[Any]) -> None:
    await cell(client, "gone = 1")
    (said,) = (await client.call_tool("reset", {})).content
    assert said.text.startswith("The kernel is new")
    assert await cell(client, "'gone' in globals()") == "False"


@pytest.mark.anyio
@pytest.mark.gate
async def test_the_old_configuration_works_unchanged(box: Box) -> None:
    client: Client[Any] = Client(old_config(box.workspace))
    async with client:
        assert [tool.name for tool in await client.list_tools()] == TOOLS
        assert await cell(client, "print('as before')") == "as before"
    await client.close()
    assert box.is_gone()


# --- the command line ---


def fastmcp(*words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("fastmcp")
    return subprocess.run(
        [program, *words], check=False, capture_output=True, text=True, timeout=GUARD
    )


def test_the_command_lists_the_tools(box: Box) -> None:
    run = fastmcp("list", "--command", shlex.join(box.command()), "--json")
    assert run.returncode == 0, run.stderr
    tools = json.loads(run.stdout)["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    assert tools[0]["inputSchema"]["properties"]["max_output_chars"]["default"] == 5000


def test_the_command_calls_a_tool(box: Box) -> None:
    words = ["--target", TOOLS[0], "--input-json", '{"code": "print(6 * 7)"}', "--json"]
    run = fastmcp("call", "--command", shlex.join(box.command()), *words)
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert answer["content"] == [{"type": "text", "text": "42"}]
    assert answer["is_error"] is False


def test_the_command_shows_an_error(box: Box) -> None:
    words = ["--target", TOOLS[0], "--input-json", '{"code": "1/0"}', "--json"]
    run = fastmcp("call", "--command", shlex.join(box.command()), *words)
    assert run.returncode == 1
    assert "ZeroDivisionError: division by zero" in json.loads(run.stdout)["content"][0]["text"]


def test_the_command_reads_the_old_configuration(box: Box, tmp_path_factory: Any) -> None:
    config = tmp_path_factory.mktemp("config") / "mcp.json"
    config.write_text(json.dumps(old_config(box.workspace)))
    run = fastmcp("call", str(config), TOOLS[0], "code=print('as before')", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["content"] == [{"type": "text", "text": "as before"}]
