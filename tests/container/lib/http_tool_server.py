#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MCP server over Streamable HTTP with one tool, behind redirects.

The port is its only word. /mcp leads to /mcp/ (307), which answers; /moved leads there with a full
URL (308); /away leads to another origin; /loop leads to itself. `echo` tells the method, the path
and the header Authorization of its call as well.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT = int(sys.argv[1])
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [{"name": "echo", "description": "Echo.", "inputSchema": SCHEMA}]
REDIRECTS = {
    "/mcp": (307, "/mcp/"),
    "/moved": (308, f"http://127.0.0.1:{PORT}/mcp/"),
    "/away": (307, "http://localhost:1/mcp/?key=hush"),
    "/loop": (307, "/loop"),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.answer(405)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in REDIRECTS:
            status, to = REDIRECTS[self.path]
            self.answer(status, Location=to)
        elif "id" not in message:
            self.answer(202)
        else:
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **self.result(message)})
            self.answer(200, body.encode(), Content_Type="application/json")

    def result(self, message: dict[str, Any]) -> dict[str, Any]:
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            return {"result": about | {"serverInfo": {"name": "http", "version": "1"}}}
        if method == "tools/list":
            return {"result": {"tools": TOOLS}}
        if method == "tools/call":
            text = f"{params['arguments']['text']} {self.command} {self.path}"
            text += f" {self.headers.get('Authorization')}"
            return {"result": {"content": [{"type": "text", "text": text}]}}
        return {"error": {"code": -32601, "message": method}}


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
