"""Requests to the server, which runs the kernels: one JSON line each way."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

ANSWER_MAX = 8 << 20
LIST_SECONDS = 5.0

path = ""  # of the server's socket; set once, at the start


class Refused(RuntimeError):
    """What the server answered instead of doing what it was asked for."""


def _answer(line: bytes) -> dict[str, Any]:
    if not line:
        raise Refused("the server is stopping")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise Refused(answer["error"])
    return answer


async def call(op: str, **arguments: Any) -> dict[str, Any]:
    """Ask, and wait for the answer."""
    reader, writer = await asyncio.open_unix_connection(path, limit=ANSWER_MAX)
    try:
        writer.write(json.dumps({"op": op, **arguments}).encode() + b"\n")
        return _answer(await reader.readline())
    finally:
        writer.close()


def list_kernels() -> list[dict[str, Any]]:
    """All kernels that run. Blocks, for some 0.2 ms: the callers are no coroutines."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIST_SECONDS)
        connection.connect(path)
        connection.sendall(b'{"op":"list"}\n')
        with connection.makefile("rb") as lines:
            kernels: list[dict[str, Any]] = _answer(lines.readline())["kernels"]
    return kernels


async def changes() -> AsyncIterator[str]:
    """The id of each kernel that has come up anew or has ended; "" when this begins."""
    reader, writer = await asyncio.open_unix_connection(path, limit=ANSWER_MAX)
    try:
        writer.write(b'{"op":"watch"}\n')
        while line := await reader.readline():
            yield str(_answer(line).get("changed", ""))
    finally:
        writer.close()
