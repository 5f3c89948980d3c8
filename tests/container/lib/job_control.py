#!/usr/bin/env python3
"""Job control on a real terminal, for `ipybox sandbox`; run in the container.

job_control.py CASE [PROGRAM] prints what went wrong and ends with status 1, or says "ok".
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path

WAIT = float(os.environ["WAIT"])  # seconds for whatever is waited for, as in drive.py
CTRL_C, CTRL_Z = "\x03", "\x1a"


class Terminal:
    """A program with a terminal of its own, and whoever types there."""

    def __init__(self, *words: str) -> None:
        """Start the program."""
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1="", PS2="", TERM="dumb", HISTFILE="")
            os.execvp(words[0], words)

    def type(self, text: str) -> None:
        """Press the keys."""
        os.write(self.fd, text.encode())

    def line(self, text: str) -> None:
        """Type a line."""
        self.type(text + "\n")

    def read(self, seconds: float) -> bool:
        """Take what is written; False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)

    def expect(self, pattern: str) -> str:
        """Wait for what the pattern says, and forget everything up to its end."""
        deadline = time.monotonic() + WAIT
        while not (found := re.search(pattern, self.seen)):
            if time.monotonic() > deadline or not self.read(0.1):
                raise SystemExit(f"no {pattern!r} in {self.seen!r}")
        self.seen = self.seen[found.end() :]
        return found[0]

    def ask(self, command: str, pattern: str) -> str:
        """Run a command whose output is between marks, so that its echo is not taken for it."""
        self.line(f"last=$?; echo '<''<'; {command}; echo '>''>'")
        return self.expect(rf"(?s)<<(?:(?!>>).)*{pattern}(?:(?!<<).)*>>")

    def foreground(self) -> int:
        """Which process group has the terminal."""
        return os.tcgetpgrp(self.fd)

    def until_foreground(self, wanted: bool, group: int) -> None:
        """Wait until this group has the terminal, or another one."""
        deadline = time.monotonic() + WAIT
        while (self.foreground() == group) != wanted:
            if time.monotonic() > deadline:
                raise SystemExit(f"the terminal belongs to {self.foreground()}; seen {self.seen!r}")
            time.sleep(0.01)

    def until_runs(self, name: str, group: int) -> None:
        """Wait until a program of this name has the terminal, and the shell's group not any more.

        Before it is executed, its process still ignores the keys' signals as the shell does.
        """
        self.until_foreground(False, group)
        deadline = time.monotonic() + WAIT
        while Path(f"/proc/{self.foreground()}/comm").read_text() != name + "\n":
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} does not run; seen {self.seen!r}")
            time.sleep(0.01)

    def until_there(self, name: str) -> None:
        """Wait until a program of this name is executed.

        A shell may be in vfork() until then, where it cannot be stopped.
        """
        deadline = time.monotonic() + WAIT
        while name not in programs():
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} is not there; seen {self.seen!r}")
            time.sleep(0.01)

    def ended(self) -> int:
        """Wait for the end of the program; its status."""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline and self.read(0.1):
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def programs() -> set[str]:
    """The names of what runs in the container."""
    names = set()
    for file in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it has ended
            names.add(file.read_text().rstrip())
    return names


def shell(*words: str) -> Terminal:
    """A shell that is ready."""
    terminal = Terminal(*words)
    terminal.ask("echo ready", "ready")
    return terminal


def inside(program: str) -> None:
    """The jobs of a shell in the sandbox."""
    t = shell(program, "sandbox", "--", "bash", "--norc", "-i")
    own = t.foreground()
    t.line("sleep 600")
    t.until_runs("sleep", own)
    t.type(CTRL_Z)
    t.expect(r"Stopped\s+sleep 600")
    t.until_foreground(True, own)
    t.ask("jobs", r"\[1\]\+\s+Stopped\s+sleep 600")
    t.ask("bg", r"\[1\]\+ sleep 600 &")
    t.ask("jobs", r"\[1\]\+\s+Running\s+sleep 600")
    t.line("fg")
    t.until_foreground(False, own)
    t.type(CTRL_C)
    t.until_foreground(True, own)
    t.ask("echo status $last", "status 130")
    t.line("cat | cat")
    t.until_foreground(False, own)
    t.line("through the pipe")
    t.expect(r"through the pipe\s+through the pipe")
    t.type("\x04")
    t.until_foreground(True, own)
    t.ask("sleep 600 & kill %1; wait %1; echo status $?", "status 143")
    t.type(CTRL_C)  # at the prompt it ends nothing
    t.ask("echo still here", "still here")
    t.line("exit 7")
    if (status := t.ended()) != 7:
        raise SystemExit(f"its status is {status}")


def outside(program: str) -> None:
    """A command in the sandbox as a job of a shell outside."""
    t = shell("bash", "--norc", "-i")
    own = t.foreground()
    t.line(f"{program} sandbox -- sh -c 'echo u''p; exec sleep 600'")
    t.expect("up")
    t.type(CTRL_Z)
    t.expect(r"Stopped\s+\S+ sandbox")
    t.until_foreground(True, own)
    t.ask("ps -o stat=,comm= -e 2>&- | grep sleep || echo T sleep", r"T\S*\s+sleep")
    t.line("fg")
    t.until_foreground(False, own)
    t.type(CTRL_C)
    t.until_foreground(True, own)
    t.ask("echo status $last", "status 130")
    t.line(f"{program} sandbox -- sh -c 'echo u''p; sleep 600; echo after' &")
    t.expect("up")
    t.until_there("sleep")
    t.ask("jobs", r"Running\s+\S+ sandbox")
    t.line("fg")
    t.until_foreground(False, own)
    t.type(CTRL_Z)
    t.expect(r"Stopped\s+\S+ sandbox")
    t.ask("bg; jobs", r"Running\s+\S+ sandbox")
    t.ask("kill %1; wait %1; echo status $?", "status 143")
    t.line("exit")
    t.ended()


def both(program: str) -> None:
    """A shell in the sandbox that is stopped as a whole, and one that is killed."""
    t = shell("bash", "--norc", "-i")
    own = t.foreground()
    t.line(f"{program} sandbox -- bash --norc -i")
    t.until_foreground(False, own)
    t.ask("echo inner $SANDBOX_RUNTIME", "inner 1")
    t.line("suspend")
    t.expect(r"Stopped\s+\S+ sandbox")
    t.until_foreground(True, own)
    t.ask("echo outer $SANDBOX_RUNTIME.", r"outer \.")
    t.line("fg")
    t.until_foreground(False, own)
    t.ask("echo inner $SANDBOX_RUNTIME", "inner 1")
    inner = t.foreground()
    t.line("sleep 600")
    t.until_runs("sleep", inner)
    t.type(CTRL_Z)
    t.expect(r"Stopped\s+sleep 600")
    t.until_foreground(True, inner)
    t.line("fg")
    t.until_foreground(False, inner)
    t.type(CTRL_C)
    t.until_foreground(True, inner)
    t.ask("echo inner $last", "inner 130")
    t.line("kill -9 $$")
    t.until_foreground(True, own)
    t.ask("echo outer $last", "outer 137")
    t.line("sleep 600")
    t.until_runs("sleep", own)
    t.type(CTRL_C)
    t.ask("echo outer $last", "outer 130")
    t.line("exit")
    t.ended()


CASES = {case.__name__: case for case in (inside, outside, both)}


def main() -> int:
    """Run one case."""
    signal.alarm(120)
    CASES[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else "ipybox")
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
