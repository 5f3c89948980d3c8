"""sys.stdout and sys.stderr of a kernel.

Differs from ipykernel's stream in this: text is cut, ordered and held back by the publisher; what
was written to the descriptor comes before what is printed after it; flush() waits only if there
is something to wait for; fileno() is the captured descriptor, so that a child process that is
given sys.stdout writes into the cell; a forked child writes to that descriptor too, line by line.
Text that the kernel captures carries the header of the latest cell.
"""

from __future__ import annotations

import io
import os
import threading
from typing import Any

import ipykernel.iostream

from ipybox_kernel.publisher import CHUNK, SERVICE_THREADS, Publisher


class OutStream(ipykernel.iostream.OutStream):
    """A text stream whose text becomes IOPub messages. `echo` and `pipe` have no effect."""

    pub_thread: Publisher | None
    topic: bytes

    def __init__(
        self,
        session: Any,
        pub_thread: Publisher,
        name: str,
        pipe: object = None,
        echo: object = None,
        *,
        watchfd: bool = True,
        isatty: bool = False,
    ) -> None:
        super().__init__(session, pub_thread, name, watchfd=False, isatty=isatty)
        self._child: _LineWriter | None = None
        os.register_at_fork(after_in_child=self._become_child)
        self._fd: int | None = None
        if watchfd:
            self._fd = {"stdout": 1, "stderr": 2}[name]
            # ipykernel's application sends its log to this descriptor.
            self._original_stdstream_copy = pub_thread.capture.take(self._fd, self._captured)

    def fileno(self) -> int:
        """The captured descriptor; io.UnsupportedOperation if none is captured."""
        if self._fd is None:
            raise io.UnsupportedOperation("fileno")
        return self._fd

    def write(self, string: str) -> int:
        """Put text into the cell's output, at once in order, soon on the wire.

        Waits while the reader is slow. Halves of surrogate pairs come out as their escapes.
        Raises TypeError for anything but str, ValueError after close().
        """
        if not isinstance(string, str):
            raise TypeError(f"write() argument must be str, not {type(string)}")
        if self._child is not None:
            self._child.write(string)
            return len(string)
        publisher = self.pub_thread
        if publisher is None:
            raise ValueError("I/O operation on closed file")
        publisher.capture.catch_up()
        parent = self.parent_header
        if len(string) <= CHUNK:
            publisher.put_text(self, string, parent)
        else:
            for start in range(0, len(string), CHUNK):
                publisher.put_text(self, string[start : start + CHUNK], parent)
        return len(string)

    def flush(self) -> None:
        """Send all text, and what has been written to the descriptors. See Publisher."""
        publisher = self.pub_thread
        if self._child is not None:
            self._child.flush()
        elif publisher is not None and threading.current_thread().name not in SERVICE_THREADS:
            publisher.capture.drain()
            publisher.flush_text()

    def close(self) -> None:
        """Release the descriptor; later writes fail."""
        if self.pub_thread is None or self._child is not None:
            return
        self.flush()
        if self._fd is not None:
            self.pub_thread.capture.release(self._fd)
        self.pub_thread = None

    def _captured(self, text: str) -> None:
        if self.pub_thread is not None:
            self.pub_thread.put_text(self, text, self._parent_header_global)

    def _become_child(self) -> None:
        self._child = _LineWriter(self._fd)


class _LineWriter:
    """What a stream is in a forked child: whole lines to the descriptor, as on a terminal."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        self._lock = threading.RLock()
        self._line = ""

    def write(self, text: str) -> None:
        with self._lock:
            lines, newline, self._line = (self._line + text).rpartition("\n")
            self._write_out(lines + newline)
            if len(self._line) > CHUNK:
                self.flush()

    def flush(self) -> None:
        with self._lock:
            text, self._line = self._line, ""
            self._write_out(text)

    def _write_out(self, text: str) -> None:
        rest = memoryview(text.encode("utf-8", "backslashreplace"))
        while rest and self._fd is not None:
            rest = rest[os.write(self._fd, rest) :]
