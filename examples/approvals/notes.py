#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small MCP server, of the standard library alone: notes to list, add and delete."""

from __future__ import annotations

import json
import sys
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "list", "description": "All notes.", "inputSchema": {"type": "object"}},
    {"name": "add", "description": "Add a note.", "inputSchema": TEXT},
    {"name": "delete", "description": "Delete a note.", "inputSchema": TEXT},
]
notes = ["water the plants"]


def call(name: str, arguments: dict[str, Any]) -> str:
    if name == "add":
        notes.append(arguments["text"])
    if name == "delete":
        notes.remove(arguments["text"])
    return "\n".join(notes)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        text = call(params["name"], params.get("arguments", {}))
        return {"content": [{"type": "text", "text": text}]}
    return {}  # ping


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:  # else it is a notification
        result = answer(request["method"], request.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
