# SPDX-License-Identifier: Apache-2.0
"""A function is repaired by search: sixteen ways from one session at once, and on from the best.

    python examples/tree_search.py

A session has loaded data and a function that reads it wrongly. The scripted model proposes sixteen
edits; each is tried in a branch, a fork of the session with all that it has in memory, against a
suite of tests. The best branch is forked again for the next edits, until all tests pass. Then the
same is done without forks: each attempt is a new session that loads the data, repeats the edits so
far, and tries its own. Python alone is needed beside Docker.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

IMAGE = os.environ.get("IPYBOX_IMAGE", "ipybox")
TOKEN = secrets.token_hex(16)
TESTS = 12
TRY_MS = int(os.environ.get("TRY_MS", "300"))  # for an edit: more on a machine that is busy

LOAD = '''
import collections, random, re
random.seed(1)
times = "90s", "2m", "1h30m", "1d", "45"
log = [f"request {n} took {random.choice(times)}" for n in range(300_000)]
index = collections.Counter(word for line in log for word in re.findall("[a-z0-9]+", line))
source = """
UNITS = {"h": 3600, "m": 60, "s": 1}
def seconds(text):
    total = 0
    for number, unit in re.findall(f"([0-9])([{''.join(UNITS)}])", text):
        total += int(number) * UNITS[unit]
    return total
"""
exec(source)
CASES = {"5s": 5, "90s": 90, "2m": 120, "10m": 600, "1h": 3600, "1h30m": 5400, "1d": 86400,
         "2d12h": 216000, "45": 45, "1 h": 3600, "2M": 120, "": 0}

def suite():
    passed = 0
    for text, wanted in CASES.items():
        try:
            passed += seconds(text) == wanted
        except Exception:
            pass
    return passed
'''
# What the scripted model proposes after each look at the tests: text in the source, and what takes
# its place. Most edits are of no use, some are wrong, and one never ends.
EDITS = [
    ("([0-9])", "([0-9]+)"),
    ("([0-9])", "([0-9]*)"),
    ("([0-9])", "([1-9])"),
    ('{"h"', '{"d": 86400, "h"'),
    ('{"h"', '{"d": 43200, "h"'),
    (")([", ") *(["),
    (")([", ")-(["),
    (", text):", ", text.lower()):"),
    (", text):", ", text.upper()):"),
    ("return total", "return total or int(text or 0)"),
    ("return total", "return total or int(text)"),
    ("return total", "return -total"),
    ("total = 0", "total = 1"),
    ("total +=", "total ="),
    ("* UNITS", "+ UNITS"),
    ("return total", "while True: total += 1"),
]
LEVELS = 8


class Box:
    """A container and its HTTP API."""

    def __init__(self) -> None:
        words = ["-p", "127.0.0.1::8080", "-e", f"IPYBOX_TOKEN={TOKEN}", IMAGE, "serve"]
        self.id = docker("run", "-d", *words, "--max-sessions", "40")
        self.url = f"http://{docker('port', self.id, '8080').splitlines()[0]}/v1/sessions"
        wait = "until ipybox health >/dev/null 2>&1; do sleep 0.1; done"
        docker("exec", self.id, "sh", "-c", wait)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request) as reply:
            return json.loads(reply.read() or b"null")

    def run(self, session: str, code: str) -> str:
        """What the cell prints; "" when it fails, or does not end in time."""
        body = {"code": code, "timeout_ms": 60000 if code == LOAD else TRY_MS}
        answer = self.call("POST", f"/{session}/executions", body)
        return str(answer["stdout"]) if answer["status"] == "ok" else ""

    def end(self, sessions: list[str]) -> None:
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda name: self.call("DELETE", f"/{name}"), sessions))


def docker(*words: str) -> str:
    run = subprocess.run(["docker", *words], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip()


def change(old: str, new: str) -> str:
    return f"source = source.replace({old!r}, {new!r}); exec(source)"


def attempt(box: Box, session: str, edit: tuple[str, str]) -> int:
    """The tests that pass after this edit."""
    box.run(session, change(*edit))
    return int(box.run(session, "print(suite())") or 0)


def try_all(box: Box, sessions: list[str]) -> list[int]:
    with ThreadPoolExecutor(16) as threads:
        return list(threads.map(attempt, repeat(box), sessions, EDITS))


def with_branches(box: Box, level: int, best: str, path: list[tuple[str, str]]) -> list[str]:
    """Sixteen sessions that have all that the best one has."""
    made = box.call("POST", f"/{best}/fork", {"count": len(EDITS), "name": f"try{level}"})
    return [item["id"] for item in made["sessions"]]


def with_replays(box: Box, level: int, best: str, path: list[tuple[str, str]]) -> list[str]:
    """Sixteen new sessions, in which all is done again."""

    def replay(number: int) -> str:
        name = f"again{level}-{number}"
        box.call("POST", "", {"id": name})
        box.run(name, LOAD)
        for edit in path:
            box.run(name, change(*edit))
        return name

    with ThreadPoolExecutor(16) as threads:
        return list(threads.map(replay, range(len(EDITS))))


def search(box: Box, make: Any) -> tuple[int, float]:
    """How many attempts it took, and how many seconds."""
    best, passed, attempts = "default", 0, 0
    path: list[tuple[str, str]] = []
    box.run(best, LOAD)
    passed = int(box.run(best, "print(suite())"))
    began = time.monotonic()
    for level in range(1, LEVELS + 1):
        sessions = make(box, level, best, path)
        scores = try_all(box, sessions)
        attempts += len(scores)
        highest = max(scores)
        if highest <= passed:
            break
        at = scores.index(highest)
        print(
            f"  {passed:2} -> {highest:2} of {TESTS} tests: {EDITS[at][0]}  becomes  {EDITS[at][1]}"
        )
        past, best, passed = best, sessions[at], highest
        path.append(EDITS[at])
        box.end([name for name in [past, *sessions] if name not in ("default", best)])
        if passed == TESTS:
            seconds = time.monotonic() - began
            box.end([best])
            return attempts, seconds
    raise SystemExit(f"{passed} of {TESTS} tests pass, and no edit makes it more.")


def main() -> None:
    box = Box()
    try:
        times = {}
        for title, make in (("branches", with_branches), ("new sessions", with_replays)):
            print(f"with {title}:")
            attempts, times[title] = search(box, make)
            box.call("POST", "/default/reset")
        print(f"\n| attempts in | {attempts} attempts take | each |\n|---|---|---|")
        for title, seconds in times.items():
            print(f"| {title} | {seconds:.2f} s | {seconds / attempts * 1000:.0f} ms |")
        ratio = times["new sessions"] / times["branches"]
        print(f"\nAll {TESTS} tests pass. Branches are {ratio:.1f} times faster.")
    finally:
        docker("rm", "-f", box.id)


if __name__ == "__main__":
    main()
