"""Everything that leaves on the IOPub channel, in order and within bounded memory.

Owns:    the IOPub socket and its thread (ipykernel's IOPubThread), and the outbox: messages, and
         text of both streams that is still to be cut into messages.
Order:   the outbox is one queue, so what came in first goes out first. Only a flood of short texts
         on alternating streams is put together per stream, see OUTBOX_EXACT.
Limits:  a stream message carries at most CHUNK characters. A thread that adds to more than
         TEXT_MAX characters of text or MESSAGE_MAX bytes of messages waits until the reader has
         taken some, but at most PATIENCE seconds each time: whoever needs a lock that the waiting
         thread holds is delayed, not stopped for ever. Nothing is dropped.
Forks:   a forked child must not send; OutStream writes to the captured descriptor there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO
from typing import Any, Protocol, cast

from ipykernel.iostream import IOPubThread
from ipykernel.thread import CONTROL_THREAD_NAME, SHELL_CHANNEL_THREAD_NAME
from tornado.platform.asyncio import BaseAsyncIOLoop
from zmq.eventloop.zmqstream import ZMQStream

from ipybox_kernel.fd_capture import FdCapture
from ipybox_kernel.sockets import Socket
from ipybox_kernel.tracebacks import ending_outside
from ipybox_kernel.wire import printable

CHUNK = 1 << 16  # characters in one stream message
TEXT_MAX = 1 << 20  # characters of text not yet sent
MESSAGE_MAX = 1 << 23  # bytes of other messages not yet sent
OUTBOX_EXACT = 256  # so many changes between streams, per flush, keep their exact order
FLUSH_SECONDS = 0.1  # text leaves after this time without a flush
PATIENCE = 10.0  # seconds
SERVICE_THREADS = (CONTROL_THREAD_NAME, SHELL_CHANNEL_THREAD_NAME)  # never wait for the reader

Header = dict[str, Any]


class Stream(Protocol):
    """What the publisher needs to know of a stream."""

    name: str
    topic: bytes


class _Text:
    """Text of one stream and one cause."""

    __slots__ = ("buffer", "parent", "stream")

    def __init__(self, stream: Stream, parent: Header) -> None:
        self.stream = stream
        self.parent = parent
        self.buffer = StringIO()


class _Message:
    """A message that is ready to be sent."""

    __slots__ = ("send", "size")

    def __init__(self, send: Callable[[], None], size: int) -> None:
        self.send = send
        self.size = size


class Publisher(IOPubThread):
    """Any thread may call any public method."""

    def __init__(self, socket: Any, session: Any) -> None:
        self.capture = FdCapture()
        self.wait_in_flush = True
        self.in_child = False
        os.register_at_fork(after_in_child=self._become_child)
        # Reentrant, because a signal handler that prints may interrupt its own thread in here.
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)
        self._outbox: list[_Text | _Message] = []
        self._last: _Text | None = None  # the outbox's last item, if that is a text
        self._put = 0  # characters of text ever put
        self._sent = 0  # of which were sent
        self._queued = 0  # bytes of messages not yet sent
        self._coming = 0  # calls of _send_as_told() asked for, less those that have begun
        self._ticking = False  # the thread was told to send text from time to time
        self._timer: object | None = None
        if hasattr(IOPubThread, "_setup_xpub_listener"):
            super().__init__(socket, pipe=False, session=session)
        else:  # ipykernel 7.1
            super().__init__(socket, pipe=False)
            self.session = session
            ZMQStream(socket, self.io_loop).on_recv(self._greet)
        self._loop = cast(BaseAsyncIOLoop, self.io_loop).asyncio_loop

    def put_text(self, stream: Stream, text: str, parent: Header) -> None:
        """Send `text` soon. Waits for room if the reader is slow; a `text` well over CHUNK should
        come in pieces, so that it can wait in between."""
        with self._lock:
            unsent = self._put - self._sent
            if unsent >= TEXT_MAX:
                self._wait(lambda: self._put - self._sent < TEXT_MAX)
            last = self._last
            if last is None or last.stream is not stream or last.parent is not parent:
                last = self._text(stream, parent)
            last.buffer.write(text)
            self._put += len(text)
            if not self._ticking:
                self._ticking = self.schedule(self._start_ticking)
            elif unsent >= CHUNK:
                self._tell()

    def flush_text(self) -> None:
        """Send all text that was put before this call. Waits until it is sent, for at most
        PATIENCE seconds, if `wait_in_flush` is set; it is sent before any later message anyway."""
        with self._lock:
            ticket = self._put
            if self._sent >= ticket:
                return
            self._tell()
            if self.wait_in_flush:
                self._wait(lambda: self._sent >= ticket)

    def send_multipart(self, msg: list[Any], *args: Any, **kwargs: Any) -> None:
        """Send a message after all that was put before it. Waits for room."""
        if self.in_child:
            return
        send = partial(self._really_send, msg, *args, **kwargs)
        message = _Message(send, sum(memoryview(part).nbytes for part in msg))
        with self._lock:
            if self._queued >= MESSAGE_MAX:
                self._wait(lambda: self._queued < MESSAGE_MAX)
            self._queued += message.size
            self._outbox.append(message)
            self._last = None
            self._tell()

    def schedule(self, f: Callable[[], object]) -> bool:
        """Have `f` called in the thread. False: that has ended, and `f` was called here."""
        if self.thread.is_alive():
            try:
                self._loop.call_soon_threadsafe(f)
                return True
            except RuntimeError:  # the loop is closed
                self.thread.join()
        f()
        return False

    def stop(self) -> None:
        """Send what is left, then end the thread. Neither is a forked child's to do."""
        if self.in_child:
            return
        self.wait_in_flush = True
        self.flush_text()
        super().stop()
        self._send_outbox()

    def _setup_event_pipe(self) -> None:
        """Nothing: a call wakes the loop in its own way, quicker than through a ZeroMQ socket."""

    def _become_child(self) -> None:
        self.in_child = Socket.in_child = True

    def _tell(self) -> None:
        """Have all sent, unless that is to come. Lock held. Counted afterwards: an interrupt in
        between, or a signal handler that prints, leaves a call too many and never one too few."""
        if self._coming < 1 and self.schedule(self._send_as_told):
            self._coming += 1

    def _wait(self, ready: Callable[[], bool]) -> None:
        """Wait for the reader, but not in a thread that the reader waits for. Lock held."""
        me = threading.current_thread()
        if self.thread.is_alive() and me is not self.thread and me.name not in SERVICE_THREADS:
            try:
                self._room.wait_for(ready, PATIENCE)
            except KeyboardInterrupt:
                raise ending_outside(KeyboardInterrupt()) from None

    def _text(self, stream: Stream, parent: Header) -> _Text:
        """Where text belongs that is not like the last. Lock held."""
        if len(self._outbox) >= OUTBOX_EXACT:
            for item in reversed(self._outbox):
                if not isinstance(item, _Text):
                    break
                if item.stream is stream and item.parent is parent:
                    return item
        self._last = _Text(stream, parent)
        self._outbox.append(self._last)
        return self._last

    # What follows runs in the IOPub thread; in the caller's once that thread has ended.

    def _greet(self, subscriptions: list[bytes]) -> None:
        """Tell each subscriber that it is one, as ipykernel does from 7.2 on (JEP 65)."""
        for frame in subscriptions:
            topic = frame[1:]
            if frame[:1] == b"\1":
                content = {"subscription": topic.decode(errors="replace")}
                message = self.session.msg("iopub_welcome", content)
                self._really_send(self.session.serialize(message, ident=topic or None))

    def _start_ticking(self) -> None:
        if threading.current_thread() is not self.thread:
            self._send_outbox()
        elif self._timer is None:
            self._timer = self.io_loop.call_later(FLUSH_SECONDS, self._tick)

    def _tick(self) -> None:
        """Send text now and again as long as there is any."""
        self._timer = None
        with self._lock:
            self._ticking = bool(self._outbox)
        if self._ticking:
            self._timer = self.io_loop.call_later(FLUSH_SECONDS, self._tick)
            self._send_outbox()

    def _send_as_told(self) -> None:
        with self._lock:
            self._coming -= 1
        self._send_outbox()

    def _send_outbox(self) -> None:
        with self._lock:
            items, self._outbox, self._last = self._outbox, [], None
        try:
            for item in items:
                if isinstance(item, _Text):
                    self._send_text(item)
                else:
                    item.send()
                    self._count(size=item.size)
        finally:
            self._mend_counts()

    def _send_text(self, item: _Text) -> None:
        for piece in _pieces(item.buffer.getvalue()):
            for text in _pieces(printable(piece)):
                content = {"name": item.stream.name, "text": text}
                message = self.session.msg("stream", content, parent=item.parent)
                self._really_send(self.session.serialize(message, ident=item.stream.topic))
            self._count(characters=len(piece))

    def _count(self, characters: int = 0, size: int = 0) -> None:
        with self._lock:
            self._sent += characters
            self._queued -= size
            self._room.notify_all()

    def _mend_counts(self) -> None:
        """An empty outbox is the truth, whatever an interrupt in a caller left half counted."""
        with self._lock:
            if not self._outbox:
                self._sent = self._put
                self._queued = 0
                self._ticking = self._timer is not None
                self._room.notify_all()


def _pieces(text: str) -> Iterator[str]:
    """`text` in parts of at most CHUNK characters; nothing for the empty string."""
    for start in range(0, len(text), CHUNK):
        yield text[start : start + CHUNK]
