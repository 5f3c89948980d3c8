# SPDX-License-Identifier: Apache-2.0
"""ipybox as an MCP server of an agent of the OpenAI Agents SDK.

    pip install openai-agents==0.24.0
    python examples/openai_agent.py

The model is scripted, so that this runs without a key: leave out `model=` for the SDK's own.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.items import TResponseStreamEvent
from agents.mcp import MCPServerStdio
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

IMAGE = os.environ.get("IPYBOX_IMAGE", "ipybox")
CELLS = ["words = 'the cat and the hat and the bat'.split()", "print(words.count('the'))"]


def call(number: int) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call",
        call_id=f"call-{number}",
        name="execute_ipython_cell",
        arguments=json.dumps({"code": CELLS[number]}),
    )


def say(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="message", type="message", role="assistant", status="completed", content=[part]
    )


class Scripted(Model):
    """One cell after the other; then what the last one printed."""

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        results = [item for item in input if item.get("type") == "function_call_output"]
        if len(results) < len(CELLS):
            output = [call(len(results))]
        else:
            output = [say(f"The last cell printed {results[-1]['output'][0]['text']}.")]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


async def main() -> None:
    set_tracing_disabled(True)
    params = {"command": "docker", "args": ["run", "-i", "--rm", IMAGE]}
    async with MCPServerStdio(params, client_session_timeout_seconds=60) as ipybox:
        agent = Agent("counter", model=Scripted(), mcp_servers=[ipybox])
        result = await Runner.run(agent, "How often does it say 'the'?")
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
