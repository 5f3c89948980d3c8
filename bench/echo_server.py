#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MCP server that costs next to nothing: one tool, echo(text), over standard input and output.

What a call of it takes is the way to it and back.
"""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOL = {"name": "echo", "description": "Returns its text.", "inputSchema": SCHEMA}


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """None: an unknown method."""
    if method == "initialize":
        info = {"name": "echo", "version": "1"}
        version = params.get("protocolVersion")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = params["arguments"]["text"]
        return {"content": [{"type": "text", "text": text}], "isError": False}
    return {} if method == "ping" else None


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        found = result(request["method"], request.get("params") or {})
        if found is None:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        else:
            answer["result"] = found
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
