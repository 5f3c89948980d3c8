# SPDX-License-Identifier: Apache-2.0
"""Agent frameworks that reach the image as an MCP server over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from box import IMAGE, INSIDE, address_of, give_away, running, wait_until_ready
from langchain_mcp_adapters.client import MultiServerMCPClient
from smolagents import MCPClient

pytestmark = pytest.mark.anyio

TOKEN = "secret-of-the-test"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    workspace = tmp_path_factory.mktemp("workspace")
    give_away(workspace)
    words = ["-p", "127.0.0.1::8080", "-v", f"{workspace}:{INSIDE}", "-e", f"IPYBOX_TOKEN={TOKEN}"]
    with running(*words, IMAGE, "serve") as container:
        url = f"http://{address_of(container, 8080)}"
        wait_until_ready(f"{url}/readyz", container)
        yield f"{url}/mcp"


async def langchain_tools(url: str, **headers: str) -> dict[str, Any]:
    """The tools by name. Each call of one opens an MCP session of its own, and ends it."""
    client = MultiServerMCPClient(
        {
            "ipybox": {
                "transport": "streamable_http",
                "url": url,
                "headers": {"Authorization": f"Bearer {TOKEN}", **headers},
            }
        }
    )
    return {tool.name: tool for tool in await client.get_tools()}


async def run(tools: dict[str, Any], code: str) -> str:
    return str(await tools["execute_ipython_cell"].ainvoke({"code": code}))


async def test_langchain_keeps_its_variables_in_a_session_that_it_names(url: str) -> None:
    ada = await langchain_tools(url, **{"Ipybox-Session": "ada"})
    bob = await langchain_tools(url, **{"Ipybox-Session": "bob"})
    await run(ada, "x = 41")
    await run(bob, "x = 1")
    assert "42" in await run(ada, "print(x + 1)")
    assert "2" in await run(bob, "print(x + 1)")
    await ada["reset"].ainvoke({})
    assert "NameError" in await run(ada, "x")
    assert "1" in await run(bob, "print(x)")


async def test_langchain_without_a_name_begins_anew_with_each_call(url: str) -> None:
    tools = await langchain_tools(url)
    await run(tools, "x = 41")
    assert "NameError" in await run(tools, "x")


def test_smolagents_takes_every_answer(url: str) -> None:
    """It refuses empty content."""
    parameters = {
        "url": url,
        "transport": "streamable-http",
        "headers": {"Authorization": f"Bearer {TOKEN}"},
    }
    with MCPClient(parameters, structured_output=False) as found:
        tools = {tool.name: tool for tool in found}
        tools["execute_ipython_cell"](code="x = 6 * 7")
        assert "42" in tools["execute_ipython_cell"](code="print(x)")
        assert "new" in tools["reset"]()
        assert "NameError" in tools["execute_ipython_cell"](code="x")
