# SPDX-License-Identifier: Apache-2.0
"""An MCP server over Streamable HTTP with two tools as GitHub's server has them: github_server.py.

Prints its port. Every request needs the header `Authorization: Bearer ghp_test`. The tools have no
output schema; their results are JSON in a text.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SEARCH = {
    "name": "search_repositories",
    "description": "Find repositories.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "sort": {"type": "string", "enum": ["stars", "forks", "updated"]},
            "order": {"type": "string", "enum": ["asc", "desc"]},
            "perPage": {"type": "number", "minimum": 1, "maximum": 100},
            "minimal_output": {"type": "boolean", "default": True},
        },
        "required": ["query"],
    },
}
COMMITS = {
    "name": "list_commits",
    "description": "List commits of a repository.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "owner": {"type": "string"},
            "repo": {"type": "string"},
            "perPage": {"type": "number"},
        },
        "required": ["owner", "repo"],
    },
}


def call(name: str, arguments: dict[str, Any]) -> Any:
    count = int(arguments.get("perPage", 30))
    if name == "search_repositories":
        items = [{"name": f"repo{i}", "stargazers_count": 1000 - i} for i in range(min(count, 12))]
        return {"total_count": 12, "items": items}
    base = f"https://github.example/{arguments['owner']}/{arguments['repo']}/commit"
    return [
        {
            "sha": f"{i:07d}abc",
            "html_url": f"{base}/{i}",
            "commit": {"message": f"change {i}\n\nmore"},
        }
        for i in range(count)
    ]


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params", {})
    if message["method"] == "initialize":
        info = {"name": "github", "version": "1"}
        version = params["protocolVersion"]
        return {
            "result": {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        }
    if message["method"] == "tools/list":
        return {"result": {"tools": [SEARCH, COMMITS]}}
    if message["method"] == "tools/call":
        text = json.dumps(call(params["name"], params.get("arguments", {})))
        return {"result": {"content": [{"type": "text", "text": text}]}}
    return {"error": {"code": -32601, "message": "no such method"}}


class Handler(BaseHTTPRequestHandler):
    """One message a request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != "Bearer ghp_test":
            self.reply(401, b"{}")
        elif "id" not in message:
            self.reply(202, b"")
        else:
            body = {"jsonrpc": "2.0", "id": message["id"], **answer(message)}
            self.reply(200, json.dumps(body).encode())

    def do_GET(self) -> None:
        self.reply(405, b"")

    def do_DELETE(self) -> None:
        self.reply(405, b"")

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
