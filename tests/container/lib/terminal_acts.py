"""What code in a cell does with terminals: run by IPython, in a cell, with OUTSIDE set before to
the paths of terminals at which somebody else sits. Prints one line for each act and its outcome:
"ok", or the name of an errno or exception. terminals.py says what has to come out.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module

TIOCGPTN, TIOCSPTLCK, TIOCGPTPEER = 0x80045430, 0x40045431, 0x5441
WAIT = 0.0  # terminals.py puts its own here
WAYS = {
    "read and write": os.O_RDWR | os.O_NOCTTY,
    "as the controlling one": os.O_RDWR,
    "read": os.O_RDONLY,
    "read without waiting": os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY,
    "write": os.O_WRONLY,
    "write as a shell does": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
}


def tell(act: str, run: Callable[[], object]) -> None:
    try:
        run()
        outcome = "ok"
    except OSError as error:
        outcome = errno.errorcode.get(error.errno or 0, "?")
    except Exception as error:  # whatever it is, it is the outcome
        outcome = f"{type(error).__name__} {error}".replace("\n", " ")[:300]
    print(f"{act}: {outcome}", flush=True)


def touch(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    with suppress(OSError):
        os.write(descriptor, b"forged\n")
    os.close(descriptor)


def by_handle(path: str, flags: int) -> None:
    handle = os.open(path, os.O_PATH)
    try:
        touch(f"/proc/self/fd/{handle}", flags)
    finally:
        os.close(handle)


def by_link(path: str) -> None:
    os.symlink(path, "link")
    try:
        touch("link", os.O_RDWR)
    finally:
        os.unlink("link")


def by_program(path: str) -> None:
    done = subprocess.run(["dd", f"of={path}", "conv=notrunc"], input=b"forged\n", check=False)
    if done.returncode:
        raise OSError(errno.EACCES, "")


def own_pair() -> None:
    one, other = os.openpty()
    os.write(other, b"x")
    assert os.read(one, 1) == b"x"
    os.close(other)
    os.close(one)


def own_by_path() -> None:
    one = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(one, TIOCSPTLCK, struct.pack("i", 0))
    number = struct.unpack("i", fcntl.ioctl(one, TIOCGPTN, struct.pack("i", 0)))[0]
    other = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
    os.write(other, b"x")
    assert os.read(one, 1) == b"x"
    peer = fcntl.ioctl(one, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
    for descriptor in (peer, other, one):
        os.close(descriptor)


def shows(words: list[str], *wanted: str) -> None:
    nothing = subprocess.DEVNULL
    done = subprocess.run(words, stdin=nothing, capture_output=True, text=True, check=False)
    for text in wanted:
        assert text in done.stdout, f"no {text!r} in {done.stdout!r} {done.stderr!r}"


def spawned() -> None:
    shell = (
        "sleep 60 & jobs; kill $!; echo one > /dev/stderr; echo two > /dev/tty; echo three > $(tty)"
    )
    program = f"import pty; pty.spawn(['bash', '--norc', '-ic', {shell!r}])"
    shows([sys.executable, "-c", program], "Running", "one", "two", "three")


def recorded() -> None:
    shell = "tty; echo one > /dev/stderr"
    shows(["script", "-qec", shell, "/dev/null"], "/dev/pts/", "one")


def job_control() -> None:
    pexpect = import_module("pexpect")
    environment = {**os.environ, "PS1": "", "HISTFILE": ""}
    shell = pexpect.spawn("bash --norc -i", env=environment, timeout=WAIT)

    def until_in_front(*, wanted: bool) -> None:
        deadline = time.monotonic() + WAIT
        while (os.tcgetpgrp(shell.fileno()) == shell.pid) == wanted:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    shell.sendline("echo $((40 + 2))")
    shell.expect("42")
    shell.sendline("sleep 600")
    until_in_front(wanted=True)
    shell.sendcontrol("z")
    shell.expect("Stopped")
    shell.sendline("fg")
    until_in_front(wanted=True)
    shell.sendintr()
    until_in_front(wanted=False)
    shell.sendline("echo status $?")
    shell.expect("status 130")
    with suppress(pexpect.ExceptionPexpect):  # it waits for the end for a tenth of a second
        shell.close(force=True)


def shell_escape() -> None:
    shown = io.StringIO()
    with redirect_stdout(shown):
        get_ipython().system("tty <&1; echo one >&2; echo two | tee /dev/stderr > /dev/null")  # type: ignore[name-defined]  # noqa: F821
    for text in ("/dev/pts/", "one", "two"):
        assert text in shown.getvalue(), f"no {text!r} in {shown.getvalue()!r}"


def main(outside: list[str]) -> None:
    for path in outside:
        for name, flags in WAYS.items():
            tell(f"outside {path} {name}", lambda: touch(path, flags))  # noqa: B023  # at once
            tell(f"outside {path} {name}, by a handle", lambda: by_handle(path, flags))  # noqa: B023
        tell(f"outside {path} by a link", lambda: by_link(path))  # noqa: B023
        tell(f"outside {path} by a program", lambda: by_program(path))  # noqa: B023
    for act in (own_pair, own_by_path, spawned, recorded, job_control, shell_escape):
        tell(f"own {act.__name__}", act)


main(OUTSIDE)  # type: ignore[name-defined]  # noqa: F821
