"""What a broker offers is done to the process, whole, or it does not go on."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import socket
import struct
from collections.abc import Callable

import pytest
from box import WAIT
from ipybox_kernel import confine
from ipybox_kernel.exec_filter import LOAD_WORD, RETURN, SECCOMP_RET_ALLOW, program

ALL_ALLOWED = struct.pack("=HBBI", RETURN, 0, 0, SECCOMP_RET_ALLOW)
NR_LANDLOCK_CREATE = 444
READ_FILE = 1 << 2
Limits = dict[int, int]


def offer(steps: int, ruleset: bool = False, listener: bool = False, **more: Limits) -> bytes:
    """The bytes of a struct confine_offer."""
    limits = more.get("limits", {})
    head = confine.HEAD.pack(confine.VERSION, ruleset, listener, steps, len(limits))
    rows = b"".join(confine.LIMIT.pack(number, 0, most) for number, most in limits.items())
    return head.ljust(confine.LIMITS_AT, b"\0") + rows.ljust(8 * confine.LIMIT.size, b"\0")


def in_memory(data: bytes) -> int:
    fd = os.memfd_create("filter")
    os.write(fd, data)
    return fd


class Confined:
    """A process that lets itself be confined and then tells what `act` returns."""

    def __init__(self, act: Callable[[], str]) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(WAIT)
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self.socket.close()
            try:
                confine.confine(theirs.detach())
                said = act()
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(writer, said.encode())
            os._exit(0)
        theirs.close()
        os.close(writer)
        self.reader = reader

    def answer(self, data: bytes, fds: list[int]) -> tuple[int, int, list[int]]:
        """Make an offer; returns the error, its step, and a listener."""
        socket.send_fds(self.socket, [data], fds)
        got, listener, _, _ = socket.recv_fds(self.socket, 64, 2)
        number, step = confine.ANSWER.unpack(got)
        return number, step, list(listener)

    def says(self) -> str:
        """What it tells in the end."""
        readable, _, _ = select.select([self.reader], [], [], WAIT)
        said = os.read(self.reader, 4096).decode() if readable else "nothing"
        os.waitpid(self.pid, 0)
        return said

    def go_on(self) -> str:
        self.socket.send(b"+")
        return self.says()


def execute() -> str:
    try:
        os.execv("/bin/true", ["true"])
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "executed"


def test_the_offer_has_the_size_that_the_broker_gives_it() -> None:
    assert len(offer(1)) == 152
    assert confine.ANSWER.size == 8


def test_a_filter_and_limits_hold_from_then_on() -> None:
    def act() -> str:
        return f"{execute()} {resource.getrlimit(resource.RLIMIT_NOFILE)}"

    steps = program(os.uname().machine)
    child = Confined(act)
    bytes_ = offer(len(steps) // 8, limits={resource.RLIMIT_NOFILE: 50})
    assert child.answer(bytes_, [in_memory(steps)]) == (0, 0, [])
    assert child.go_on() == "EPERM (50, 50)"


def test_a_ruleset_holds_from_then_on() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handled = ctypes.c_uint64(READ_FILE)
    ruleset = libc.syscall(ctypes.c_long(NR_LANDLOCK_CREATE), ctypes.byref(handled), 8, 0)
    if ruleset < 0:
        pytest.fail("this kernel has no Landlock")

    def act() -> str:
        try:
            os.open("/etc/passwd", os.O_RDONLY)
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        return "read"

    child = Confined(act)
    fds = [ruleset, in_memory(ALL_ALLOWED)]
    assert child.answer(offer(1, ruleset=True), fds) == (0, 0, [])
    assert child.go_on() == "EACCES"
    child = Confined(act)
    assert child.answer(offer(1), fds[1:]) == (0, 0, [])
    assert child.go_on() == "read"


def test_a_listener_is_handed_over() -> None:
    child = Confined(lambda: "went on")
    number, _, listener = child.answer(offer(1, listener=True), [in_memory(ALL_ALLOWED)])
    assert number == 0 and len(listener) == 1
    assert os.readlink(f"/proc/self/fd/{listener[0]}") == "anon_inode:seccomp notify"
    assert child.go_on() == "went on"


def test_nothing_goes_on_without_the_word_to() -> None:
    child = Confined(lambda: "went on")
    assert child.answer(offer(1), [in_memory(ALL_ALLOWED)])[0] == 0
    child.socket.close()
    assert child.says() == "ConfineError: the broker has gone"
    child = Confined(lambda: "went on")
    child.socket.close()
    assert child.says().startswith("ConfineError: ")


@pytest.mark.parametrize(
    "data",
    [b"", b"short", offer(1)[:-1], offer(2), offer(1, ruleset=True), b"\2" + offer(1)[1:]],
    ids=["empty", "short", "cut", "filter too short", "no ruleset", "version"],
)
def test_an_offer_that_makes_no_sense_is_refused(data: bytes) -> None:
    child = Confined(lambda: "went on")
    if data:
        assert child.answer(data, [in_memory(ALL_ALLOWED)])[:2] == (errno.EPROTO, confine.OFFER)
    else:
        child.socket.close()
    assert child.says().startswith("ConfineError: ")


def test_a_filter_that_the_kernel_does_not_take_is_told_by_its_step() -> None:
    child = Confined(lambda: "went on")
    bad = struct.pack("=HBBI", LOAD_WORD, 0, 0, 0)  # a program must end with a return
    number, step, _ = child.answer(offer(1), [in_memory(bad)])
    assert (number, step) == (errno.EINVAL, confine.SECCOMP)
    assert child.says().startswith("ConfineError: step 6: ")
