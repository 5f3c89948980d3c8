"""Put this process behind the walls that the broker of its sandbox offers, for good.

The child's half of src/sandbox/confine/confine.h. There must be one thread: Landlock binds the one
that calls and what it forks. From the seccomp filter on, calls that the broker decides wait for it,
so nothing may be opened or imported before the byte that ends this. Sources: seccomp(2),
landlock_restrict_self(2), capset(2), <linux/seccomp.h>.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import socket
import struct
from contextlib import ExitStack

VERSION = 1
OFFER, CAPABILITIES, PRIVILEGES, LIMITS, LANDLOCK, SECCOMP, GO = range(1, 8)  # steps

HEAD = struct.Struct("=5I")
LIMIT = struct.Struct("=IIQ")
LIMITS_AT = 24  # aligned as the 64 bits of a limit are
LIMITS_MAX = 8
ANSWER = struct.Struct("=ii")

PR_SET_NO_NEW_PRIVS = 38
PR_CAPBSET_DROP = 24
CAPABILITY_VERSION_3 = 0x20080522
NR_LANDLOCK_CREATE_RULESET = 444
NR_LANDLOCK_RESTRICT_SELF = 446
SCOPES_ALONE = struct.pack("=QQQ", 0, 0, 3)  # of files, of ports, of abstract sockets and signals
NR_SECCOMP = {"x86_64": 317, "aarch64": 277}
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_NEW_LISTENER = 1 << 3
SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV = 1 << 5
STEP_BYTES = 8  # of a filter
LANDLOCK_QUIET = 1 | 4  # what is refused is not told to the host's audit log
CORE_MOST = 1  # stops a core pattern with a pipe, which 0 does not (core(5))


class ConfineError(Exception):
    """The process is not behind its walls, or only in part: it must end."""


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class _Offer:
    def __init__(self, data: bytes, fds: list[int]) -> None:
        if len(data) != LIMITS_AT + LIMITS_MAX * LIMIT.size:
            raise ValueError("its size")
        version, ruleset, listener, self.steps, limits = HEAD.unpack_from(data)
        if version != VERSION or limits > LIMITS_MAX or len(fds) != bool(ruleset) + 1:
            raise ValueError("its form")
        self.ruleset = fds[0] if ruleset else None
        self.program = fds[-1]
        self.listener = bool(listener)
        places = range(LIMITS_AT, LIMITS_AT + limits * LIMIT.size, LIMIT.size)
        self.limits = [LIMIT.unpack_from(data, at) for at in places]


class _Failed(Exception):
    def __init__(self, step: int, number: int) -> None:
        super().__init__(f"step {step}: {os.strerror(number)}")
        self.answer = ANSWER.pack(number, step)


def confine(fd: int) -> socket.socket:
    """Do what is offered on `fd`, and wait for the word to go on. Returns the socket, which is the
    line to the shim from now on. Raises ConfineError; then nothing else may be run here."""
    broker = socket.socket(fileno=fd)
    with ExitStack() as stack:
        stack.enter_context(broker)
        try:
            data, fds, _, _ = socket.recv_fds(broker, 4096, 2, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise ConfineError(f"no offer from the broker: {error}") from error
        try:
            listener = _obey(data, fds)
        except _Failed as error:
            _send(broker, error.answer, [])
            raise ConfineError(str(error)) from error
        _send(broker, ANSWER.pack(0, 0), listener)
        for number in (*fds, *listener):
            os.close(number)
        if broker.recv(1) == b"":
            raise ConfineError("the broker has gone")
        stack.pop_all()
    return broker


def enter_domain() -> None:
    """Enter a Landlock domain that takes nothing away but signals and abstract sockets to the
    outside, and with them what debuggers do: of a process outside of it nothing can be read or
    written. Raises ConfineError."""
    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = libc.syscall(
        ctypes.c_long(NR_LANDLOCK_CREATE_RULESET), SCOPES_ALONE, len(SCOPES_ALONE), 0
    )
    if ruleset < 0:
        raise ConfineError(f"Landlock: {os.strerror(ctypes.get_errno())}")
    try:
        _restrict(libc, ruleset)
    except _Failed as error:
        raise ConfineError(f"Landlock: {error}") from error
    finally:
        os.close(ruleset)


def _send(broker: socket.socket, data: bytes, fds: list[int]) -> None:
    try:
        if fds:
            socket.send_fds(broker, [data], fds)
        else:
            broker.send(data)
    except OSError as error:
        raise ConfineError(f"the broker has gone: {error}") from error


def _obey(data: bytes, fds: list[int]) -> list[int]:
    """Returns the listener, if one was asked for."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        offer = _Offer(data, fds)
        program = _read_program(offer)
    except (ValueError, OSError) as error:
        raise _Failed(OFFER, errno.EPROTO) from error
    _drop_capabilities(libc)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise _Failed(PRIVILEGES, ctypes.get_errno())
    _set_limits(offer)
    if offer.ruleset is not None:
        _restrict(libc, offer.ruleset)
    return _filter(libc, program, offer.listener)


def _read_program(offer: _Offer) -> bytes:
    size = offer.steps * STEP_BYTES
    program = os.pread(offer.program, size, 0)
    if not program or len(program) != size:
        raise ValueError("the filter's size")
    return program


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    number = 0
    while libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1  # refused at the first one without CAP_SETPCAP; then the next line is enough
    head = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.capset(head, nothing) != 0:
        raise _Failed(CAPABILITIES, ctypes.get_errno())


def _set_limits(offer: _Offer) -> None:
    for number, _, most in [(resource.RLIMIT_CORE, 0, CORE_MOST), *offer.limits]:
        _, hard = resource.getrlimit(number)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(number, (least, least))
        except (OSError, ValueError) as error:
            raise _Failed(LIMITS, getattr(error, "errno", None) or errno.EINVAL) from error


def _restrict(libc: ctypes.CDLL, ruleset: int) -> None:
    for flags in (LANDLOCK_QUIET, 0):  # the flags came with ABI 7
        if libc.syscall(ctypes.c_long(NR_LANDLOCK_RESTRICT_SELF), ruleset, flags) == 0:
            return
        if ctypes.get_errno() != errno.EINVAL:
            break
    raise _Failed(LANDLOCK, ctypes.get_errno())


def _filter(libc: ctypes.CDLL, program: bytes, listener: bool) -> list[int]:
    number = NR_SECCOMP.get(os.uname().machine)
    if number is None:
        raise _Failed(SECCOMP, errno.ENOSYS)
    filled = _Program(len(program) // STEP_BYTES, program)
    new, killable = SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
    for flags in (new | killable, new) if listener else (0,):  # the second came with Linux 5.19
        fd: int = libc.syscall(
            ctypes.c_long(number), SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(filled)
        )
        if fd >= 0:
            return [fd] if listener else []
        if ctypes.get_errno() != errno.EINVAL:
            break
    raise _Failed(SECCOMP, ctypes.get_errno())
