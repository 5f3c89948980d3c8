#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MCP server on standard input and output with one tool, which reads a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"name": "read_file", "description": "Read a file.", "inputSchema": PATH}]


def call(arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        text, failed = Path(arguments["path"]).read_text(), False
    except OSError as error:
        text, failed = f"{error.strerror}, {error.filename}".lower(), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "files", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["arguments"])
    return {}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


main()
