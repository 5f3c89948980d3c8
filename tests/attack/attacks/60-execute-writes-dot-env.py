# SPDX-License-Identifier: Apache-2.0
"""The execute token reads .env, and writes hooks of git, through the routes for files."""

from box import ENV_SECRET, EXECUTE, Box

BREAKS = ("README.md", "read everything but `.env`")
ONLY = ["*+S"]


def attack(box: Box) -> str:
    got = []
    for path in "/v1/files/.env", "/v1/tar", "/v1/tar?path=.":
        if ENV_SECRET in box.call("GET", path, token=EXECUTE).text:
            got.append(f"read by {path}")
    moved = {"action": "move", "to": "plain.txt", "overwrite": True}
    if box.call("POST", "/v1/files/.env", moved, token=EXECUTE).status == 200:
        got.append("moved")
        box.call("POST", "/v1/files/plain.txt", {"action": "move", "to": ".env"})
    for path in ".git/hooks/post-checkout", ".git/config", ".bashrc", ".mcp.json":
        reply = box.call("PUT", f"/v1/files/{path}?mode=0755", "x", token=EXECUTE, raw=True)
        if reply.status in (200, 201):
            got.append(f"wrote {path}")
    return "; ".join(got)
