# SPDX-License-Identifier: Apache-2.0
"""A server on the MCP SDK 1.x for the tests: demo_server.py [http|sse PORT].

Without words it serves standard input.
"""

from __future__ import annotations

import asyncio
import sys

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.utilities.types import Image
from pydantic import BaseModel, Field


class Place(BaseModel):
    """Where something is."""

    city: str
    altitude: float = Field(description="metres")


class Report(BaseModel):
    title: str
    places: list[Place]


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


waiting: list[asyncio.Event] = []


async def meet(text: str, of: int) -> str:
    """Say it when so many calls of this are here at once."""
    go = asyncio.Event()
    waiting.append(go)
    if len(waiting) == of:
        for one in waiting:
            one.set()
        waiting.clear()
    await go.wait()
    return text


def report(title: str, cities: list[str]) -> Report:
    """Nested structured output."""
    return Report(title=title, places=[Place(city=c, altitude=len(c)) for c in cities])


def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG\r\n", format="png")


def main(words: list[str]) -> None:
    port = int(words[1]) if words else 8000
    server = FastMCP("demo", log_level="ERROR", host="127.0.0.1", port=port)
    server.add_tool(shout, name="shout-it", structured_output=False)
    server.add_tool(meet, structured_output=False)
    server.add_tool(report)
    server.add_tool(picture, structured_output=False)
    if not words:
        server.run(transport="stdio")
    elif words[0] == "http":
        server.run(transport="streamable-http")
    else:
        server.run(transport="sse")


if __name__ == "__main__":
    main(sys.argv[1:])
