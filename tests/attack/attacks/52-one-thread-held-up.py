# SPDX-License-Identifier: Apache-2.0
"""Planted files and long lists of tools hold the server's one thread, and everybody waits"""

import re
import time

from box import Box

BREAKS = ("docs/architecture.md", "One thread")
ONLY = ["docker R", "docker K+S"]  # it is the same in the others
LONGEST = 1.5  # s that an honest request waits where the machine has much else to do
TURN = 0.1  # s of processor time in one turn of the loop, by the server's own account

PLANT = """
os.makedirs('mcptools', exist_ok=True)
for n in range(60000):
    w.tried(lambda: os.close(os.open(f'mcptools/.new-{n:016x}', os.O_CREAT | os.O_WRONLY, 0o600)))
"""


def longest(box: Box, work: tuple[str, str, object]) -> float:
    """The longest time that somebody else's request took while this one was served."""
    waiting, worst = box.begin(*work, timeout=40), 0.0
    while waiting.empty():
        start = time.monotonic()
        box.call("GET", "/livez", token="")
        worst = max(worst, time.monotonic() - start)
    box.heard.append(waiting.get().text)
    return worst


def attack(box: Box) -> str:
    box.cell(PLANT, timeout=60)
    params = {"command": "python3", "args": ["/attack/mcp_server.py"]}
    many = {"command": "python3", "args": ["/attack/mcp_server.py", "many"]}
    got = []
    for what, name, words in ("planted .new-*", "few", params), ("3000 tools", "lots", many):
        worst = longest(box, ("POST", "/v1/mcp-servers", {"name": name, "params": words}))
        if worst > LONGEST:
            got.append(f"{what}: {worst:.2f} s")
        box.call("DELETE", f"/v1/mcp-servers/{name}")
    turn = re.search(
        r'turn_seconds_max\{clock="cpu"\} ([0-9.]+)', box.call("GET", "/metrics", token="").text
    )
    if turn and float(turn[1]) > TURN:
        got.append(f"a turn of {turn[1]} s")
    box.cell("import shutil; shutil.rmtree('mcptools', ignore_errors=True)", timeout=60)
    return "; ".join(got)
