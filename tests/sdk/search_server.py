# SPDX-License-Identifier: Apache-2.0
"""An MCP server on standard input and output with one tool of the Brave search, and two more."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

IMAGE = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "properties": {
            "type": "object",
            "properties": {"url": {"type": "string"}},
            "required": ["url"],
        },
    },
    "required": ["title", "properties"],
}
SEARCH = {
    "name": "brave_image_search",
    "description": "Search for images.",
    "inputSchema": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["query"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"items": {"type": "array", "items": IMAGE}},
        "required": ["items"],
    },
}
PID = {"name": "pid", "description": "Of this server.", "inputSchema": {"type": "object"}}
KEY = {"name": "key", "description": "The variable KEY.", "inputSchema": {"type": "object"}}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "pid":
        return {"content": [{"type": "text", "text": str(os.getpid())}]}
    if name == "key":
        return {"content": [{"type": "text", "text": os.environ.get("KEY", "")}]}
    if arguments["query"] == "slow":
        time.sleep(5)
    count = arguments.get("count", 1)
    items = [{"title": f"T{i}", "properties": {"url": f"http://u/{i}"}} for i in range(count)]
    data = {"items": items}
    return {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params", {})
    if message["method"] == "initialize":
        info = {"name": "search", "version": "1"}
        version = params["protocolVersion"]
        return {
            "result": {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        }
    if message["method"] == "tools/list":
        return {"result": {"tools": [SEARCH, PID, KEY]}}
    if message["method"] == "tools/call":
        return {"result": call(params["name"], params.get("arguments", {}))}
    return {"error": {"code": -32601, "message": "no such method"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
