#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An MCP server whose one tool tells what its call came with.

Without a word: on standard input and output, `_meta`. With a port: over HTTP, the headers.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

TOOL = {"name": "told", "description": "Tell.", "inputSchema": {"type": "object", "properties": {}}}


def answer(message: dict[str, Any], told: dict[str, Any]) -> dict[str, Any] | None:
    if "id" not in message:
        return None
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    method = message["method"]
    if method == "initialize":
        reply["result"] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "trace", "version": "1"},
        }
    elif method == "tools/list":
        reply["result"] = {"tools": [TOOL]}
    elif method == "tools/call":
        reply["result"] = {"content": [{"type": "text", "text": json.dumps(told)}]}
    else:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    return reply


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = {name.lower(): value for name, value in self.headers.items() if "trace" in name}
        reply = answer(json.loads(body), told)
        text = json.dumps(reply).encode() if reply else b""
        self.send_response(200 if reply else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        self.send_error(405)


def main() -> None:
    if len(sys.argv) > 1:
        HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
    for line in sys.stdin:
        message = json.loads(line)
        meta = message.get("params", {}).get("_meta", {})
        told = {name: value for name, value in meta.items() if "trace" in name}
        reply = answer(message, told)
        if reply:
            print(json.dumps(reply), flush=True)


main()
