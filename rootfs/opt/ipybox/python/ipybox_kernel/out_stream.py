"""sys.stdout and sys.stderr of a kernel.

Differs from ipykernel's stream in this: text is cut, ordered and held back by the publisher; what
was written to the descriptor comes before what is printed after it; flush() waits only if there
is something to wait for; fileno() is the captured descriptor, so that a child process that is
given sys.stdout writes into the cell; a forked child writes to that descriptor too. Text that the
kernel captures carries the header of the latest cell.
"""

from __future__ import annotations

import io
import os
import threading
from typing import Any

import ipykernel.iostream

from ipybox_kernel.publisher import CHUNK, SERVICE_THREADS, Publisher, fork_count


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
        self._born = fork_count()
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
        if self._born != fork_count():
            self._write_in_child(string)
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
        if publisher is None or self._born != fork_count():
            return
        if threading.current_thread().name not in SERVICE_THREADS:
            publisher.capture.drain()
            publisher.flush_text()

    def close(self) -> None:
        """Release the descriptor; later writes fail."""
        if self.pub_thread is None or self._born != fork_count():
            return
        self.flush()
        if self._fd is not None:
            self.pub_thread.capture.release(self._fd)
        self.pub_thread = None

    def _captured(self, text: str) -> None:
        if self.pub_thread is not None:
            self.pub_thread.put_text(self, text, self._parent_header_global)

    def _write_in_child(self, string: str) -> None:
        if self._fd is None:
            return
        rest = memoryview(string.encode("utf-8", "backslashreplace"))
        while rest:
            rest = rest[os.write(self._fd, rest) :]
