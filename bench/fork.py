#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forks and rewinds of live sessions over HTTP. Run by fork.sh, inside the container.

    fork.py [FORKS]

A time is that of the request, at whose end the branch's kernel is ready. Prints one table in
Markdown; status 1 when a goal is missed.
"""

from __future__ import annotations

import statistics
import sys
import time

from density import Place
from limits import Row, mib, ms, one_row, say, table, timed
from soak import Client, all_at_once, ready

SMALL, LARGE, MANY = 40, 10, 64  # forks of each kind
FORK_SMALL, FORK_LARGE, FORK_MANY = 0.03, 0.15, 4.0  # seconds
REWIND, REWINDS = 0.03, 40  # seconds; rewinds of each kind
BRANCH_KIB = 3 << 10
FRESH = 10
# One page of each block differs, so that no two pages are the same to the machine.
FILL = """
blocks = [bytearray(1 << 20) for _ in range({mib})]
for n, block in enumerate(blocks):
    for at in range(0, 1 << 20, 4096):
        block[at] = n % 255 + 1
"""
# Its own sum: what this branch adds, of memory that all share.
RESULT = "print(sum(block[0] for block in blocks) * {n})"


def fork(parent: Client, count: int = 1) -> list[Client]:
    made = parent.call("POST", f"/v1/sessions/{parent.id}/fork", {"count": count})
    return [Client(item["id"]) for item in made["sessions"]]


def end(clients: list[Client]) -> None:
    for client in clients:
        client.call("DELETE", f"/v1/sessions/{client.id}")


def checked(client: Client, code: str) -> str:
    answer = client.run(code)
    if answer["status"] != "ok":
        raise SystemExit(f"bench: {answer}")
    return str(answer["stdout"])


def filled(name: str, size: int, checkpoints: int = 0) -> Client:
    client = Client(name)
    client.call("POST", "/v1/sessions", {"id": name, "checkpoints": checkpoints})
    checked(client, FILL.format(mib=size))
    return client


def fork_times(parent: Client, count: int) -> list[float]:
    times = []
    for _ in range(count):
        made: list[Client] = []
        times.append(timed(lambda made=made: made.extend(fork(parent))))  # type: ignore[misc]
        end(made)
    return times


def of_one_size(title: str, size: int, count: int, limit: float) -> list[Row]:
    say(f"forks of {size} MiB")
    parent = filled(f"p{size}", size)
    times = fork_times(parent, count)
    end([parent])
    return [one_row(title, statistics.median(times), limit, ms)]


def cell_times(client: Client) -> list[float]:
    return [timed(lambda: checked(client, "x = 1")) for _ in range(REWINDS)]


def rewinds_of(title: str, size: int, limit: float) -> list[Row]:
    """Each undoes one cell. What a cell waits is beside one of a session that keeps no states."""
    say(f"rewinds of {size} MiB")
    bare, client = filled(f"b{size}", size), filled(f"r{size}", size, 2)
    waits = statistics.median(cell_times(client)) - statistics.median(cell_times(bare))
    times = []
    for n in range(REWINDS):
        answer = client.run(f"x = {n}")

        def back(cell: int = answer["cell"]) -> None:
            client.call("POST", f"/v1/sessions/{client.id}/rewind", {"cell": cell})

        times.append(timed(back))
        if checked(client, "print(x)") != "1\n":
            raise SystemExit("bench: a rewind has brought back something else")
    end([bare, client])
    return [
        one_row(f"rewind of {title}, p50", statistics.median(times), limit, ms),
        one_row(f"by how much a cell of {title} waits for its state, p50", waits, limit, ms),
    ]


def fresh_sessions() -> list[Row]:
    """What a fork is beside: a new session with its first cell."""
    times = []
    for n in range(FRESH):
        client = Client(f"fresh{n}")
        begin = time.perf_counter()
        client.call("POST", "/v1/sessions", {"id": client.id, "checkpoints": 0})
        checked(client, "1")
        times.append(time.perf_counter() - begin)
        end([client])
    return [
        Row("a new session and its first cell, p50", "", ms(statistics.median(times)), "", "", None)
    ]


def many(place: Place) -> list[Row]:
    say(f"{MANY} branches of 1 GiB")
    parent = filled("many", 1024)
    before = place.memory_kib()
    begin = time.perf_counter()
    branches = fork(parent, MANY)
    forked = time.perf_counter() - begin
    each = (place.memory_kib() - before) / MANY
    numbers = {client.id: n for n, client in enumerate(branches)}
    wanted = int(checked(parent, RESULT.format(n=1)))

    def compute(client: Client) -> None:
        n = numbers[client.id]
        if int(checked(client, RESULT.format(n=n))) != wanted * n:
            raise SystemExit(f"bench: {client.id} has another result")

    all_at_once(branches, compute)
    computed = time.perf_counter() - begin
    end([*branches, parent])
    return [
        one_row(f"{MANY} branches of a session with 1 GiB at once", forked, FORK_MANY, ms),
        one_row("the same, and each has computed its result", computed, FORK_MANY, ms),
        one_row("memory of such a branch before it writes", each, BRANCH_KIB, mib),
    ]


def leaks(place: Place, count: int) -> list[Row]:
    say(f"{count} forks")
    parent = Client("default")
    end(fork(parent))
    time.sleep(1)
    before, memory = place.traces(), place.memory_kib()
    for _ in range(count // 10):
        end(fork(parent, 10))
    for _ in range(100):  # what ends is gone soon after its answer
        if place.traces() <= before:
            break
        time.sleep(0.1)
    after, grown = place.traces(), place.memory_kib() - memory
    left = [max(0, now - then) for now, then in zip(after, before, strict=True)]
    text = "{} processes, {} descriptors, {} names".format(*left)
    return [
        Row(f"left of {count} forks", "", text, "", "0", not any(left)),
        Row("by how much memory has grown", "", mib(max(0, grown)), "", "", None),
    ]


def main(argv: list[str]) -> int:
    ready()
    place = Place()
    rows = fresh_sessions()
    rows += of_one_size("fork of a small kernel (50 MB), p50", 20, SMALL, FORK_SMALL)
    rows += of_one_size("fork of a kernel with 2 GiB, p50", 2048, LARGE, FORK_LARGE)
    rows += rewinds_of("a small kernel (50 MB)", 20, REWIND)
    rows += rewinds_of("a kernel with 2 GiB", 2048, FORK_LARGE)
    rows += many(place)
    rows += leaks(place, int(argv[0]) if argv else 1000)
    return 0 if table(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
