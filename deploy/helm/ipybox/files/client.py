# SPDX-License-Identifier: Apache-2.0
"""What `helm test` runs in a pod: health, a cell, the tools of MCP, and no cell without a token."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

URL = f"http://{os.environ['ADDRESS']}"
TOKEN = {"X-Ipybox-Token": os.environ["TOKEN"]}


def ask(path: str, body: object = None, **headers: str) -> Any:
    headers = {"Content-Type": "application/json", "Accept": "application/json"} | headers
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=60)


def cell(**headers: str) -> Any:
    with ask("/v1/sessions/default/executions", {"code": "6 * 7"}, **headers) as answer:
        return json.load(answer)["text"]


def mcp_tools() -> set[str]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "helm-test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    own = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    own["Accept"] = "application/json, text/event-stream"
    with ask("/mcp", request, **TOKEN, **own) as answer:
        text = answer.read().decode()
    return {tool["name"] for tool in json.loads(text[text.index("{") :])["result"]["tools"]}


with ask("/readyz") as ready:
    print("ready:", json.load(ready)["status"])
assert cell(**TOKEN) == "42"
print("a cell: 42")
assert "execute_ipython_cell" in mcp_tools()
print("MCP: its tools are there")
try:
    cell()
except urllib.error.HTTPError as error:
    assert error.code == 401, error
    print("without a token: refused")
else:
    raise SystemExit("without a token a cell was run")
