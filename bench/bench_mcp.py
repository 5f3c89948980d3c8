#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times any ipybox-compatible MCP server on stdio, whatever it is written in.

    bench_mcp.py run LABEL [--container NAME] --tool SERVER -- COMMAND...
                                                               all measurements, as JSON
    bench_mcp.py start LABEL -- COMMAND...                     the start alone, as JSON
    bench_mcp.py table PEER.json OURS.json [AFTER_EXEC.json]   side by side, with the goals

It speaks plain JSON-RPC lines and needs nothing but Python 3.10, so it can run inside a container
too. A start is timed from just before the process is created to the arrival of the answer.
--container reads the memory of the container of that name (its process tree as the host sees it,
which takes root) and not that of the `docker` command. SERVER is echo_server.py, as the measured
server and its cells see the file: its tool is registered, imported and called. BENCH_LOG names a
file for what the server writes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LIMIT_S = 600  # a server that hangs ends the run
CELLS, BIG_CELLS, RESETS, STARTS, CALLS = 300, 7, 5, 5, 300
BIG = 1_000_000


class Server:
    """One running server and the requests to it, one at a time."""

    def __init__(self, command: list[str]) -> None:
        self.log = open(os.environ.get("BENCH_LOG", os.devnull), "ab")
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log
        )
        self.number = 0

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params or {}})
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") != self.number or "method" in message:
                continue
            if "error" in message:
                raise SystemExit(f"{method}: {message['error']}")
            result: dict[str, Any] = message["result"]
            return result
        raise SystemExit(f"{method}: the server ended with status {self.process.wait()}")

    def initialize(self) -> None:
        client = {"name": "bench", "version": "0"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.call("initialize", params)
        self.send({"method": "notifications/initialized"})

    def tool(self, name: str, **arguments: Any) -> str:
        result = self.call("tools/call", {"name": name, "arguments": arguments})
        text = "".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise SystemExit(f"{name}: {text}")
        return text

    def cell(self, code: str, **arguments: Any) -> str:
        return self.tool("execute_ipython_cell", code=code, **arguments)

    def since_start(self) -> float:
        return time.perf_counter() - self.started

    def close(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        status = self.process.wait()
        self.log.close()
        return status


# --- measuring ---


def start(command: list[str]) -> tuple[Server, list[float], bool]:
    """A running server, when it answered initialize, tools/list and the first cell, and whether
    the last was right."""
    server = Server(command)
    times = []
    server.initialize()
    times.append(server.since_start())
    server.call("tools/list")
    times.append(server.since_start())
    first = server.cell("print(1+1)")
    times.append(server.since_start())
    return server, times, first == "2"


def measure_starts(command: list[str]) -> tuple[Server, dict[str, Any]]:
    """The last server stays."""
    rows, lost = [], 0
    for n in range(STARTS):
        server, times, good = start(command)
        rows.append(times)
        lost += not good
        if n < STARTS - 1:
            server.close()
    middle = [statistics.median(column) for column in zip(*rows, strict=True)]
    names = ["initialize_s", "tools_list_s", "first_cell_s"]
    return server, {
        **dict(zip(names, middle, strict=True)),
        "starts": STARTS,
        "first_cells_lost": lost,
    }


def measure_cells(server: Server) -> dict[str, Any]:
    times, lost = [], 0
    for n in range(CELLS):
        begin = time.perf_counter()
        text = server.cell(f"print({n})")
        times.append(time.perf_counter() - begin)
        lost += text != str(n)
    times.sort()
    return {
        "cell_p50_s": statistics.median(times),
        "cell_p99_s": times[int(len(times) * 0.99)],
        "cells": CELLS,
        "cells_lost": lost,
    }


def measure_big_cells(server: Server) -> dict[str, Any]:
    times, cut = [], 0
    for _ in range(BIG_CELLS):
        begin = time.perf_counter()
        text = server.cell(f'print("x"*{BIG})', max_output_chars=2 * BIG)
        times.append(time.perf_counter() - begin)
        cut += text != "x" * BIG
    return {"big_cell_s": statistics.median(times), "big_cells": BIG_CELLS, "big_cells_cut": cut}


def measure_resets(server: Server) -> dict[str, Any]:
    times = []
    for _ in range(RESETS):
        begin = time.perf_counter()
        server.tool("reset")
        server.cell("print(7)")
        times.append(time.perf_counter() - begin)
    return {"reset_s": statistics.median(times)}


FIRST_CALL = """
from mcptools.bench import echo
print(echo.run(echo.Params(text="first")))
"""

CALLS_FROM_CODE = """
import json, time
times = []
for n in range({calls}):
    begin = time.perf_counter()
    answer = echo.run(echo.Params(text=str(n)))
    times.append(time.perf_counter() - begin)
    assert answer == str(n), answer
print(json.dumps(times))
"""

# The same request to a server of the cell's own: what a call costs without anything in between.
BARE_CALLS = """
import json, subprocess, time
server = subprocess.Popen({command!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
times = []
for n in range({calls}):
    begin = time.perf_counter()
    call = {{"name": "echo", "arguments": {{"text": str(n)}}}}
    request = {{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call}}
    server.stdin.write(json.dumps(request).encode() + b"\\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())["result"]["content"][0]["text"]
    times.append(time.perf_counter() - begin)
    assert answer == str(n), answer
server.stdin.close()
server.wait()
print(json.dumps(times))
"""


def measure_tools(server: Server, tool: str) -> dict[str, Any]:
    """Registration, first import with the first call, and calls of a tool from code."""
    command = ["python3", tool]
    params = {"command": command[0], "args": command[1:]}
    begin = time.perf_counter()
    server.tool("register_mcp_server", server_name="bench", server_params=params)
    registered = time.perf_counter()
    server.cell(FIRST_CALL)
    called = time.perf_counter()
    middle = {}
    for name, code in (("tool_call_s", CALLS_FROM_CODE), ("tool_bare_s", BARE_CALLS)):
        text = ""
        while not text:  # a server that loses output is asked again
            text = server.cell(code.format(calls=CALLS, command=command), max_output_chars=BIG)
        middle[name] = statistics.median(json.loads(text))
    return {"register_s": registered - begin, "first_call_s": called - registered, **middle}


def measure_all(command: list[str], container: str | None, tool: str) -> dict[str, Any]:
    server, figures = measure_starts(command)
    figures |= measure_cells(server) | measure_big_cells(server)
    root = server.process.pid
    if container:
        inspect = ["docker", "inspect", "-f", "{{.State.Pid}}", container]
        root = int(subprocess.check_output(inspect))
    figures |= measure_memory(root)
    figures |= measure_resets(server)
    figures |= measure_tools(server, tool)
    begin = time.perf_counter()
    figures["exit_status"] = server.close()
    figures["shutdown_s"] = time.perf_counter() - begin
    return figures


# --- memory ---


def children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            found.setdefault(parent, []).append(int(folder.name))
    return found


def pss_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def measure_memory(root: int) -> dict[str, Any]:
    """PSS of a process and all its descendants: memory that several share counts once."""
    tree, todo, processes = children(), [root], []
    while todo:
        pid = todo.pop()
        todo += tree.get(pid, [])
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            processes.append((name, round(pss_kib(pid) / 1024, 1)))
        except OSError as e:
            if pid == root:
                raise SystemExit(f"memory of process {root}: {e}") from e
    return {"pss_mib": sum(size for _, size in processes), "processes": processes}


# --- the table ---

TIMES, AT_LEAST = "\N{MULTIPLICATION SIGN}", "\N{GREATER-THAN OR EQUAL TO}"

# What is compared: title, figure, unit and factor to it, least ratio of the peer's to ours, if any.
ROWS = [
    ("first answer to `initialize`", "initialize_s", "ms", 1000, 10),
    ("`tools/list` answered", "tools_list_s", "ms", 1000, 0),
    ("first cell answered", "first_cell_s", "ms", 1000, 5),
    ("warm cell, p50", "cell_p50_s", "ms", 1000, 20),
    ("warm cell, p99", "cell_p99_s", "ms", 1000, 0),
    ("cell with 1 MB of output", "big_cell_s", "ms", 1000, 0),
    ("reset to the next cell's answer", "reset_s", "ms", 1000, 0),
    ("`register_mcp_server`", "register_s", "ms", 1000, 8),
    ("first import and call of a tool", "first_call_s", "ms", 1000, 0),
    ("tool call from code, p50", "tool_call_s", "ms", 1000, 6),
    ("the same call without ipybox, p50", "tool_bare_s", "ms", 1000, 0),
    ("shutdown", "shutdown_s", "ms", 1000, 0),
    ("memory of the process tree (PSS)", "pss_mib", "MiB", 1, 3),
]
AFTER_EXEC_ROWS = [
    ("`initialize`, after exec", "initialize_s", "ms", 1000, 100),
    ("`tools/list`, after exec", "tools_list_s", "ms", 1000, 0),
    ("first cell, after exec", "first_cell_s", "ms", 1000, 0),
]
NATIVE_ROWS = [
    ("`initialize`, the wheel natively", "initialize_s", "ms", 1000, 100),
    ("`tools/list`, the wheel natively", "tools_list_s", "ms", 1000, 0),
    ("first cell, the wheel natively", "first_cell_s", "ms", 1000, 10),
]
LOST_ROWS = [
    ("first cells with lost output", "first_cells_lost", "starts"),
    ("warm cells with lost output", "cells_lost", "cells"),
    ("1 MB outputs cut", "big_cells_cut", "big_cells"),
]


def _short(value: float) -> str:
    """Three digits, and no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def table(peer: dict[str, Any], ours: dict[str, Any], others: list[dict[str, Any]]) -> bool:
    """Prints it in Markdown; true when every goal is reached. `others`: after exec, natively."""
    good = True
    rows = [(row, ours) for row in ROWS]
    for other, its_rows in zip(others, (AFTER_EXEC_ROWS, NATIVE_ROWS), strict=False):
        rows += [(row, other) for row in its_rows]
    print(f"| | {peer['label']} | {ours['label']} | ratio | goal |")
    print("|---|---:|---:|---:|---|")
    for (title, name, unit, factor, least), mine in rows:
        theirs_value, my_value = peer[name] * factor, mine[name] * factor
        ratio = theirs_value / my_value
        good = good and ratio >= least
        verdict = "reached" if ratio >= least else "**missed**"
        goal = f"{AT_LEAST} {least}{TIMES} {verdict}" if least else ""
        values = (
            f"{_short(theirs_value)} {unit} | {_short(my_value)} {unit} | {_short(ratio)}{TIMES}"
        )
        print(f"| {title} | {values} | {goal} |")
    for title, name, of in LOST_ROWS:
        good = good and ours[name] == 0
        goal = "0 reached" if ours[name] == 0 else "0 **missed**"
        print(f"| {title} | {peer[name]} of {peer[of]} | {ours[name]} of {ours[of]} | | {goal} |")
    for figures in (peer, ours):
        sizes = ", ".join(f"{name} {size:.0f}" for name, size in figures["processes"])
        print(f"\nProcesses of {figures['label']}, MiB: {sizes}.")
    return good


# --- the command ---


def main() -> int:
    parser = argparse.ArgumentParser(
        formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__
    )
    commands = parser.add_subparsers(dest="action", required=True)
    for name in ("run", "start"):
        sub = commands.add_parser(name)
        sub.add_argument("label")
        if name == "run":
            sub.add_argument("--container")
            sub.add_argument("--tool", required=True, metavar="SERVER")
        sub.add_argument("command", nargs="+", metavar="COMMAND")
    sub = commands.add_parser("table")
    sub.add_argument("files", nargs="+", type=Path, metavar="FILE.json")
    options = parser.parse_args()

    if options.action == "table":
        peer, ours, *rest = [json.loads(path.read_text()) for path in options.files]
        return 0 if table(peer, ours, rest) else 1
    signal.alarm(LIMIT_S)
    if options.action == "run":
        figures = measure_all(options.command, options.container, options.tool)
    else:
        server, figures = measure_starts(options.command)
        server.close()
    print(json.dumps({"label": options.label, **figures}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
