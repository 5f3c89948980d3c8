"""Fork a kernel that lives: the branch and its root, with one copy of the page tables.

The work is that of a library (src/sandbox/preload/forks.c, which says why), which the template
loads before there are walls.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from ipybox_kernel.forking import LIBC

_LIBRARY: list[ctypes.PyDLL] = []  # the template's, once it is loaded


class _Order(ctypes.Structure):
    """struct fork_order"""

    _fields_ = (
        ("fork", ctypes.c_void_p),
        ("before", ctypes.c_void_p),
        ("after_parent", ctypes.c_void_p),
        ("after_child", ctypes.c_void_p),
        ("program", ctypes.c_char_p),
        ("rseq", ctypes.c_void_p),
        ("null", ctypes.c_int),
        ("line", ctypes.c_int),
        ("root", ctypes.c_int),
        ("failed", ctypes.c_int),
    )


def load(path: str) -> None:
    """Load the library, in the template. Where it cannot be read, no kernel can be forked."""
    with suppress(OSError):
        _LIBRARY.append(ctypes.PyDLL(path))


def loaded() -> bool:
    """Whether kernels can be forked."""
    return bool(_LIBRARY)


def fork_branch(program: str, line: int) -> int:
    """Fork. Returns 0 in this process, and in the branch the id of its root, which executes
    ``program branch`` with `line` as descriptor 3. What is registered with os.register_at_fork()
    and pthread_atfork() is run. Raises OSError, with nothing made."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        order = _Order(
            fork=_address(LIBC.fork),
            before=_address(ctypes.pythonapi.PyOS_BeforeFork),
            after_parent=_address(ctypes.pythonapi.PyOS_AfterFork_Parent),
            after_child=_address(ctypes.pythonapi.PyOS_AfterFork_Child),
            program=os.fsencode(program),
            rseq=_rseq_area(),
            null=null,
            line=line,
        )
        is_branch = _LIBRARY[0].fork_branch(ctypes.byref(order))
    finally:
        os.close(null)
    if is_branch:
        return int(order.root)
    if order.failed:
        raise OSError(order.failed, os.strerror(order.failed))
    return 0


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _rseq_area() -> int | None:
    """Where glibc has registered this thread's restartable sequences; a process that shares its
    memory has none, and so its child has to register them again."""
    try:
        size = ctypes.c_uint.in_dll(LIBC, "__rseq_size").value
        offset = ctypes.c_ssize_t.in_dll(LIBC, "__rseq_offset").value
    except ValueError:  # another C library
        return None
    LIBC.pthread_self.restype = ctypes.c_void_p  # of glibc: the thread pointer
    return LIBC.pthread_self() + offset if size else None
