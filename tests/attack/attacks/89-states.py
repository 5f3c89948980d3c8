# SPDX-License-Identifier: Apache-2.0
"""Sessions against the states that are kept of another, which sleep, and one that wakes its own"""

import runpy
from pathlib import Path

from box import Box, CannotTry, Mode

ATTACKER = runpy.run_path(str(Path(__file__).with_name("84-two-sessions.py")))["ATTACKER"]

BREAKS = (
    "docs/rewind.md",
    "Another session cannot signal, trace or look into the states that are kept of one",
)

ASLEEP = """
import os
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        with open(f'/proc/{pid}/stat') as f: stat = f.read()
    except OSError:
        continue
    if stat.rpartition(')')[2].split()[0] == 'T': print(pid)
"""
# Whoever wakes them has one kernel more of his own session, without a line to anybody.
WAKE = """
import os, signal
for pid in PIDS: w.tried(lambda: (os.kill(pid, signal.SIGCONT), 1))
"""


def box_for(mode: Mode) -> Box:
    port = "8888" if mode.kind[0] == "R" and mode.engine == "docker" else "0"
    return Box(mode, words=["--kernel-gateway-port", port, "--checkpoints", "2"])


def asleep(box: Box) -> list[int]:
    return [int(pid) for pid in box.inside("python3", "-c", ASLEEP).split()]


def attack(box: Box) -> str:
    box.run()
    owner = box.session()
    other = str(box.call("POST", "/v1/sessions", {"checkpoints": 0})["id"])
    box.cell("secret = bytearray(b'CANARY')", owner)
    box.cell("n = 1", owner)
    listed = box.call("GET", f"/v1/sessions/{owner}/checkpoints")
    if not listed["checkpoints"]:
        why = listed.text
        if "without walls" in why or "needs the scopes of Landlock" in why or "gVisor" in why:
            return ""
        raise CannotTry(f"no state is kept: {why[:300]}")
    pids = asleep(box)
    if not pids:
        raise CannotTry("no process sleeps")
    told = [box.cell(ATTACKER.format(pid=pid, terminal="-"), other) for pid in pids]
    lines = [line for text in told for line in text.splitlines() if line.split(" ")[0].isupper()]
    box.cell(WAKE.replace("PIDS", repr(pids)), owner)
    newest = listed["checkpoints"][-1]["cell"]
    back = box.call("POST", f"/v1/sessions/{owner}/rewind", {"cell": newest})
    if back.status != 200:
        lines.append(f"REWIND after its states were woken: {back.status} {back.text[:200]}")
    elif "gone" not in box.cell("print(globals().get('n', 'gone'))", owner):
        lines.append("REWIND brings back something else")
    box.call("DELETE", f"/v1/sessions/{owner}")
    box.wait_for("the states to end with their session", lambda: not asleep(box))
    return "; ".join(lines)
