# SPDX-License-Identifier: Apache-2.0
"""An MCP server writes notifications and errors without an end, and the container's log takes them"""

from box import Box

BREAKS = ("SECURITY.md", "answer; what they send is bounded")
ONLY = ["docker R", "docker K+S"]  # it is the same in the others


def attack(box: Box) -> str:
    params = {"command": "python3", "args": ["/attack/mcp_server.py", "bad"]}
    box.call("POST", "/v1/mcp-servers", {"name": "flooder", "params": params})
    before = len(box.logs())
    box.cell(
        "w.tried(lambda: w.Tools(w.own_token(), patience=6).call('flood', 'flooder'))", timeout=25
    )
    grown = len(box.logs()) - before
    box.call("DELETE", "/v1/mcp-servers/flooder")
    return f"the log has grown by {grown >> 20} MiB" if grown > 2 << 20 else ""
