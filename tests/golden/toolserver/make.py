#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes wire.inc: what the tool server of mcpygen 0.1.4 answers, byte for byte.

python3 -m venv v && v/bin/pip install mcpygen==0.1.4 'mcp<2'
v/bin/python tests/golden/toolserver/make.py > tests/golden/toolserver/wire.inc
"""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
from pathlib import Path
from typing import Any

import websockets
from mcpygen.tool_exec.server import ToolServer

PORT = 8917
HERE = Path(__file__).parent
JSON = "application/json"
SERVER = {"command": sys.executable, "args": [str(HERE / "peer.py")]}
GOOD = {"server_name": "peer", "server_params": {}, "tool_name": "t", "tool_args": {}}


def run(tool: str, **args: Any) -> str:
    call = {"server_name": "peer", "server_params": SERVER, "tool_name": tool, "tool_args": args}
    return json.dumps(call)


def without(name: str) -> str:
    return json.dumps({k: v for k, v in GOOD.items() if k != name})


def having(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes}, ensure_ascii=False)


# name, method, path, content type, body
ASKED: list[tuple[str, str, str, str | None, str | None]] = [
    ("status", "GET", "/status", None, None),
    ("reset", "PUT", "/reset", None, None),
    ("a path that is not there", "GET", "/nothing", None, None),
    ("a method that is not there", "GET", "/run", None, None),
    ("a method that /status has not", "POST", "/status", JSON, "{}"),
    ("no body", "POST", "/run", JSON, ""),
    ("an empty object", "POST", "/run", JSON, "{}"),
    ("an array", "POST", "/run", JSON, "[1, 2]"),
    ("a text", "POST", "/run", JSON, '"x"'),
    ("a number", "POST", "/run", JSON, "12345678901234567890123"),
    ("null", "POST", "/run", JSON, "null"),
    ("no server_name", "POST", "/run", JSON, without("server_name")),
    ("no tool_args", "POST", "/run", JSON, without("tool_args")),
    ("server_name is a number", "POST", "/run", JSON, having(server_name=5)),
    ("server_name is null", "POST", "/run", JSON, having(server_name=None)),
    ("server_params is a text", "POST", "/run", JSON, having(server_params="ü")),
    ("tool_args is a list", "POST", "/run", JSON, having(tool_args=[1, {"a": "ü \"'\n"}])),
    ("several are wrong", "POST", "/run", JSON, having(tool_args=1.5, tool_name=True)),
    ("a big number is echoed", "POST", "/run", JSON, having(tool_name=2**70)),
    ("no member of approve", "POST", "/approve", JSON, "{}"),
    ("approve without tool_args", "POST", "/approve", JSON, without("tool_args")),
    ("not JSON", "POST", "/run", JSON, "x"),
    ("JSON that ends early", "POST", "/run", JSON, '{"server_name": "peer"'),
    ("JSON with more behind", "POST", "/run", JSON, "{} {}"),
    ("a name without quotes", "POST", "/run", JSON, '{"a": 1, b: 2}'),
    ("a comma too many", "POST", "/run", JSON, '{"a": 1,}'),
    ("a comma too many in a list", "POST", "/run", JSON, "[1,]"),
    ("no comma", "POST", "/run", JSON, '["ü" 2]'),
    ("no colon", "POST", "/run", JSON, '{"a" 1}'),
    ("a value is missing", "POST", "/run", JSON, '{"a": }'),
    ("a text that does not end", "POST", "/run", JSON, '{"ü": "abc'),
    ("a control character", "POST", "/run", JSON, '{"a": "b\tc"}'),
    ("an escape that is none", "POST", "/run", JSON, '{"a": "\\x"}'),
    ("half an escape", "POST", "/run", JSON, '{"a": "\\u12"}'),
    ("white space alone", "POST", "/run", JSON, "  "),
    ("another content type", "POST", "/run", "text/plain", "{}"),
    ("JSON by another name", "POST", "/approve", "application/vnd.x+json; charset=utf-8", "{}"),
    ("structured", "POST", "/run", JSON, run("structured")),
    ("texts", "POST", "/run", JSON, run("texts")),
    ("nothing", "POST", "/run", JSON, run("nothing")),
    ("a tool that fails", "POST", "/run", JSON, run("fails")),
]
# The approver's answer, which the cases below have before their name.
APPROVED: list[tuple[bool | None, str, str, str]] = [
    (True, "run accepted", "/run", run("texts", a="ü", b=[1, 2.5, None], c={})),
    (False, "run rejected", "/run", run("texts")),
    (None, "run expired", "/run", run("texts")),
    (True, "approve accepted", "/approve", run("texts", cmd='echo "ü"\n')),
    (False, "approve rejected", "/approve", run("texts")),
    (None, "approve expired", "/approve", run("texts")),
]


def ask(
    method: str, path: str, kind: str | None, body: str | None, port: int
) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": kind} if kind else {}
    connection.request(method, path, body.encode() if body is not None else None, headers)
    answer = connection.getresponse()
    got = answer.read().decode()
    return answer.status, answer.getheader("content-type") or "", got


def c_text(text: str | None) -> str:
    if text is None:
        return "NULL"
    out = ""
    for byte in text.encode():
        char = chr(byte)
        if char in '"\\':
            out += "\\" + char
        elif 32 <= byte < 127:
            out += "\\?" if char == "?" else char
        else:
            out += f"\\{byte:03o}"
    return f'"{out}"'


def row(*members: Any) -> None:
    print("{" + ", ".join(c_text(m) if not isinstance(m, int) else str(m) for m in members) + "},")


def hide(body: str | None) -> str | None:
    """The peer's path is this machine's own."""
    return body.replace(json.dumps(SERVER), "{}") if body else body


async def plain() -> None:
    async with ToolServer(host="127.0.0.1", port=PORT, log_level="ERROR"):
        for name, method, path, kind, body in ASKED:
            got = await asyncio.to_thread(ask, method, path, kind, body, PORT)
            row(name, method, path, kind or "", hide(body), *got)


async def approved() -> None:
    async def once(answer: bool | None, name: str, path: str, body: str) -> None:
        async with websockets.connect(f"ws://127.0.0.1:{PORT + 1}/approval") as channel:
            asked = asyncio.create_task(asyncio.to_thread(ask, "POST", path, JSON, body, PORT + 1))
            text = str(await channel.recv())
            request = json.loads(text)
            if answer is not None:
                reply = {"jsonrpc": "2.0", "result": answer, "id": request["id"]}
                await channel.send(json.dumps(reply))
            got = await asked
            row(name, "POST", path, JSON, hide(body), *got)
            print(f"/* asked: {text.replace(request['id'], 'ID')} */")

    async with ToolServer(
        host="127.0.0.1",
        port=PORT + 1,
        log_level="ERROR",
        approval_required=True,
        approval_timeout=0.5,
    ):
        for path in ("/run", "/approve"):
            body = run("texts")
            got = await asyncio.to_thread(ask, "POST", path, JSON, body, PORT + 1)
            row(f"{path[1:]} without an approver", "POST", path, JSON, hide(body), *got)
        for case in APPROVED:
            await once(*case)


print("/* Made by make.py; not by hand.")
print(" * name, method, path, content type, body: status, content type, body */")
asyncio.run(plain())
asyncio.run(approved())
