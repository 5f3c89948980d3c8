"""What the gateway's process does with the output of a real kernel for a client that does not read.

The test plays the server, and is the client, on a plain socket.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pytest
from box import WAIT, Kernel

STILL = 3.0  # seconds
ID = str(uuid.uuid4())
PIECE = 1 << 16
PIECES = 1536  # 96 MiB
AHEAD = 256  # pieces that may be under way from print() to a client that does not read: 16 MiB
GROWTH = 48 << 10  # KiB; the gateway's own share of these is a few MiB
V1 = "v1.kernel.websocket.jupyter.org"

# Pieces with numbers; how many were printed is what `progress` is long.
PRINT = f"""
import os
with open("progress", "wb", buffering=0) as progress:
    for i in range({{count}}):
        print(f"{{{{i:08}}}}".ljust({PIECE}, "x"), end="")
        progress.write(b".")
"""


# The gateway takes what it is given as its descriptors 5 and 6.
START = 'exec 5<&{} 6<&{}; exec "$0" -m ipybox_gateway'


def wait_for(what: str, ready: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not ready():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class Gateway:
    """Context manager: the process, with one kernel, as that of the session."""

    def __init__(self, kernel: Kernel) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="g"))
        self.kernel = kernel
        self.server, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.setblocking(False)  # as src/jupyter/gateway.c makes it
        self.ready = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()
        channels = os.open(Path(self.info()["ip"]).parent, os.O_PATH)
        given = [theirs.fileno(), channels]
        self.log = self.home / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", START.format(*given), sys.executable],
                pass_fds=given,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            )
        theirs.close()
        os.close(channels)

    def __enter__(self) -> Self:
        wait_for("the gateway", lambda: self.ready.is_set() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.server.shutdown(socket.SHUT_RDWR)  # which ends serve()
        self.server.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def serve(self) -> None:
        """Each in a thread: the gateway may have begun to ask twice, and wait for the second."""
        with contextlib.suppress(OSError):
            while what := (packet := socket.recv_fds(self.server, 16, 1))[0]:
                if what == b"r":
                    self.ready.set()
                    continue
                connection = socket.socket(fileno=packet[1][0])
                threading.Thread(target=self.answer, args=[connection], daemon=True).start()

    def info(self) -> dict[str, Any]:
        """How to connect to the kernel."""
        info: dict[str, Any] = json.loads(self.kernel.connection.read_text())
        return info

    def answer(self, connection: socket.socket) -> None:
        """Answer "list"; whoever asks for changes waits for ever."""
        kernel = {"id": ID, "owner": "session", "state": "ready", "conn": self.info()}
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            if json.loads(lines.readline())["op"] == "list":
                connection.sendall(json.dumps({"kernels": [kernel]}).encode() + b"\n")
            else:
                lines.read()

    def connect(self) -> socket.socket:
        """As a client that the server hands over."""
        client, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.server, [b"h"], [theirs.fileno()])
        client.settimeout(WAIT)
        return client

    def look(self) -> None:
        """Have the gateway look which kernels there are."""
        with self.connect() as connection:
            connection.sendall(b"GET /api/kernels HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert connection.makefile("rb").read().startswith(b"HTTP/1.1 200 ")

    def memory(self, name: str) -> int:
        """VmRSS or VmHWM, in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if name in line)


class Client:
    """A WebSocket to the kernel. It reads when it is told to."""

    def __init__(self, gateway: Gateway, protocol: str = "") -> None:
        self.protocol = protocol
        self.socket = gateway.connect()
        head = (
            f"GET /api/kernels/{ID}/channels?session_id={uuid.uuid4()} HTTP/1.1\r\nHost: x\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        )
        head += f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
        self.socket.sendall(head.encode() + b"\r\n")
        self.answer = self.socket.makefile("rb")
        assert b"101" in self.answer.readline()
        while self.answer.readline().strip():
            pass

    def send(self, code: str) -> str:
        request = uuid.uuid4().hex
        kind = "execute_request"
        parts: dict[str, Any] = {
            "header": {"msg_id": request, "msg_type": kind, "session": "s", "version": "5.3"},
            "parent_header": {},
            "metadata": {},
            "content": {"code": code, "silent": False, "store_history": False},
        }
        if not self.protocol:
            self._send_frame(1, json.dumps({"channel": "shell", **parts}).encode())
            return request
        pieces = [b"shell", *(json.dumps(part).encode() for part in parts.values())]
        offsets = [8 * (len(pieces) + 2)]
        for piece in pieces:
            offsets.append(offsets[-1] + len(piece))
        numbers = [len(offsets), *offsets]
        self._send_frame(2, struct.pack(f"<{len(numbers)}Q", *numbers) + b"".join(pieces))
        return request

    def messages(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Type, the request's id, and content."""
        while True:
            kind, data = self._receive_frame()
            assert kind in (1, 2, 9), (kind, data)
            if kind == 9:
                continue
            if self.protocol:
                (count,) = struct.unpack_from("<Q", data)
                offsets = struct.unpack_from(f"<{count}Q", data, 8)
                parts = [data[a:b] for a, b in pairwise(offsets[1:])]
                header, parent, _, content = (json.loads(part) for part in parts[:4])
            else:
                message = json.loads(data)
                header, parent = message["header"], message["parent_header"]
                content = message["content"]
            yield header["msg_type"], parent.get("msg_id", ""), content

    def finish(self, request: str) -> str:
        """What the cell printed before its reply."""
        texts = []
        for kind, parent, content in self.messages():
            if parent == request and kind == "stream":
                texts.append(content["text"])
            if parent == request and kind == "execute_reply":
                assert content["status"] == "ok", content
                return "".join(texts)
        raise AssertionError("unreachable")

    def close(self) -> None:
        self.answer.close()
        self.socket.close()

    def _send_frame(self, kind: int, data: bytes) -> None:
        head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, len(data))
        self.socket.sendall(head + bytes(4) + data)  # a mask of zeros

    def _receive_frame(self) -> tuple[int, bytes]:
        first, size = self.answer.read(2)
        if size == 126:
            (size,) = struct.unpack(">H", self.answer.read(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.answer.read(8))
        return first & 15, self.answer.read(size)


@pytest.fixture
def own() -> Iterator[Kernel]:
    """A kernel without another reader."""
    with Kernel() as kernel:
        kernel.iopub.close()
        yield kernel


def printed(kernel: Kernel) -> int:
    """How many pieces the cell has printed."""
    progress = kernel.work / "progress"
    return progress.stat().st_size if progress.exists() else 0


def stalled(kernel: Kernel) -> int:
    """printed(), once that is the same for a while."""
    wait_for("what is printed", lambda: printed(kernel))
    count, since = printed(kernel), time.monotonic()
    while time.monotonic() - since < STILL:
        time.sleep(0.05)
        if printed(kernel) != count:
            count, since = printed(kernel), time.monotonic()
    return count


def equals_pieces(text: str, count: int) -> None:
    assert len(text) == count * PIECE
    wrong = [i for i in range(count) if not text.startswith(f"{i:08}x", i * PIECE)]
    assert wrong == []


@pytest.mark.parametrize("protocol", ["", V1])
def test_a_client_that_does_not_read_slows_the_kernel_down_and_misses_nothing(
    own: Kernel, protocol: str
) -> None:
    with Gateway(own) as gateway:
        client = Client(gateway, protocol)
        client.finish(client.send("pass"))
        before = gateway.memory("VmRSS")
        request = client.send(PRINT.format(count=PIECES))
        assert stalled(own) <= AHEAD
        equals_pieces(client.finish(request), PIECES)
        assert gateway.memory("VmHWM") < before + GROWTH


def test_a_kernel_does_not_wait_for_a_client_that_has_gone(own: Kernel) -> None:
    with Gateway(own) as gateway:
        client = Client(gateway)
        client.finish(client.send("pass"))
        before = gateway.memory("VmRSS")
        client.send(PRINT.format(count=PIECES))
        assert stalled(own) <= AHEAD
        client.close()
        wait_for("the end of the cell", lambda: printed(own) == PIECES)
        client = Client(gateway)
        client.finish(client.send("pass"))
        assert gateway.memory("VmHWM") < before + GROWTH


def test_a_reply_comes_after_output_that_was_not_read_for_long(own: Kernel) -> None:
    with Gateway(own) as gateway:
        client = Client(gateway)
        client.finish(client.send("pass"))
        request = client.send(PRINT.format(count=48))
        wait_for("the end of the cell", lambda: printed(own) == 48)
        time.sleep(5)  # more than replies are held for
        equals_pieces(client.finish(request), 48)


def test_output_that_was_not_read_comes_before_the_word_of_a_restart(own: Kernel) -> None:
    with Kernel() as second, Gateway(own) as gateway:
        client, reader = Client(gateway), Client(gateway)
        client.finish(client.send("pass"))
        request = client.send(PRINT.format(count=28))
        last = ("status", request, {"execution_state": "idle"})
        assert last in reader.messages()
        time.sleep(1)  # the gateway has it all, for the one and soon for the other
        gateway.kernel = second
        gateway.look()
        kinds = []
        texts = []
        for kind, parent, content in client.messages():
            kinds.append(kind)
            if kind == "stream" and parent == request:
                texts.append(content["text"])
            if kind == "status" and content["execution_state"] == "restarting":
                break
        equals_pieces("".join(texts), 28)
        assert "execute_reply" in kinds


def test_a_reply_that_waits_for_output_goes_with_the_client(own: Kernel) -> None:
    with Gateway(own) as gateway:
        client = Client(gateway)
        client.finish(client.send("pass"))
        client.send(PRINT.format(count=48))
        wait_for("the end of the cell", lambda: printed(own) == 48)
        time.sleep(1)  # for the reply
        client.close()
        client = Client(gateway)
        time.sleep(5)  # more than replies are held for
        client.finish(client.send("pass"))
        assert "closed channel" not in gateway.log.read_text()
