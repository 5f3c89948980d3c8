#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GET /livez and a warm cell over HTTP. Run by http.sh, which has made the container.

    http_figures.py CONTAINER

Starts the programs in the container by docker exec and asks them from the host, within the
container's network. Prints one table in Markdown; status 1 when a goal is missed.
    http_figures.py cells BARE_CLIENT

is the half that runs inside it: warm cells, as JSON.
"""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from limits import CELLS, ROUNDS, Bare, Row, at_most, box, ms, table

PORT, BARE_PORT, GATEWAY = 8080, 8081, 8899
TURNS, SECONDS, CONNECTIONS = 7, 2, 16
SHARE, OVER = 0.75, 0.001  # of the bare program's requests; seconds over the raw kernel


# --- warm cells: inside ---


class Http:
    """A client that costs next to nothing: one connection, one prepared request."""

    def __init__(self, port: int, code: str) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = json.dumps({"code": code})
        self.request = (
            "POST /v1/sessions/default/executions HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()

    def cell(self) -> bytes:
        self.connection.sendall(self.request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.connection.recv(65536)
        head, body = answer.split(b"\r\n\r\n", 1)
        found = re.search(rb"Content-Length: (\d+)", head)
        if not head.startswith(b"HTTP/1.1 200") or found is None:
            raise SystemExit(f"bench: {answer!r}")
        while len(body) < int(found[1]):
            body += self.connection.recv(65536)
        return body


def cells(program: str) -> None:
    """print(1) by turns: over HTTP, and by the bare client on the session's kernel."""
    ours: list[float] = []
    theirs: list[float] = []
    options = ("--kernel-gateway-port", str(GATEWAY), "--http", f"127.0.0.1:{PORT}")
    with box(Path("/app/workspace"), *options) as server:
        http = Http(PORT, "print(1)")
        connection = server.connection()
        for _ in range(ROUNDS):
            bare = Bare(program, connection)
            theirs += [seconds for seconds, _ in bare.run("print(1)", CELLS)]
            bare.close()
            for _ in range(CELLS):
                begin = time.perf_counter()
                body = http.cell()
                ours.append(time.perf_counter() - begin)
                if b'"text":"1"' not in body:
                    raise SystemExit(f"bench: {body!r}")
    print(json.dumps({"ours": ours, "theirs": theirs}))


# --- requests per second: outside ---


class Turn(NamedTuple):
    """One look of wrk."""

    per_second: float
    cpu_us: float  # of the server, for each request
    p99_ms: float


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], stdout=subprocess.PIPE, check=True, text=True).stdout


def serving(port: int, net: list[str]) -> int:
    """The process, on the host, that listens there."""
    for _ in range(500):
        lines = subprocess.run(
            [*net, "ss", "-Hltnp", f"sport = :{port}"],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout
        found = re.search(r"pid=(\d+)", lines)
        if found:
            return int(found[1])
        time.sleep(0.02)
    raise SystemExit(f"bench: nothing listens on {port}")


def cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def turn(net: list[str], port: int, pid: int) -> Turn:
    before = cpu(pid)
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--latency"]
    text = subprocess.run(
        [*net, *command, f"http://127.0.0.1:{port}/livez"],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    requests = re.search(r"(\d+) requests in", text)
    rate = re.search(r"Requests/sec: +([\d.]+)", text)
    slow = re.search(r"99% +([\d.]+)(us|ms|s)", text)
    if not requests or not rate or not slow or "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"bench: {text}")
    scale = {"us": 0.001, "ms": 1.0, "s": 1000.0}[slow[2]]
    spent = (cpu(pid) - before) * 1e6 / int(requests[1])
    return Turn(float(rate[1]), spent, float(slow[1]) * scale)


def requests(container: str) -> list[Row]:
    pid = docker("inspect", "-f", "{{.State.Pid}}", container).strip()
    net = ["nsenter", "-t", pid, "-n"]
    docker("exec", "-d", container, "bare_http", str(BARE_PORT))
    docker(
        "exec", "-d", container, "ipybox", "serve", "--allow-root", "--http", f"127.0.0.1:{PORT}"
    )
    bare, ours = serving(BARE_PORT, net), serving(PORT, net)
    turns: dict[int, list[Turn]] = {bare: [], ours: []}
    for _ in range(TURNS):
        turns[bare].append(turn(net, BARE_PORT, bare))
        turns[ours].append(turn(net, PORT, ours))
    subprocess.run(["kill", str(bare), str(ours)], check=True)

    def median(of: int, field: str) -> float:
        return float(statistics.median(getattr(each, field) for each in turns[of]))

    def row(title: str, field: str, unit: str) -> Row:
        left, right = median(bare, field), median(ours, field)
        return Row(
            title, f"{left:.3g}{unit}", f"{right:.3g}{unit}", f"{right / left:.0%}", "", None
        )

    left, right = median(bare, "per_second"), median(ours, "per_second")
    return [
        Row(
            "`GET /livez`, requests a second",
            f"{left:.0f}",
            f"{right:.0f}",
            f"{right / left:.0%}",
            f"\N{GREATER-THAN OR EQUAL TO} {SHARE:.0%}",
            right >= SHARE * left,
        ),
        row("its processor time of the server", "cpu_us", " \N{MICRO SIGN}s"),
        row("its p99", "p99_ms", " ms"),
    ]


def cell_rows(container: str) -> list[Row]:
    run = docker("exec", container, "python3", "/bench/http_figures.py", "cells", "bare_client")
    seconds = json.loads(run)
    theirs, ours = statistics.median(seconds["theirs"]), statistics.median(seconds["ours"])
    more = ours - theirs
    goal = at_most(more, OVER, ms)
    title = "warm `print(1)` by POST, p50; bare: ZeroMQ on the same kernel"
    return [Row(title, ms(theirs), ms(ours), f"{more * 1000:+.2f} ms", *goal)]


def main(argv: list[str]) -> int:
    if argv[0] == "cells":
        cells(argv[1])
        return 0
    return 0 if table(requests(argv[0]) + cell_rows(argv[0])) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
