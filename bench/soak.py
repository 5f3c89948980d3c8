#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""As many sessions as there may be, all at work. Run by soak.sh, inside the container.

    soak.py SECONDS

Creates the sessions one after the other, each with its first cell; fills what is kept of each
(events in memory, results), so that its growth is not mistaken for a leak; lets all of them run
cells; and deletes them. Every answer must be the right one. Prints one table in Markdown; status 1
when a goal is missed.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_mcp import children, pss_kib
from limits import Row, at_most, mib, ms, one_row, say, table

SESSIONS = 100  # with `default`
KEPT = 260  # results of a session, a few more than are kept
RING = 1 << 20  # bytes of events that are kept in memory
# Small ones, as those that follow: many small events take more than a few large ones.
FULL = f"for _ in range({RING // 1200}): print('x' * 60, flush=True)"
PAUSE = 0.5  # seconds between two cells of a session, at most
ENDING = 60  # seconds for the kernels to end, at most
CREATION, PSS_KIB, GROWTH_KIB = 0.05, 25 << 10, 2 << 10


class Client:
    """One session, over one connection."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=600)
        self.random = random.Random(id)
        self.cells = self.wrong = self.n = 0
        self.times: list[float] = []

    def call(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": "Bearer admin", "Content-Type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"bench: {method} {path}: {answer.status} {text!r}")
        return json.loads(text) if text else None

    def run(self, code: str) -> Any:
        return self.call("POST", f"/v1/sessions/{self.id}/executions", {"code": code})

    def check(self, code: str, stdout: str) -> None:
        begin = time.perf_counter()
        answer = self.run(code)
        self.times.append(time.perf_counter() - begin)
        self.cells += 1
        self.wrong += (answer["status"], answer["stdout"]) != ("ok", stdout)

    def create(self) -> tuple[float, float]:
        """Seconds until it is there, and until its first cell is answered."""
        begin = time.perf_counter()
        self.call("POST", "/v1/sessions", {"id": self.id})
        there = time.perf_counter() - begin
        self.check("n = 0\nprint(n)", "0\n")
        return there, time.perf_counter() - begin

    def step(self) -> None:
        """Its state is its own, and all of what it prints arrives."""
        self.n += 1
        lines = self.random.choice((1, 1, 1, 10, 100))
        code = f"n += 1\nfor i in range({lines}): print({self.id!r}, n, i)"
        self.check(code, "".join(f"{self.id} {self.n} {i}\n" for i in range(lines)))

    def fill(self) -> None:
        for _ in range(10):
            self.run(FULL)
        for _ in range(KEPT):
            self.step()

    def work(self, until: float) -> None:
        while time.monotonic() < until:
            self.step()
            time.sleep(self.random.random() * PAUSE)


def all_at_once(clients: list[Client], act: Callable[[Client], None]) -> None:
    failed: list[str] = []

    def watched(client: Client) -> None:
        try:
            act(client)
        except (Exception, SystemExit) as error:
            failed.append(f"{client.id}: {type(error).__name__} {error}")

    threads = [threading.Thread(target=watched, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise SystemExit(f"bench: {len(failed)} sessions failed: {failed[0]}")


class Server:
    """What its processes take."""

    def __init__(self) -> None:
        [self.pid] = [pid for pid in children().get(1, []) if pid != os.getpid()]

    def kib(self) -> int:
        return pss_kib(self.pid)

    def tree_kib(self) -> int:
        tree, todo, size = children(), [self.pid], 0
        while todo:
            pid = todo.pop()
            todo += tree.get(pid, [])
            size += pss_kib(pid)
        return size

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


def ready() -> Client:
    client = Client("default")
    for _ in range(600):
        try:
            if client.run("1")["status"] == "ok":
                return client
        except OSError:
            client = Client("default")
        time.sleep(0.1)
    raise SystemExit("bench: the server does not come up")


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]


def soak(seconds: float) -> list[Row]:
    ready()
    server = Server()
    clients = [Client(f"s{n}") for n in range(1, SESSIONS)]
    clean, descriptors = server.tree_kib(), server.descriptors()
    say("creating")
    created = [client.create() for client in clients]
    each = (server.tree_kib() - clean) / len(clients)
    bare = server.kib()
    say("filling what is kept")
    all_at_once(clients, Client.fill)
    full, full_each = server.kib(), (server.tree_kib() - clean) / len(clients)
    for client in clients:
        client.times.clear()
    say(f"{seconds:.0f} s of cells")
    until = time.monotonic() + seconds
    all_at_once(clients, lambda client: client.work(until))
    after = server.kib()
    times = [seconds for client in clients for seconds in client.times]
    default = ready()  # its connection was idle for too long
    for client in clients:
        default.call("DELETE", f"/v1/sessions/{client.id}")
        client.connection.close()
    default.connection.close()
    for _ in range(ENDING):
        time.sleep(1)
        if server.descriptors() == descriptors:
            break
    cells, wrong = sum(c.cells for c in clients), sum(c.wrong for c in clients)
    left = server.descriptors() - descriptors
    there, first = [a for a, _ in created], [b for _, b in created]
    return [
        one_row("a session created, p50", statistics.median(there), CREATION, ms),
        one_row("its first cell answered, p50", statistics.median(first), CREATION, ms),
        Row("its first cell answered, p99", "", ms(percentile(first, 0.99)), "", "", None),
        one_row("PSS of each session, the server's share in it", each, PSS_KIB, mib),
        one_row("the same when all that is kept of it is full", full_each, PSS_KIB, mib),
        Row("cells, a second", "", f"{len(times)}, {len(times) / seconds:.0f}", "", "", None),
        Row(
            "a cell, p50, p99",
            "",
            f"{ms(percentile(times, 0.5))}, {ms(percentile(times, 0.99))}",
            "",
            "",
            None,
        ),
        Row("wrong or lost answers", "", f"{wrong} of {cells}", "", "0", wrong == 0),
        Row(
            "PSS of the server: created, full, after the cells",
            "",
            ", ".join(mib(size) for size in (bare, full, after)),
            f"{(after - full) / 1024:+.1f} MiB",
            *at_most(after - full, GROWTH_KIB, mib),
        ),
        Row("descriptors that stay when they are deleted", "", str(left), "", "0", left == 0),
        Row("PSS of the server then", "", mib(server.kib()), "", "", None),
    ]


if __name__ == "__main__":
    sys.exit(0 if table(soak(float(sys.argv[1]))) else 1)
