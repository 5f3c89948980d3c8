# SPDX-License-Identifier: Apache-2.0
"""ipybox as the tools of a LangGraph graph.

    pip install langgraph==1.2.24 langchain-mcp-adapters==0.3.2
    python examples/langgraph_agent.py

`GenericFakeChatModel` is LangChain's own stand-in: put `ChatAnthropic(…).bind_tools(tools)` or
another model in its place.
"""

from __future__ import annotations

import asyncio
import os

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

IMAGE = os.environ.get("IPYBOX_IMAGE", "ipybox")
SERVER = {"transport": "stdio", "command": "docker", "args": ["run", "-i", "--rm", IMAGE]}


def cell(number: int, code: str) -> AIMessage:
    call = {"name": "execute_ipython_cell", "args": {"code": code}, "id": f"call-{number}"}
    return AIMessage("", tool_calls=[call])


SCRIPT = [
    cell(1, "from datetime import date; day = date(2024, 2, 29)"),
    cell(2, "print(day.strftime('%A'))"),
    AIMessage("It was a Thursday."),
]


async def main() -> None:
    client = MultiServerMCPClient({"ipybox": SERVER})
    # A session for the whole run: without it each call would start a container of its own.
    async with client.session("ipybox") as session:
        tools = await load_mcp_tools(session)
        model = GenericFakeChatModel(messages=iter(SCRIPT))

        async def think(state: MessagesState) -> MessagesState:
            return {"messages": [await model.ainvoke(state["messages"])]}

        graph = StateGraph(MessagesState)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        question = ("user", "Which day of the week was 29 February 2024?")
        result = await graph.compile().ainvoke({"messages": [question]})
    for message in result["messages"]:
        message.pretty_print()


if __name__ == "__main__":
    asyncio.run(main())
