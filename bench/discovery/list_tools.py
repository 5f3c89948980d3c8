#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""list_tools.py NAME COMMAND... - starts an MCP server and writes its tools to NAME.json."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "list_tools", "version": "1"},
}


class Server:
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.ids = 0

    def send(self, method: str, **more: Any) -> None:
        to: IO[str] | None = self.process.stdin
        assert to is not None
        to.write(json.dumps({"jsonrpc": "2.0", "method": method, **more}) + "\n")
        to.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.ids += 1
        self.send(method, id=self.ids, params=params)
        for line in self.process.stdout or ():
            message = json.loads(line)
            if message.get("id") == self.ids:
                return message["result"]
        raise SystemExit(f"the server ended: {self.process.args!r}")


def main() -> int:
    name, *command = sys.argv[1:]
    server = Server(command)
    tools: list[Any] = []
    server.ask("initialize", HELLO)
    server.send("notifications/initialized")
    more: dict[str, Any] = {}
    while True:
        page = server.ask("tools/list", more)
        tools += page["tools"]
        if not page.get("nextCursor"):
            break
        more = {"cursor": page["nextCursor"]}
    server.process.kill()
    Path(f"{name}.json").write_text(json.dumps({"tools": tools}))
    return 0


sys.exit(main())
