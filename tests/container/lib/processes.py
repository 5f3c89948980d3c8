"""Prints all processes of a container as JSON, but itself. Run in the container by drive.py."""

import json
import os
from pathlib import Path
from typing import Any


def look(pid: int) -> dict[str, Any]:
    """One process; OSError when it has gone."""
    proc = Path("/proc", str(pid))
    status = dict(
        line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line
    )
    try:
        rollup = (proc / "smaps_rollup").read_text()
        pss = int(rollup.split("\nPss:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        pss = 0  # a zombie, or not for us to know
    return {
        "pid": pid,
        "ppid": int(status["PPid"]),
        "state": status["State"][0],
        "uid": int(status["Uid"].split()[1]),
        "uids": [int(uid) for uid in status["Uid"].split()],
        "gid": int(status["Gid"].split()[1]),
        "pss": pss,
        "peak": int(status.get("VmHWM", "0 kB").split()[0]) * 1024,
        "capabilities": int(status["CapEff"], 16),
        "words": (proc / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1],
    }


def main() -> None:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                found.append(look(int(entry)))
            except (OSError, KeyError):
                pass  # it has gone
    print(json.dumps(found))


main()
