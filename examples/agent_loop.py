# SPDX-License-Identifier: Apache-2.0
"""An agent's loop over MCP: the model asks for cells, ipybox runs them, the answers go back.

    pip install mcp==1.30.0
    python examples/agent_loop.py

The model is scripted, so that this runs without a key: put a call of yours in place of `Scripted`.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

IMAGE = os.environ.get("IPYBOX_IMAGE", "ipybox")
SERVER = StdioServerParameters(command="docker", args=["run", "-i", "--rm", IMAGE])
TASK = "How many primes are there below 100,000, and which is the largest?"

SIEVE = """
limit = 100_000
sieve = bytearray([1]) * limit
sieve[:2] = b"\\0\\0"
for n in range(2, int(limit ** 0.5) + 1):
    if sieve[n]:
        sieve[n * n::n] = bytes(len(range(n * n, limit, n)))
print(sum(sieve))
"""


class Scripted:
    """Answers as a model would: with the tool it wants called, or with its last word."""

    def __init__(self) -> None:
        self.cells = [SIEVE, "print(primes[-1])", "print(sieve.rfind(1))"]

    def answer(self, messages: list[dict[str, Any]], tools: list[types.Tool]) -> dict[str, Any]:
        if self.cells:
            code = {"code": self.cells.pop(0)}
            return {"role": "assistant", "tool": "execute_ipython_cell", "arguments": code}
        seen = [m["content"].strip() for m in messages if m["role"] == "tool"]
        return {"role": "assistant", "content": f"{seen[0]} primes; the largest is {seen[-1]}."}


async def main() -> None:
    model = Scripted()
    messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    async with stdio_client(SERVER) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        while "tool" in (answer := model.answer(messages, tools)):
            messages.append(answer)
            result = await session.call_tool(answer["tool"], answer["arguments"])
            text = "\n".join(c.text for c in result.content if isinstance(c, types.TextContent))
            # An exception is a result, too. The variables of the cells before it are still there.
            messages.append({"role": "tool", "content": text})
            print(f">>> {answer['arguments']['code'].strip()}\n{text}\n")
    print(answer["content"])


if __name__ == "__main__":
    asyncio.run(main())
