#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A container for as long as one likes, under everything at once. Run by tests/soak.

    soak.py SECONDS SEED RUNTIME_DIR NAME COMMAND...

Deeds are chosen at random, but each is done in every round. Each of them checks its own answers:
nothing that was printed is lost, doubled or told to another cell. Before the first and after the
last round the server is looked at: descriptors, memory, files in its runtime directory, processes.
At the end the container ends in order, and its runtime directory is as a fresh server leaves it.
"""

from __future__ import annotations

import collections
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from drive import SHOW_PNG, WAIT, Box, Failure, equal, fail, matches, note, wait_for

BURST = 1000  # quick cells in a row
ROUND = 60  # deeds between two looks, at most; a round has each deed once at least
KERNELS = 3  # the template, the session's and a spare one
GROWTH_KIB = 3072  # of the server: its buffers grow to what the largest cell needs
LONG = 60  # seconds; a shorter run says nothing of growth


class State(NamedTuple):
    """What must not grow."""

    descriptors: int
    kib: int
    files: int
    processes: int


LOOK = """
import os, sys
p = "/proc/" + sys.argv[1]
kib = [l.split()[1] for l in open(p + "/status") if l.startswith("VmRSS")][0]
print(len(os.listdir(p + "/fd")), kib, sum(len(f) for _, _, f in os.walk("/run/ipybox")))
"""


class Soak:
    """One conversation and what was done in it."""

    def __init__(self, box: Box, seed: int) -> None:
        self.box = box
        self.random = random.Random(seed)
        self.count: collections.Counter[str] = collections.Counter()
        self.number = 0  # makes every output unlike any other

    def next(self) -> int:
        self.number += 1
        return self.number

    def prints(self, code: str, expected: object) -> None:
        self.count["cells"] += 1
        self.box.prints(code, expected)

    # --- deeds ---

    def quick_cells(self) -> None:
        """The whole text of each, and nothing else."""
        for _ in range(BURST):
            n = self.next()
            self.prints(f"print('cell', {n})", f"cell {n}")

    def many_at_once(self) -> None:
        """Queued cells run in their order, and each gets its own output."""
        numbers = [self.next() for _ in range(50)]
        ids = [self.box.start_cell(f"print('queued', {n})") for n in numbers]
        for n, id in zip(numbers, ids, strict=True):
            equal(self.box.finish(id).text, f"queued {n}")
        self.count["cells"] += len(ids)

    def all_ways_out(self) -> None:
        """Python, the descriptor and a child process, in order."""
        for _ in range(10):
            n = self.next()
            code = (
                f"import os, subprocess; print('p', {n}); os.write(1, b'd {n}\\n')\n"
                f"_ = subprocess.run(['echo', 'c {n}']); print('e', {n})"
            )
            self.prints(code, f"p {n}\nd {n}\nc {n}\ne {n}")

    def errors(self) -> None:
        n = self.next()
        answer = self.box.fails(f"print('before', {n}); raise ValueError({n})", f"ValueError: {n}")
        matches(answer.rest, rf"before {n}\Z")
        self.count["cells"] += 1

    def floods(self) -> None:
        """More than fits the answer: all of it is in the file."""
        n, lines = self.next(), self.random.randrange(50_000, 200_000)
        answer = self.box.runs(f"for i in range({lines}): print('flood', {n}, i)", timeout=WAIT)
        path = matches(answer.text, r"is in /app/workspace/(outputs/\S+\.txt)\]")[1]
        code = (
            f"import os; t = open('{path}').read(); os.remove('{path}')\n"
            f"t == ''.join(f'flood {n} {{i}}\\n' for i in range({lines})) and len(t)"
        )
        expected = sum(len(f"flood {n} {i}\n") for i in range(lines))
        self.prints(code, expected)
        self.count["MB of floods"] += expected // 1_000_000

    def pictures(self) -> None:
        matches(self.box.runs(SHOW_PNG).text, r"images/[0-9a-f]+\.png")
        self.box.runs("import shutil; shutil.rmtree('images')")

    def late_output(self) -> None:
        """What a thread prints between cells comes with a later cell, once."""
        n = self.next()
        delay = self.random.choice((0.0, 0.001, 0.01))
        code = f"import threading; threading.Timer({delay}, print, ('late {n}',)).start()"
        seen = self.box.runs(code).texts

        def look() -> bool:
            seen.extend(self.box.runs("pass").texts)
            return f"late {n}" in "\n".join(seen)

        wait_for("what came late", look)
        seen.extend(self.box.runs("pass").texts)
        equal("\n".join(seen).count(f"late {n}"), 1)

    def timeouts(self) -> None:
        n = self.next()
        self.box.runs(f"kept = {n}")
        code = f"print('timed', {n}, flush=True)\nwhile True: pass"
        answer = self.box.fails(code, "TimeoutError", timeout=2)
        matches(answer.rest, f"timed {n}")
        self.prints("kept", n)
        self.count["timeouts"] += 1

    def cancelled_cells(self) -> None:
        """One that runs and one that waits; neither is answered, and the state is kept."""
        n = self.next()
        self.box.runs(f"kept = {n}")
        running = self.box.begin_cell("import time; print('begun', flush=True); time.sleep(600)")
        waiting = self.box.start_cell("kept = 'it ran'")
        self.box.notify("notifications/cancelled", requestId=waiting)
        self.box.notify("notifications/cancelled", requestId=running)
        self.prints("kept", n)
        self.count["cancelled cells"] += 2

    def resets(self) -> None:
        self.box.runs("here = 1; import subprocess; p = subprocess.Popen(['sleep', '10000'])")
        for _ in range(self.random.randrange(1, 10)):
            equal(self.box.tool("reset").error, False)
            self.count["resets"] += 1
        self.prints("'here' in globals()", False)

    def reset_with_requests(self) -> None:
        """Cells before and after a reset, all sent before the first is answered."""
        n = self.next()
        before = self.box.start_cell(f"w = {n}; print('before', w)")
        reset = self.box.start_tool("reset")
        after = self.box.start_cell("print('after', 'w' in globals())")
        equal(self.box.finish(before).text, f"before {n}")
        equal(self.box.finish(reset).error, False)
        equal(self.box.finish(after).text, "after False")
        self.count["resets"] += 1

    def deaths(self) -> None:
        """What was printed before os._exit() is there; a signal may come before it was sent."""
        n = self.next()
        how = self.random.choice(("os._exit(3)", "os.kill(os.getpid(), 9)", "os.abort()"))
        code = f"import os; print('last', {n}, flush=True); {how}"
        answer = self.box.fails(code, "KernelDied")
        matches(answer.rest, f"last {n}" if "_exit" in how else rf"last {n}|\A\Z")
        matches(self.box.runs("1").rest, "new kernel")
        self.count["killed kernels"] += 1

    def deaths_at_any_time(self) -> None:
        """Whenever a kernel dies, a cell is answered rightly or is told of it."""
        delay = self.random.random() * 0.02
        code = "import os, threading; threading.Timer({}, os.kill, (os.getpid(), 9)).start()"
        answer = self.box.cell(code.format(delay))
        for _ in range(500):
            if "KernelDied" in answer.text or "new kernel" in answer.rest:
                break
            n = self.next()
            answer = self.box.cell(f"print('right', {n})")
            self.count["cells"] += 1
            if not answer.error:
                equal(answer.text, f"right {n}")
        else:
            fail("the kernel did not die")
        # When it died before the cell was answered, the next one is told, too.
        matches(self.box.runs("2").text, "^2$")
        self.count["killed kernels"] += 1

    # --- rounds ---

    def deeds(self) -> list[Callable[[], None]]:
        return [
            *(self.quick_cells, self.many_at_once, self.all_ways_out, self.errors, self.floods),
            *(self.pictures, self.late_output, self.timeouts, self.cancelled_cells, self.resets),
            *(self.reset_with_requests, self.deaths, self.deaths_at_any_time),
        ]

    def one_round(self, deadline: float) -> None:
        """Every deed once, then quick cells and others until the round is full or time is up."""
        deeds = self.deeds()
        self.random.shuffle(deeds)
        for deed in deeds:
            self.do(deed)
        while len(deeds) < ROUND and time.monotonic() < deadline:
            deeds.append(self.random.choice([self.quick_cells] * 10 + deeds[:13]))
            self.do(deeds[-1])

    def do(self, deed: Callable[[], None]) -> None:
        try:
            deed()
        except Failure as error:
            raise Failure(f"{deed.__name__}: {error}") from error
        self.box.notifications("notifications/message")
        self.box.notifications("notifications/progress")
        del self.box.transcript[:-100]

    def seen(self) -> State:
        """As it is now."""
        seen = self.box.inside("python3", "-c", LOOK, str(self.box.server().pid)).split()
        descriptors, kib, files = (int(word) for word in seen)
        return State(descriptors, kib, files, len(self.box.processes()))

    def look(self) -> State:
        """After a reset, when the kernels before it have gone and two looks see the same."""
        self.box.tool("reset")
        self.box.runs("1")
        wait_for("the kernels' end", lambda: len(self.box.kernels()) == KERNELS)
        wait_for("their reaping", lambda: not self.box.zombies())
        state = self.seen()

        def settled() -> bool:
            nonlocal state
            before, state = state, self.seen()
            return before._replace(kib=0) == state._replace(kib=0)

        wait_for("the server to settle", settled)
        return state

    def look_again(self, first: State) -> State:
        """When there is no more than at first."""
        last = self.look()

        def nothing_left() -> bool:
            nonlocal last
            last = self.seen()
            pairs = zip(last, first._replace(kib=last.kib), strict=True)
            return all(now <= then for now, then in pairs)

        wait_for(f"{first} without what is left behind", nothing_left)
        return last


def soak(box: Box, seconds: float, seed: int) -> None:
    """The rounds, and the comparison."""
    run = Soak(box, seed)
    for _ in range(8):  # the history of a session has a file from its first MiB on
        box.runs("print('x' * 300_000)")
    run.one_round(time.monotonic())
    first = run.look()
    rounds = 1
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        run.one_round(deadline)
        rounds += 1
    last = run.look_again(first)
    done = ", ".join(f"{count} {what}" for what, count in sorted(run.count.items()))
    note(f"{rounds} rounds: {done}")
    note(f"descriptors, KiB, files, processes: {tuple(first)} -> {tuple(last)}")
    if seconds >= LONG and last.kib > first.kib + GROWTH_KIB:
        fail(f"the server has grown: {first} -> {last}")
    equal(box.end(), 0)
    equal(box.stray, [])


def main(words: list[str]) -> int:
    seconds, seed, runtime, name, *command = words
    box = Box(name, command)
    try:
        box.wait_for_start()
        soak(box, float(seconds), int(seed))
        left = sorted(str(path) for path in Path(runtime).rglob("*") if not path.is_dir())
        equal(left, [])
    except (Exception, SystemExit) as error:
        box.report()
        print(f"--- with seed {seed}: {error}")
        return 1
    finally:
        box.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
