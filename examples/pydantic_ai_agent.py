# SPDX-License-Identifier: Apache-2.0
"""ipybox as the toolset of a pydantic-ai agent.

    pip install 'pydantic-ai-slim[mcp]==2.68.0'
    python examples/pydantic_ai_agent.py

`FunctionModel` is pydantic-ai's own stand-in for a model: put "anthropic:…" or another one in its
place.
"""

from __future__ import annotations

import asyncio
import os

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

IMAGE = os.environ.get("IPYBOX_IMAGE", "ipybox")
CELLS = ["total = sum(n * n for n in range(1, 101))", "print(total)"]


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """One cell after the other; then what the last one printed."""
    parts = [part for m in messages if isinstance(m, ModelRequest) for part in m.parts]
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    if len(results) < len(CELLS):
        return ModelResponse([ToolCallPart("execute_ipython_cell", {"code": CELLS[len(results)]})])
    return ModelResponse([TextPart(f"The sum is {str(results[-1].content).strip()}.")])


async def main() -> None:
    ipybox = MCPToolset(StdioTransport("docker", ["run", "-i", "--rm", IMAGE]))
    agent = Agent(FunctionModel(scripted), toolsets=[ipybox])
    async with agent:  # one container, and with it one kernel, for all its runs
        result = await agent.run("What is the sum of the squares of 1 to 100?")
    print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
