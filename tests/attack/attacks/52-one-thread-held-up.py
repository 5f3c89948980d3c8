# SPDX-License-Identifier: Apache-2.0
"""Planted files and long lists of tools hold the server's one thread, and everybody waits"""

import re

from box import Box, CannotTry

BREAKS = ("docs/architecture.md", "One thread")
ONLY = ["docker R", "docker K+S"]  # it is the same in the others
SHARE = 0.5  # of the work's processor time that one turn of the loop may take, on any machine

PLANT = """
os.makedirs('mcptools', exist_ok=True)
for n in range(60000):
    w.tried(lambda: os.close(os.open(f'mcptools/.new-{n:016x}', os.O_CREAT | os.O_WRONLY, 0o600)))
"""


def figures(box: Box) -> tuple[float, float]:
    """Processor time of the server, and of its longest turn, by its own account."""
    text = box.call("GET", "/metrics", token="").text
    names = r"process_cpu_seconds_total", r'turn_seconds_max\{clock="cpu"\}'
    used, turn = (re.search(rf"{name} ([0-9.]+)", text) for name in names)
    if not used or not turn:
        raise CannotTry("the server does not tell what it uses")
    return float(used[1]), float(turn[1])


def attack(box: Box) -> str:
    box.cell(PLANT)
    params = {"command": "python3", "args": ["/attack/mcp_server.py"]}
    many = {"command": "python3", "args": ["/attack/mcp_server.py", "many"]}
    before, longest = figures(box)
    for name, words in ("few", params), ("lots", many):
        box.call("POST", "/v1/mcp-servers", {"name": name, "params": words})
        box.call("DELETE", f"/v1/mcp-servers/{name}")
    used, turn = figures(box)
    box.cell("import shutil; shutil.rmtree('mcptools', ignore_errors=True)")
    if turn > max(longest, SHARE * (used - before)):
        return f"{turn:.3f} s of {used - before:.3f} s in one turn"
    return ""
