#!/usr/bin/env python3
"""Somebody sits at a terminal in a container while code in its kernel looks for terminals.

terminals.py CONTAINER USER: the container's server has a terminal too (docker run -t). USER is who
sits at the other one. Prints what went wrong and ends with status 1, or says "ok".
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

from drive import WAIT

CONTAINER, USER = sys.argv[1:3]
ACTS = (Path(__file__).parent / "terminal_acts.py").read_text()
DENIED_ACTS, OWN_ACTS = 14, 6  # for each path; in all
# Each line that is typed comes back in brackets: who read it is to be seen.
READER = 'stty -echo; tty; while read -r line; do echo "<$line>"; done'


class Person:
    """Sits at a terminal of docker exec -it."""

    def __init__(self) -> None:
        """Sit down."""
        self.seen = ""
        words = ["docker", "exec", "-it", "--user", USER, CONTAINER, "sh", "-c", READER]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(words[0], words)
        self.path = self.expect(r"/dev/pts/\d+")

    def expect(self, pattern: str) -> str:
        """Wait until that is to be read."""
        deadline = time.monotonic() + WAIT
        while not (found := re.search(pattern, self.seen)):
            if time.monotonic() > deadline:
                raise SystemExit(f"no {pattern!r} in {self.seen!r}")
            if select.select([self.fd], [], [], 0.1)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        return found[0]

    def says(self, text: str) -> None:
        """Type a line, which the program in the foreground reads."""
        os.write(self.fd, f"{text}\n".encode())
        self.expect(f"<{text}>")

    def leaves(self) -> None:
        """Close the terminal."""
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def run(*words: str, typed: str = "") -> str:
    """What docker exec prints. The errors of programs are only shown: they come in between."""
    done = subprocess.run(
        ["docker", "exec", *words],
        input=typed,
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )
    print(done.stderr)
    return done.stdout


def cell(paths: list[str]) -> dict[str, str]:
    """The acts and their outcomes."""
    code = ACTS.replace("(OUTSIDE)", f"({paths!r})").replace("WAIT = 0.0", f"WAIT = {WAIT}")
    text = run("-i", CONTAINER, "ipybox", "exec", "-", typed=code)
    print(text)
    acts = [line for line in text.splitlines() if line.startswith(("own ", "outside "))]
    return dict(line.split(": ", 1) for line in acts)


def is_right(act: str, outcome: str) -> bool:
    """Whether that has to come out."""
    return outcome == "ok" if act.startswith("own ") else outcome in ("EPERM", "EACCES")


def main() -> int:
    """Look at all of it."""
    person = Person()
    person.says("before")
    paths = [person.path, "/dev/pts/0", "/dev/console"]
    outcomes = cell(paths)
    wrong = [f"{act}: {how}" for act, how in outcomes.items() if not is_right(act, how)]
    if len(outcomes) != DENIED_ACTS * len(paths) + OWN_ACTS:
        wrong.append(f"{len(outcomes)} outcomes")
    person.says("after")
    if "forged" in person.seen:
        wrong.append("somebody has written there")
    # The same without walls: nothing is in the way of who has that uid.
    run("--user", USER, CONTAINER, "sh", "-c", f"echo forged > {person.path}")
    person.expect("forged")
    person.leaves()
    print("\n".join(wrong) or "ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
