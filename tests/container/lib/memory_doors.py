"""Ways to memory that no process shows, and ways to allocate fast. For cells, by exec().

Each way takes `mib` MiB in steps of some MiB, so that nothing of it need be seen on the way, and
leaves them in `kept`.
"""

import ctypes
import mmap
import os
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

MIB = 1 << 20
STEP = 5
kept: list[Any] = []


def fill(fd: int, mib: int) -> int:
    for _ in range(mib):
        os.write(fd, bytes(MIB))
    return fd


def full_pair() -> tuple[socket.socket, socket.socket, float]:
    a, b = socket.socketpair()
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MIB)
    a.setblocking(False)
    sent = 0
    try:
        while True:
            sent += a.send(bytes(64 << 10))
    except BlockingIOError:
        return a, b, sent / MIB


def unix_sockets(mib: float) -> None:
    while mib > 0:
        a, b, sent = full_pair()
        kept.append((a, b))
        mib -= sent


def senders_that_are_closed(mib: float) -> None:
    while mib > 0:
        a, b, sent = full_pair()
        a.close()
        kept.append(b)
        mib -= sent


def sockets_in_flight(mib: float) -> None:
    carrier = socket.socketpair()
    while mib > 0:
        a, b, sent = full_pair()
        socket.send_fds(carrier[0], [b"x"], [a.fileno(), b.fileno()])
        mib -= sent
    kept.append(carrier)


def tcp_sockets(mib: float) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    while mib > 0:
        a = socket.create_connection(server.getsockname())
        a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MIB)
        b = server.accept()[0]
        a.setblocking(False)
        kept.append((a, b))
        for _ in range(20):
            try:
                while True:
                    mib -= a.send(bytes(MIB)) / MIB
            except BlockingIOError:
                time.sleep(0.001)


def page_tables(mib: int) -> None:
    """A page of zeros costs nothing, the table that leads to it 4 KiB for each 2 MiB."""
    for _ in range(mib // 64):
        at = mmap.mmap(-1, 32 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)
        for i in range(0, 32 << 30, 2 * MIB):
            at[i]
        kept.append(at)


def closed_files(mib: int, place: str = "/dev/shm") -> None:
    for i in range(mib // STEP):
        os.close(fill(os.open(f"{place}/door-{i}", os.O_RDWR | os.O_CREAT), STEP))


def closed_files_in_tmp(mib: int) -> None:
    closed_files(mib, "/tmp")


def memfds_in_flight(mib: int) -> None:
    carrier = socket.socketpair()
    for _ in range(mib // STEP):
        fd = fill(os.memfd_create("x"), STEP)
        socket.send_fds(carrier[0], [b"x"], [fd])
        os.close(fd)
    kept.append(carrier)


def memfds_of_one_page(mib: int) -> None:
    for _ in range(mib // STEP):
        fd = fill(os.memfd_create("x"), STEP)
        kept.append(mmap.mmap(fd, 4096))
        os.close(fd)


def shared_and_forgotten(mib: int) -> None:
    for _ in range(mib // STEP):
        at = mmap.mmap(-1, STEP * MIB)
        for i in range(0, STEP * MIB, 4096):
            at[i] = 1
        at.madvise(mmap.MADV_DONTNEED)
        kept.append(at)


# --- fast -----------------------------------------------------------------------------------------

CHUNK = 4


def slots() -> mmap.mmap:
    """Where each process says how many MiB it has: survives it."""
    with open("/tmp/slots", "r+b") as file:
        return mmap.mmap(file.fileno(), 4096)


def grow(mib: int, slot: int, make: Callable[[int], Any]) -> None:
    told = slots()
    for done in range(0, mib, CHUNK):
        kept.append(make(CHUNK * MIB))
        told[slot * 4 : slot * 4 + 4] = struct.pack("i", done + CHUNK)


def populated(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)


def set_to_one(size: int) -> Any:
    at = ctypes.create_string_buffer(size)
    ctypes.memset(at, 1, size)
    return at


def in_memfds(size: int) -> int:
    return fill(os.memfd_create("x"), size // MIB)


WAYS: list[Callable[[int], Any]] = [bytearray, populated, set_to_one, in_memfds]


def alone(way: Callable[[int], Any], mib: int) -> None:
    grow(mib, 0, way)


def together(way: Callable[[int], Any], mib: int, processes: int = 10) -> None:
    """Forked children, each of which takes its part."""
    for slot in range(processes):
        if os.fork() == 0:
            grow(mib // processes, slot, way)
            time.sleep(60)
            os._exit(0)
