# SPDX-License-Identifier: Apache-2.0
"""What the tests of the MCP Python SDK 2.3 share, whatever way its Client goes."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, TextContent

VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}

modern_only = pytest.mark.parametrize("client", ["auto", "2026-07-28"], indirect=True)


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


async def cell(client: Client, code: str, **more: Any) -> str:
    result = await client.call_tool("execute_ipython_cell", {"code": code, **more})
    assert not result.is_error, result
    (text,) = texts(result)
    return text
