#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same acts plain and in the sandbox. Run by sandbox.sh, in the container.

sandbox_figures.py             prints one table in Markdown; status 1 when a goal is missed
sandbox_figures.py ACT [PORT]  the half that is measured: the seconds of one ACT
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from limits import Row, at_most, ms

TURNS, STARTS, OPENS, CONNECTIONS = 7, 20, 20000, 300
HOST, ADDRESS = "there.test", "127.0.0.2"
OPEN = {"denyRead": [], "allowWrite": ["."], "denyWrite": []}
CHECKED = {"denyRead": [".env"], "allowWrite": ["."], "denyWrite": []}


# --- the acts ---


def opens(path: str) -> float:
    began = time.perf_counter()
    for _ in range(OPENS):
        os.close(os.open(path, os.O_RDONLY))
    return (time.perf_counter() - began) / OPENS


def connections(port: int) -> float:
    """To the first byte of the answer, by name."""
    began = time.perf_counter()
    for _ in range(CONNECTIONS):
        with socket.create_connection((HOST, port)) as connection:
            connection.recv(1)
    return (time.perf_counter() - began) / CONNECTIONS


def imports(module: str) -> float:
    began = time.perf_counter()
    __import__(module)
    return time.perf_counter() - began


def act(name: str, port: int) -> float:
    if name == "system":
        return opens("/usr/bin/env")
    if name == "workspace":
        return opens("file")
    if name == "connect":
        return connections(port)
    return imports(name)


# --- by turns ---


class Sandbox:
    def __init__(self, folder: Path, files: dict[str, list[str]], *domains: str) -> None:
        network = {"allowedDomains": domains, "deniedDomains": []}
        self.settings = folder.parent / f"{len(files['denyRead'])}{len(domains)}.json"
        self.settings.write_text(json.dumps({"filesystem": files, "network": network}))

    def words(self) -> list[str]:
        return ["ipybox", "sandbox", "--settings", str(self.settings), "--"]


def measured(before: list[str], name: str, port: int) -> float:
    words = [*before, sys.executable, "-B", __file__, name, str(port)]
    return float(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)


def started(before: list[str]) -> float:
    began = time.perf_counter()
    for _ in range(STARTS):
        subprocess.run([*before, "true"], check=True)
    return (time.perf_counter() - began) / STARTS


def both(sandbox: Sandbox, once: Callable[[list[str]], float]) -> tuple[float, float]:
    """Plain and in the sandbox: the medians of TURNS, one after the other."""
    pairs = [(once([]), once(sandbox.words())) for _ in range(TURNS)]
    return statistics.median(p for p, _ in pairs), statistics.median(s for _, s in pairs)


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} \N{MICRO SIGN}s"


def rows(folder: Path, port: int) -> list[Row]:
    free, checked = Sandbox(folder, OPEN), Sandbox(folder, CHECKED)
    named = Sandbox(folder, OPEN, HOST, ADDRESS)
    made = []

    def more(
        title: str, sandbox: Sandbox, name: str, limit: float, text: Callable[[float], str]
    ) -> None:
        plain, ours = both(sandbox, lambda before: measured(before, name, port))
        made.append(
            Row(
                title,
                text(plain),
                text(ours),
                "+" + text(ours - plain),
                *at_most(ours - plain, limit, text),
            )
        )

    def whole(title: str, sandbox: Sandbox, name: str, limit: float) -> None:
        plain, ours = both(sandbox, lambda before: measured(before, name, port))
        share = ours / plain
        goal = at_most(share, limit, lambda x: f"{x:.0%}")
        made.append(Row(title, ms(plain), ms(ours), f"{share:.1%}", *goal))

    plain, ours = both(checked, started)
    made.append(
        Row(
            "start and end of `true`",
            ms(plain),
            ms(ours),
            "+" + ms(ours - plain),
            *at_most(ours - plain, 0.004, ms),
        )
    )
    more("open and close, nothing is denied, no names are allowed", free, "system", 3e-6, micro)
    more("open and close beside a denied file", checked, "workspace", 40e-6, micro)
    more(
        "open and close of a system file, where something is denied",
        checked,
        "system",
        40e-6,
        micro,
    )
    whole("`import pandas`, nothing is denied, no names are allowed", free, "pandas", 1.05)
    whole("`import pandas`, where something is denied", checked, "pandas", 1.05)
    more("connection by name, to the first byte", named, "connect", 0.0003, ms)
    return made


def serve(server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        with connection:
            connection.send(b"x")


def main(argv: list[str]) -> int:
    if argv:
        print(act(argv[0], int(argv[1])))
        return 0
    server = socket.create_server((ADDRESS, 0))
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    folder = Path(tempfile.mkdtemp(dir="/tmp")) / "workspace"
    folder.mkdir()
    os.chdir(folder)
    Path("file").write_text("x")
    Path(".env").write_text("SECRET=1")
    print("| | plain | sandbox | | goal |")
    print("|---|---:|---:|---:|---|")
    reached = True
    for row in rows(folder, server.getsockname()[1]):
        verdict = "reached" if row.reached else "**missed**"
        print(
            f"| {row.title} | {row.bare} | {row.ours} | {row.compared} | {row.goal} {verdict} |",
            flush=True,
        )
        reached = reached and row.reached is not False
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
