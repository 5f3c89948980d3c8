"""Take the right to execute programs from this process and all that it will ever fork.

A seccomp filter answers EPERM to execve(2) and execveat(2), also when they are made in the ways of
another architecture (int 0x80, x32). It cannot be taken off; it is inherited by threads and forks,
so it must be set before there are threads. Sources: seccomp(2), <linux/filter.h>.
"""

from __future__ import annotations

import ctypes
import os
import struct

from ipybox_kernel.forking import prctl

PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ALLOW = 0x7FFF0000
SECCOMP_RET_ERRNO = 0x00050000
EPERM = 1
NR_LANDLOCK_CREATE = 444
NR_LANDLOCK_RESTRICT = 446
LANDLOCK_SCOPE_ABSTRACT_UNIX = 1

NR_OFFSET = 0  # of struct seccomp_data
ARCH_OFFSET = 4
LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
JUMP_GREATER_EQUAL = 0x35  # BPF_JMP | BPF_JGE | BPF_K
RETURN = 0x06  # BPF_RET | BPF_K

X32_BIT = 0x40000000
NO_NUMBER = 0xFFFFFFFF

# machine: AUDIT_ARCH_*, execve, execveat, the first number that is of another interface
MACHINES = {
    "x86_64": (0xC000003E, 59, 322, X32_BIT),
    "aarch64": (0xC00000B7, 221, 281, NO_NUMBER),
}


def program(machine: str) -> bytes:
    """The filter for this machine. Raises OSError for one that is not known here."""
    if machine not in MACHINES:
        raise OSError(f"no filter for programs is known for {machine}")
    arch, execve, execveat, foreign = MACHINES[machine]
    steps = (
        (LOAD_WORD, 0, 0, ARCH_OFFSET),
        (JUMP_EQUAL, 0, 5, arch),
        (LOAD_WORD, 0, 0, NR_OFFSET),
        (JUMP_GREATER_EQUAL, 3, 0, foreign),
        (JUMP_EQUAL, 2, 0, execve),
        (JUMP_EQUAL, 1, 0, execveat),
        (RETURN, 0, 0, SECCOMP_RET_ALLOW),
        (RETURN, 0, 0, SECCOMP_RET_ERRNO | EPERM),
    )
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def leave_runner() -> None:
    """Enter a Landlock domain below the present one. Who has stayed in that, the process that runs
    commands and the commands, cannot be traced from here. Raises OSError when that fails; does
    nothing where the system has no such thing."""
    libc = ctypes.CDLL(None, use_errno=True)
    wants = (ctypes.c_uint64 * 3)(0, 0, LANDLOCK_SCOPE_ABSTRACT_UNIX)
    create, restrict = ctypes.c_long(NR_LANDLOCK_CREATE), ctypes.c_long(NR_LANDLOCK_RESTRICT)
    ruleset = libc.syscall(create, ctypes.byref(wants), ctypes.sizeof(wants), 0)
    if ruleset < 0:
        return  # none, or one before ABI 6
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    failed = libc.syscall(restrict, ruleset, 0) != 0
    number = ctypes.get_errno()
    os.close(ruleset)
    if failed:
        raise OSError(number, "a domain of its own could not be entered")


def forbid_programs() -> None:
    """Set the filter for good. Raises OSError when that is not possible."""
    steps = program(os.uname().machine)
    filled = _Program(len(steps) // 8, steps)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filled), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "a filter for programs could not be set")
