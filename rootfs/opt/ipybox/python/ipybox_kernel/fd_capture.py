"""What is written to the file descriptors 1 and 2, by C code, os.write() or child processes.

Owns:    the pipes that stand in for the descriptors, and one thread that reads them.
Promise: after drain() everything that was written before the call has been handed on.
Limits:  a pipe holds PIPE_BYTES; a writer waits while it is full. Never blocks the caller longer
         than the receiver of the text does.
"""

from __future__ import annotations

import codecs
import ctypes
import fcntl
import os
import select
import struct
import termios
import threading
from collections.abc import Callable

PIPE_BYTES = 1 << 20
READ_BYTES = 1 << 16
_IOLBF = 1

Receiver = Callable[[str], None]


class _Pipe:
    """One captured descriptor. Call it with FdCapture's lock held."""

    def __init__(self, fd: int, receiver: Receiver) -> None:
        self.fd = fd
        self.saved = os.dup(fd)
        self.receiver = receiver
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.reader, writer = os.pipe()
        os.set_blocking(self.reader, False)
        try:
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            pass  # over this user's share: the default of 64 KiB will do
        os.dup2(writer, fd)
        os.close(writer)

    def waiting(self) -> int:
        """Bytes that can be read now."""
        answer = fcntl.ioctl(self.reader, termios.FIONREAD, b"\0\0\0\0")
        return int(struct.unpack("i", answer)[0])

    def read(self) -> int:
        """Hand on at most READ_BYTES. Returns their number, 0 at the end, -1 if there are none."""
        try:
            data = os.read(self.reader, READ_BYTES)
        except BlockingIOError:
            return -1
        text = self.decoder.decode(data, final=not data)
        if text:
            self.receiver(text)
        return len(data)


class FdCapture:
    """Any thread may call any method. In a forked child none does anything of use."""

    def __init__(self) -> None:
        # Reentrant, because a signal handler that prints may interrupt its own thread in here.
        self._lock = threading.RLock()
        self._pipes: dict[int, _Pipe] = {}
        self._now = select.poll()
        self._later = select.poll()
        self._flush_stdio: Callable[[], object] = lambda: None
        self._thread: threading.Thread | None = None

    def take(self, fd: int, receiver: Receiver) -> int:
        """Replace `fd` and call `receiver` with each piece of text. Returns the original, as a new
        descriptor that stays open and is not inherited by other programs."""
        with self._lock:
            pipe = _Pipe(fd, receiver)
            self._pipes[pipe.reader] = pipe
            self._now.register(pipe.reader, select.POLLIN)
            self._later.register(pipe.reader, select.POLLIN)
            if fd == 1:
                self._flush_stdio = _line_buffered_stdio()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="fd capture", daemon=True)
                self._thread.start()
        return pipe.saved

    def catch_up(self) -> None:
        """Hand on what the pipes hold, in the calling thread."""
        with self._lock:
            try:
                ready = self._now.poll(0)
            except RuntimeError:  # "concurrent poll() invocation"
                return  # a signal handler prints: the call that it interrupted will do this
            for reader, _ in ready:
                pipe = self._pipes[reader]
                rest = pipe.waiting()
                while rest > 0 and (count := pipe.read()) > 0:
                    rest -= count

    def drain(self) -> None:
        """Do the same with what C's stdout has buffered."""
        self._flush_stdio()
        self.catch_up()

    def release(self, fd: int) -> None:
        """Put the original `fd` back. The rest of its text is still handed on."""
        with self._lock:
            for pipe in self._pipes.values():
                if pipe.fd == fd:
                    os.dup2(pipe.saved, fd)

    def _watch(self) -> None:
        while self._pipes:
            for reader, _ in self._later.poll():
                with self._lock:
                    if self._pipes[reader].read() == 0:
                        self._forget(reader)

    def _forget(self, reader: int) -> None:
        self._now.unregister(reader)
        self._later.unregister(reader)
        os.close(reader)
        del self._pipes[reader]


def _line_buffered_stdio() -> Callable[[], object]:
    """Make C's stdout hand on whole lines, and return what hands on the rest."""
    libc = ctypes.CDLL(None)
    try:
        stdout = ctypes.c_void_p.in_dll(libc, "stdout")
    except ValueError:  # not a libc that has such a variable
        return lambda: libc.fflush(None)
    libc.setvbuf(stdout, None, _IOLBF, ctypes.c_size_t(0))
    return lambda: libc.fflush(stdout)
