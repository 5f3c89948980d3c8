#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a kernel behind the server costs beside a bare ZeroMQ client on it. Run by limits.sh.

    limits.py BARE_CLIENT [WORKSPACE]

Runs inside the image, as root with CAP_SYS_PTRACE, so that it may read the memory of a server that
runs as somebody else. Prints one table in Markdown; status 1 when a goal is missed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import stand_in_gateway
from bench_mcp import Server, children, pss_kib

UID = 1000
PORT = 8899  # the gateway's: it is started when somebody connects, and stays while he does
GATEWAY = ("--kernel-gateway-port", str(PORT))
STARTS, ROUNDS, CELLS = 7, 10, 200
RESETS, FURTHER = 40, 5
FLOODS = 3  # of each kind, in turns
SETTLE = 0.7  # seconds in which the next spare comes up; nobody can see that from outside
# What may be on its way: 64 messages of 64 Ki characters, twice; it does not depend on the output.
GROWTH_KIB = 16 << 10
PRINTS, LINES, LINE = 1_000_000, 1_000_000, 999
SMALL = f"for i in range({PRINTS}): print(i)"
LARGE = f"line = 'x' * {LINE}\nfor _ in range({LINES}): print(line)"


class Row(NamedTuple):
    title: str
    bare: str
    ours: str
    compared: str
    goal: str
    reached: bool | None


def content(code: str) -> str:
    flags = {"silent": False, "store_history": False, "allow_stdin": False, "stop_on_error": True}
    return json.dumps({"code": code, "user_expressions": {}, **flags})


def wait_until(there: Callable[[], bool]) -> None:
    """Half a minute at most."""
    for _ in range(3000):
        if there():
            return
        time.sleep(0.01)
    raise SystemExit("the server starts no gateway")


class Box(Server):
    """A server, and what of it can be seen from outside."""

    def __init__(self, workspace: Path, *options: str) -> None:
        drop = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"]
        words = ["ipybox", "--workspace", str(workspace), "--log-level", "ERROR", *options]
        super().__init__([*drop, *words])
        self.workspace = workspace
        self.client: socket.socket | None = None

    def supervise(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Ask as the gateway does, of a server with GATEWAY."""
        if not self.client:
            self.client = socket.create_connection(("127.0.0.1", PORT))
            wait_until(Path(stand_in_gateway.SOCKET).exists)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(stand_in_gateway.SOCKET)
            connection.sendall(json.dumps({"op": op, **arguments}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                answer: dict[str, Any] = json.loads(lines.readline())
        if "error" in answer:
            raise SystemExit(f"{op}: {answer['error']}")
        return answer

    def connection(self) -> dict[str, Any]:
        """Of the session's kernel."""
        kernels = self.supervise("list")["kernels"]
        [found] = [kernel["conn"] for kernel in kernels if kernel["owner"] == "session"]
        # The folder of the sockets is a descriptor of the server.
        place = str(found["ip"]).replace("/proc/self/", f"/proc/{self.process.pid}/")
        return {**found, "ip": place}

    def tree_kib(self) -> int:
        tree, todo, size = children(), [self.process.pid], 0
        while todo:
            pid = todo.pop()
            todo += tree.get(pid, [])
            size += pss_kib(pid)
        return size


@contextmanager
def box(workspace: Path, *options: str) -> Iterator[Box]:
    server = Box(workspace, *options)
    try:
        server.initialize()
        server.cell("1")
        yield server
    finally:
        server.close()
        Path(stand_in_gateway.SOCKET).unlink(missing_ok=True)


class Bare:
    """The bare client, on one kernel."""

    def __init__(self, program: str, connection: dict[str, Any]) -> None:
        password = [connection["ipybox_password"]] if "ipybox_password" in connection else []
        self.process = subprocess.Popen(
            [program, connection["ip"], connection["key"], *password],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.run("pass")

    def run(self, code: str, times: int = 1) -> list[tuple[float, int]]:
        """Seconds and bytes of each."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{times} {content(code)}\n")
        self.process.stdin.flush()
        found = []
        for _ in range(times):
            words = self.process.stdout.readline().split()
            if not words:
                raise SystemExit("the bare client has ended")
            found.append((float(words[0]), int(words[1])))
        return found

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def own_kernel(program: str, workspace: Path) -> Iterator[Bare]:
    """The bare client on a kernel that nobody else listens to: the same program, no server."""
    folder = Path("/tmp/bare")
    folder.mkdir(exist_ok=True)
    os.chown(folder, UID, UID)
    connection = {"transport": "ipc", "ip": str(folder / "ch"), "key": secrets.token_hex(32)}
    ports = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4, "hb": 5}
    ports = {f"{name}_port": number for name, number in ports.items()}
    path = folder / "connection.json"
    path.write_text(json.dumps({**connection, **ports, "signature_scheme": "hmac-sha256"}))
    os.chown(path, UID, UID)
    environment = {**os.environ, "PYTHONPATH": "/opt/ipybox/python", "HOME": "/home/ipybox"}
    process = subprocess.Popen(
        ["python3", "-m", "ipybox_kernel", "-f", str(path)],
        cwd=workspace,
        env=environment,
        user=UID,
        group=UID,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
    )
    bare = Bare(program, connection)
    try:
        yield bare
    finally:
        bare.close()
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def mib(kib: float) -> str:
    return f"{kib / 1024:.1f} MiB"


def at_most(value: float, limit: float, shown: Callable[[float], str]) -> tuple[str, bool]:
    return f"\N{LESS-THAN OR EQUAL TO} {shown(limit)}", value <= limit


# --- what is measured ---


def warm_cells(program: str, workspace: Path) -> list[Row]:
    """print(1), by turns on the session's kernel and on one that the bare client has alone."""
    ours: list[float] = []
    same: list[float] = []
    alone: list[float] = []
    with box(workspace, *GATEWAY) as server, own_kernel(program, workspace) as own:
        connection = server.connection()
        for _ in range(ROUNDS):
            bare = Bare(program, connection)
            same += [seconds for seconds, _ in bare.run("print(1)", CELLS)]
            bare.close()
            for _ in range(CELLS):
                ours.append(timed(lambda: server.cell("print(1)")))
            alone += [seconds for seconds, _ in own.run("print(1)", CELLS)]
    rows = []
    for title, theirs in (("the same kernel", same), ("a kernel of its own", alone)):
        more = statistics.median(ours) - statistics.median(theirs)
        rows.append(
            Row(
                f"warm `print(1)`, p50; bare: on {title}",
                ms(statistics.median(theirs)),
                ms(statistics.median(ours)),
                f"{more * 1000:+.2f} ms",
                *at_most(more, 0.0003, ms),
            )
        )
    return rows


class Watch(threading.Thread):
    """The most memory that one process has, until told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.before = self.most = pss_kib(pid)
        self.after = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.1):
            self.most = max(self.most, pss_kib(self.pid))

    def stop(self) -> None:
        self.ended.set()
        self.join()
        self.after = pss_kib(self.pid)


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def all_there(server: Box, answer: str, expected: int) -> bool:
    """Whether the file that the answer names has every byte; it is removed."""
    found = re.search(r"outputs/[\w.-]+\.txt", answer)
    if found is None:
        return False
    path = server.workspace / found.group()
    size = path.stat().st_size
    path.unlink()
    return size == expected


def flood(program: str, workspace: Path, title: str, code: str, expected: int) -> list[Row]:
    theirs, ours, lost, spent = [], [], 0, 0.0
    with box(workspace) as server, own_kernel(program, workspace) as bare:
        server.cell(SMALL.replace(str(PRINTS), "100000"))
        watch = Watch(server.process.pid)
        watch.start()
        for _ in range(FLOODS):
            theirs.append(bare.run(code)[0][0])
            spent -= cpu_seconds(server.process.pid)
            begin = time.perf_counter()
            answer = server.cell(code)
            ours.append(time.perf_counter() - begin)
            spent += cpu_seconds(server.process.pid)
            lost += not all_there(server, answer, expected)
        watch.stop()
    ratio = statistics.median(theirs) / statistics.median(ours)
    grown = watch.most - watch.before
    return [
        Row(
            title,
            f"{statistics.median(theirs):.2f} s",
            f"{statistics.median(ours):.2f} s",
            f"{ratio:.0%}",
            "\N{GREATER-THAN OR EQUAL TO} 80 %, nothing lost",
            ratio >= 0.8 and lost == 0,
        ),
        Row(f"{title}: processor time of the server", "", f"{spent / FLOODS:.2f} s", "", "", None),
        Row(
            f"{title}: the server's PSS before, at most, after",
            "",
            ", ".join(mib(size) for size in (watch.before, watch.most, watch.after)),
            f"{grown / 1024:+.1f} MiB",
            *at_most(grown, GROWTH_KIB, mib),
        ),
    ]


def one_row(title: str, value: float, limit: float, shown: Callable[[float], str]) -> Row:
    return Row(title, "", shown(value), "", *at_most(value, limit, shown))


def starts(workspace: Path, limit: float = 0.45) -> list[Row]:
    times = []
    for _ in range(STARTS):
        server = Box(workspace)
        server.initialize()
        server.cell("print(1)")
        times.append(server.since_start())
        server.close()
    return [one_row("first cell after exec, p50", statistics.median(times), limit, ms)]


def resets(server: Box) -> float:
    def once() -> None:
        server.tool("reset")
        server.cell("print(1)")

    times = []
    for _ in range(RESETS):
        time.sleep(SETTLE)
        times.append(timed(once))
    return statistics.median(times)


def fresh_kernels(workspace: Path) -> list[Row]:
    with box(workspace, *GATEWAY) as server:
        reset = resets(server)
        created = []
        for _ in range(RESETS // 2):
            time.sleep(SETTLE)
            created.append(timed(lambda: server.supervise("launch", id="f0")))
            server.supervise("forget", id="f0")
        time.sleep(SETTLE)
        before = server.tree_kib()
        for n in range(FURTHER):
            server.supervise("launch", id=f"a{n}")
            time.sleep(SETTLE)
        each = (server.tree_kib() - before) / FURTHER
    with box(workspace, "--spare-kernels", "0") as server:
        restart = resets(server)
    return [
        one_row("`reset` to the next cell's answer, p50", reset, 0.015, ms),
        one_row(
            "a further kernel that has run its first cell, p50",
            statistics.median(created),
            0.015,
            ms,
        ),
        one_row("`reset` without a spare kernel, p50", restart, 0.030, ms),
        one_row("PSS of each further kernel", each, 15 * 1024, mib),
    ]


# --- the table ---


def table(rows: list[Row]) -> bool:
    print("| | bare client | ipybox | | goal |")
    print("|---|---:|---:|---:|---|")
    for row in rows:
        verdict = {None: "", True: "reached", False: "**missed**"}[row.reached]
        cells = f"{row.title} | {row.bare} | {row.ours} | {row.compared} | {row.goal} {verdict}"
        print(f"| {cells} |", flush=True)
    return all(row.reached is not False for row in rows)


def main(argv: list[str]) -> int:
    program = argv[0]
    workspace = Path(argv[1] if len(argv) > 1 else "/app/workspace")
    say("starts")
    rows = starts(workspace)
    say("warm cells")
    rows = warm_cells(program, workspace) + rows
    say("resets and further kernels")
    rows += fresh_kernels(workspace)
    small = sum(len(str(i)) + 1 for i in range(PRINTS))
    say("a million prints")
    rows += flood(program, workspace, "1,000,000 small prints", SMALL, small)
    say("1 GB")
    rows += flood(program, workspace, "1 GB of output", LARGE, LINES * (LINE + 1))
    return 0 if table(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
