#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""As many sessions as the server was told to have, most of them idle. Run by density.sh, inside.

    density.py SESSIONS [SECONDS]      the container's own server, which has this --max-sessions
    density.py idle SESSIONS TIMEOUT   one whose kernels end when they were idle for so long

Creates the sessions, each with its first cell; lets WORKERS of them run cells, with pauses, while
the others do nothing; looks whether those have kept their variables; and deletes all. Prints one
table in Markdown; status 1 when a goal is missed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bench_mcp import children, pss_kib
from limits import Row, mib, ms, one_row, say, starts, table
from soak import Client, Server, all_at_once, percentile, ready

CREATORS = 4  # at once
WORKERS = 50
PAUSE = 0.5  # seconds between two cells of a worker, at most
IDLE = 10.0  # seconds of nothing, in which the processor's time is read
ENDING = 120  # seconds for everything to go, at most
RATE, MEMORY_KIB, CELL, EXEC = 60.0, 10 << 20, 0.03, 0.18
TICKS = os.sysconf("SC_CLK_TCK")
RUNTIME = Path("/run/ipybox")
T = TypeVar("T")


class Place(Server):
    """The server with its processes, and what it has in the container."""

    def tree(self) -> list[int]:
        tree, todo, found = children(), [1], []
        while todo:
            pid = todo.pop()
            if pid != os.getpid():
                found.append(pid)
                todo += tree.get(pid, [])
        return found

    def memory_kib(self) -> int:
        return sum(read_or_zero(pss_kib, pid) for pid in self.tree())

    def processor(self) -> float:
        return float(sum(read_or_zero(seconds_of, pid) for pid in self.tree()))

    def traces(self) -> tuple[int, int, int]:
        """Processes, descriptors of the server, names in its runtime directory."""
        names = sum(len(files) for _, _, files in os.walk(RUNTIME))
        return len(self.tree()), self.descriptors(), names


def read_or_zero(read: Callable[[int], T], pid: int) -> T | int:
    try:
        return read(pid)
    except OSError:  # it has just ended
        return 0


def seconds_of(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICKS


class Session(Client):
    """One of many: its connection is closed while it does nothing."""

    def begin(self) -> None:
        self.create()
        self.connection.close()

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(self.random.random() * PAUSE)
            self.check("n += 1\nprint(n)", f"{self.next()}\n")

    def next(self) -> int:
        self.n += 1
        return self.n

    def end(self) -> None:
        self.connection.close()
        self.call("DELETE", f"/v1/sessions/{self.id}")
        self.connection.close()


def in_turn(sessions: list[Session], act: Any, at_once: int = CREATORS) -> float:
    """Seconds until all have acted, so many at once."""
    left, lock = list(reversed(sessions)), threading.Lock()

    def take(_: Client) -> None:
        while True:
            with lock:
                if not left:
                    return
                mine = left.pop()
            act(mine)

    begin = time.perf_counter()
    all_at_once([Client(f"taker-{n}") for n in range(at_once)], take)
    return time.perf_counter() - begin


def gone(place: Place, before: tuple[int, int, int]) -> tuple[tuple[int, int, int], float]:
    """What is left of what was there, and the seconds until that."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < ENDING:
        left = place.traces()
        if left <= before:
            break
        time.sleep(0.2)
    return place.traces(), time.perf_counter() - begin


def density(count: int, seconds: float) -> list[Row]:
    default = ready()
    default.connection.close()
    time.sleep(1)  # for the spare kernel
    place = Place()
    before, empty = place.traces(), place.memory_kib()
    sessions = [Session(f"s{n}") for n in range(1, count)]
    say(f"creating {len(sessions)}")
    work = place.processor()
    taken = in_turn(sessions, Session.begin)
    work = (place.processor() - work) / len(sessions)
    rate, full, held = len(sessions) / taken, place.memory_kib(), place.traces()
    say("doing nothing")
    spent = place.processor()
    time.sleep(IDLE)
    spent = (place.processor() - spent) / IDLE
    workers = sessions[:: max(1, len(sessions) // WORKERS)][:WORKERS]
    for worker in workers:
        worker.times.clear()
    say(f"{seconds:.0f} s of cells in {len(workers)}")
    all_at_once(list(workers), lambda client: client.rest(seconds))  # type: ignore[attr-defined]
    times = [t for worker in workers for t in worker.times]
    for worker in workers:
        worker.connection.close()
    say("looking at all, and ending them")
    in_turn(sessions, lambda s: s.check("print(n)", f"{s.n}\n"))
    ended = in_turn(sessions, Session.end)
    left, waited = gone(place, before)
    wrong, cells = sum(s.wrong for s in sessions), sum(s.cells for s in sessions)
    each = len(sessions)
    return [
        Row("sessions created with their first cell, a second", "", f"{rate:.0f}", "",
            f"\N{GREATER-THAN OR EQUAL TO} {RATE:.0f}", rate >= RATE),
        Row("processor time of each, to its first cell", "", ms(work), "", "", None),
        one_row(f"memory (PSS) of all {count}", full, MEMORY_KIB, mib),
        Row("of each", "", mib((full - empty) / each), "", "", None),
        Row("processes, descriptors of the server, names: of each", "",
            ", ".join(f"{(now - then) / each:.1f}" for now, then in zip(held, before, strict=True)),
            "", "", None),
        Row("processor time while all are idle", "", f"{spent:.0%} of one", "", "", None),
        Row(f"a cell in {len(workers)} of them, p50", "", ms(percentile(times, 0.5)), "", "", None),
        one_row("the same, p99", percentile(times, 0.99), CELL, ms),
        Row("wrong or lost answers", "", f"{wrong} of {cells}", "", "0", wrong == 0),
        Row("all ended, and gone after", "", f"{ended:.1f} s, {waited:.1f} s", "", "", None),
        Row("processes, descriptors, names left of them", "",
            ", ".join(str(now - then) for now, then in zip(left, before, strict=True)), "", "0",
            left <= before),
    ]  # fmt: skip


def idle(count: int, timeout: float) -> list[Row]:
    """With --kernel-idle-timeout."""
    ready().connection.close()
    place = Place()
    before, empty = place.traces(), place.memory_kib()
    sessions = [Session(f"i{n}") for n in range(1, count)]
    in_turn(sessions, Session.begin)
    full = place.memory_kib()
    time.sleep(timeout)
    gone(place, (before[0], 1 << 30, 1 << 30))
    rest = place.memory_kib()
    told, ways = 0, []
    for session in sessions:
        since = time.perf_counter()
        answer = session.run("print('n' in globals())")
        ways.append(time.perf_counter() - since)
        told += "was idle" in answer["notice"] and answer["stdout"] == "False\n"
        session.connection.close()
    in_turn(sessions, Session.end)
    return [
        Row("memory (PSS) of an idle session: with its kernel, without", "",
            ", ".join(mib((size - empty) / len(sessions)) for size in (full, rest)), "", "", None),
        Row("answers that say that their variables are gone", "", f"{told} of {len(sessions)}", "",
            "all", told == len(sessions)),
        Row("such an answer, p50", "", ms(percentile(ways, 0.5)), "", "", None),
    ]  # fmt: skip


def main(words: list[str]) -> int:
    if words[0] == "exec":
        rows = starts(Path(words[1]), EXEC)
    elif words[0] == "idle":
        rows = idle(int(words[1]), float(words[2]))
    else:
        rows = density(int(words[0]), float(words[1]) if len(words) > 1 else 20.0)
    return 0 if table(rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
