# SPDX-License-Identifier: Apache-2.0
"""The MCP server behind make.py."""

from typing import Any

from mcp.server.fastmcp import FastMCP
from mcp.types import TextContent

server = FastMCP("peer")


@server.tool()
def structured() -> dict[str, Any]:
    return {"n": 1, "text": "ü"}


@server.tool(structured_output=False)
def texts() -> list[TextContent]:
    return [TextContent(type="text", text="one"), TextContent(type="text", text='"zwei" ü\n')]


@server.tool(structured_output=False)
def nothing() -> list[TextContent]:
    return []


@server.tool()
def fails() -> str:
    raise ValueError("it is broken")


server.run()
