"""A kernel in a process of its own, and a client that sees every message of it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import zmq
from ipybox_kernel.exec_filter import (
    EPERM,
    JUMP_EQUAL,
    LOAD_WORD,
    NR_OFFSET,
    RETURN,
    SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO,
)

WAIT = 180.0  # seconds for whatever is waited for: it only ends what would hang
WAIT_MS = int(WAIT * 1000)
DELIMITER = b"<IDS|MSG>"
CHANNELS = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4, "hb": 5}
NR_SOCKET = {"x86_64": 41, "aarch64": 198}
FIRST_ARGUMENT = 16  # in struct seccomp_data


def no_unix_sockets() -> bytes:
    """A seccomp filter that refuses them, but for pairs."""
    steps = (
        (LOAD_WORD, 0, 0, NR_OFFSET),
        (JUMP_EQUAL, 0, 3, NR_SOCKET[os.uname().machine]),
        (LOAD_WORD, 0, 0, FIRST_ARGUMENT),
        (JUMP_EQUAL, 0, 1, socket.AF_UNIX),
        (RETURN, 0, 0, SECCOMP_RET_ERRNO | EPERM),
        (RETURN, 0, 0, SECCOMP_RET_ALLOW),
    )
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


@dataclass
class Message:
    """One message from the kernel. `size` is that of its content on the wire, in bytes."""

    kind: str
    parent: str
    content: dict[str, Any]
    size: int


@dataclass
class Result:
    """What came back from one cell."""

    reply: dict[str, Any]
    messages: list[Message] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Both streams as they came."""
        return "".join(m.content["text"] for m in self.of("stream"))

    @property
    def status(self) -> str:
        return str(self.reply["status"])

    @property
    def value(self) -> str:
        """The last expression, as text."""
        return str(self.of("execute_result")[0].content["data"]["text/plain"])

    def of(self, kind: str) -> list[Message]:
        return [m for m in self.messages if m.kind == kind]

    def stream(self, name: str) -> str:
        return "".join(m.content["text"] for m in self.of("stream") if m.content["name"] == name)


def works_without_sockets(kernel: Kernel) -> None:
    """A kernel with no_unix_sockets() and those that it was given does what others do."""
    assert kernel.run("print('runs')").text == "runs\n"
    refused = kernel.run("import socket; socket.socket(socket.AF_UNIX)")
    assert refused.reply["ename"] == "PermissionError"
    for which, error in (("fileno=os.dup(5)", "EINVAL"), ("fileno=pair[0].fileno()", "EISCONN")):
        connected = kernel.run(
            f"import errno, os; pair = socket.socketpair(); one = socket.socket({which})\n"
            f"errno.errorcode[one.connect_ex({str(kernel.home / 'c-1')!r})]"
        )
        assert connected.value == repr(error)
    awaited = kernel.run("import asyncio; await asyncio.to_thread(lambda: 'awaited')")
    assert awaited.value == "'awaited'"
    assert kernel.run("!echo shell").text == "shell\r\n"
    inherited = kernel.run("import os; [os.get_inheritable(fd) for fd in range(5, 10)]")
    assert inherited.value == str([False] * 5)
    kernel.beat()
    kernel.sleeps()
    kernel.send("shutdown_request", {"restart": False}, "control")
    kernel.process.wait(WAIT)


class Process(Protocol):
    """What subprocess.Popen and the fork of a template have in common."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class Kernel:
    """Context manager; the kernel leads its process group and gets nothing of our environment."""

    def __init__(self, *, env: dict[str, str] | None = None, queue: int = 0) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="k"))
        self.key = uuid.uuid4().hex.encode()
        self.connection = self.home / "connection.json"
        self.connection.write_text(json.dumps(self._connection()))
        self.work = self.home / "work"
        self.work.mkdir()
        self.stderr = self.home / "stderr"
        environment = {"PATH": os.environ["PATH"], "IPYTHONDIR": str(self.home / "ipython")}
        with self.stderr.open("wb") as output:
            self.process = self.spawn(environment | (env or {}), output)
        self.context = zmq.Context()
        self.shell = self._socket(zmq.DEALER, "shell")
        self.control = self._socket(zmq.DEALER, "control")
        self.iopub = self._socket(zmq.SUB, "iopub", queue)
        self.stdin = self._socket(zmq.DEALER, "stdin")

    def __enter__(self) -> Self:
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _connect(self) -> None:
        deadline = time.monotonic() + WAIT
        while not self.iopub.poll(20):
            assert self.process.poll() is None, self.stderr.read_text()
            assert time.monotonic() < deadline, "no answer from the kernel"
            self.send("kernel_info_request", {})
        last = self.send("kernel_info_request", {})  # they are answered in order
        replied = idle = False
        for message in self._messages():
            if message.parent == last and message.kind == "status":
                idle = message.content["execution_state"] == "idle"
            elif message.parent == last:
                replied = True
            if replied and idle:
                break
        assert self.stdin_connected.poll(WAIT_MS), "no connection to the kernel's stdin channel"
        self.stdin.disable_monitor()

    def __exit__(self, *_: object) -> None:
        self.context.destroy(linger=0)  # first: a context that is only forgotten blocks its thread
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def spawn(self, env: dict[str, str], output: BinaryIO) -> Process:
        """Start the process with its output in a file."""
        return subprocess.Popen(
            [sys.executable, "-m", "ipybox_kernel", "-f", str(self.connection)],
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def send(self, kind: str, content: dict[str, Any], channel: str = "shell", **more: str) -> str:
        """Send a request, with more in its header; returns its id."""
        ident = uuid.uuid4().hex
        header = {
            "msg_id": ident,
            "msg_type": kind,
            "session": "s",
            "username": "",
            "version": "5.3",
            **more,
        }
        frames = [json.dumps(part).encode() for part in (header, {}, {}, content)]
        signature = hmac.new(self.key, b"".join(frames), hashlib.sha256).hexdigest().encode()
        getattr(self, channel).send_multipart([DELIMITER, signature, *frames])
        return ident

    def receive(self, socket: zmq.Socket[bytes]) -> Message:
        """The next message; its signature and its encoding are checked."""
        frames = socket.recv_multipart()
        start = frames.index(DELIMITER)
        signature, parts = frames[start + 1], frames[start + 2 : start + 6]
        expected = hmac.new(self.key, b"".join(parts), hashlib.sha256).hexdigest().encode()
        assert signature == expected
        header, parent, _, content = (json.loads(part.decode("utf-8", "strict")) for part in parts)
        return Message(header["msg_type"], parent.get("msg_id", ""), content, len(parts[3]))

    def start(
        self,
        code: str,
        *,
        allow_stdin: bool = False,
        expressions: dict[str, str] | None = None,
        **more: str,
    ) -> str:
        """Send a cell and do not wait; returns the request's id."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": expressions or {},
            "allow_stdin": allow_stdin,
        }
        return self.send("execute_request", content, **more)

    def run(self, code: str) -> Result:
        """Send a cell and wait for its reply and its end."""
        return self.finish(self.start(code))

    def finish(self, ident: str) -> Result:
        """Wait for the reply and the end of a cell. What belongs to others is an error."""
        result = Result({})
        idle = False
        for message in self._messages():
            assert message.parent == ident, message
            if message.kind == "execute_reply":
                result.reply = message.content
            elif message.kind == "status":
                idle = message.content["execution_state"] == "idle"
            else:
                result.messages.append(message)
            if idle and result.reply:
                return result
        raise AssertionError("unreachable")

    def begun(self, ident: str) -> None:
        """Wait until a cell has begun: an interrupt before may find nothing to interrupt."""
        while (message := self.receive(self.iopub)).kind != "execute_input":
            assert message.parent == ident, message

    def beat(self) -> None:
        """See its heart beat once."""
        heart = self._socket(zmq.REQ, "hb")
        heart.send(b"ping")
        assert heart.poll(WAIT_MS) and heart.recv() == b"ping"

    def sleeps(self) -> None:
        """See ZeroMQ sleep: a connection that is refused it tries anew ten times a second."""
        deadline = time.monotonic() + WAIT
        while True:
            before = self._wakeups()
            time.sleep(2)
            if self._wakeups() - before < 5:
                return
            assert time.monotonic() < deadline

    def _wakeups(self) -> int:
        """How often the threads of ZeroMQ have waited."""
        wakeups = 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task / "comm").read_text().startswith("ZMQbg/IO"):
                status = (task / "status").read_text()
                wakeups += int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
        return wakeups

    def interrupt(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)

    def memory(self) -> int:
        """Largest size the kernel ever had in memory, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) // 1024

    def listening(self) -> list[int]:
        """What the server makes for a kernel that can make no Unix sockets, in the order of ports.
        They are the caller's."""
        fds = []
        for port in sorted(CHANNELS.values()):
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(f"{self.home}/c-{port}")
                made.listen()
                fds.append(fcntl.fcntl(made, fcntl.F_DUPFD_CLOEXEC, 100))
        return fds

    def _messages(self) -> Iterator[Message]:
        poller = zmq.Poller()
        poller.register(self.shell, zmq.POLLIN)
        poller.register(self.iopub, zmq.POLLIN)
        deadline = time.monotonic() + WAIT
        while True:
            ready = poller.poll(max(0, int((deadline - time.monotonic()) * 1000)))
            assert ready, f"no end within {WAIT} s; stderr: {self.stderr.read_text()}"
            for one, _ in ready:
                yield self.receive(one)

    def _socket(self, kind: int, channel: str, queue: int = 0) -> zmq.Socket[bytes]:
        socket = self.context.socket(kind)
        socket.linger = 0
        socket.rcvtimeo = WAIT_MS
        socket.rcvhwm = queue
        socket.setsockopt(zmq.RECONNECT_IVL, 2)
        if kind == zmq.SUB:
            socket.subscribe(b"")
        else:
            socket.setsockopt(zmq.IDENTITY, self.key)  # input() asks the one who sent the cell
        if channel == "stdin":
            self.stdin_connected = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        socket.connect(f"ipc://{self.home}/c-{CHANNELS[channel]}")
        return socket

    def _connection(self) -> dict[str, Any]:
        ports = {f"{name}_port": number for name, number in CHANNELS.items()}
        return ports | {
            "transport": "ipc",
            "ip": str(self.home / "c"),
            "key": self.key.decode(),
            "signature_scheme": "hmac-sha256",
        }
