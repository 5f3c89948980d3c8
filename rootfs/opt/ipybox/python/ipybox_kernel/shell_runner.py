"""A process that runs shell commands for a kernel which cannot execute programs itself.

The kernel forks it when it starts, before any code of the user. It asks for approval of exactly
what it is going to run, over a connection to the server that it has opened before that code could
put another socket in the server's place. So nothing is gained by talking to it directly.

The kernel sends one packet for each command, a byte with four descriptors: the command's own
socket, and its standard input, output and error. On that socket goes one line of JSON

    {"argv": [...], "cwd": "/...", "env": {...}}           asked for as shell, {"cmd"}
    {"argv": [...], "text": "...", "cwd": ..., "env": ...} its input; as shell_magic, {"cmd"}

and then i, t or k to interrupt, terminate or kill it. One line comes back: {"status": N} as
subprocess has it, {"error": TEXT, "type"?} when it was not approved, or {"os_error": [N, TEXT]}.
The end of the socket before that kills the command, or withdraws the question.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shlex
import signal
import socket
import subprocess
from collections.abc import Callable
from typing import Any, NoReturn

from ipybox_kernel.forking import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, inherit_only, prctl

SHELL = ["/bin/sh", "-c"]
PR_SET_NAME = 15
FDS = 4
READ_BYTES = 1 << 16
REQUEST_MAX = 64 << 20  # bytes
SIGNALS = {ord("i"): signal.SIGINT, ord("t"): signal.SIGTERM, ord("k"): signal.SIGKILL}
LOST = "The connection to the server of ipybox was lost; restart the kernel to run shell commands"
GONE = "The process that runs shell commands has ended; restart the kernel to run them"


def fork_runner() -> socket.socket:
    """Start the process; returns the kernel's end of the socket. Raises OSError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    if os.fork() == 0:
        _run(theirs, parent)
    theirs.close()
    return ours


def _run(channel: socket.socket, parent: int) -> NoReturn:
    try:
        _settle(channel, parent)
        _Runner(channel).serve()
    finally:
        os._exit(0)


def _settle(channel: socket.socket, parent: int) -> None:
    """Be a process of its own, out of reach of the kernel's code as far as the same user can be."""
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(0)
    os.setsid()
    os.chdir("/")
    signal.signal(signal.SIGINT, lambda *_: None)  # SIG_IGN would be inherited by commands
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)


class _Server:
    """The connection on which approval is asked for; there is only this one."""

    def __init__(self, answered: Callable[[int, dict[str, Any]], None]) -> None:
        from ipybox_tools import ToolRunnerError, wire

        self.wire = wire
        self.answered = answered
        self.number = 0
        self.received = bytearray()
        self.why = LOST
        self.socket: socket.socket | None = None
        try:
            path, token = wire.address()
        except ToolRunnerError as error:
            self.why = str(error)
            return
        try:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.connect(path)
            self.socket.sendall(wire.hello(token))
        except OSError as error:
            self.why = str(wire.unreachable(path, error))
            self.close()

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def ask(self, tool: str, command: str) -> int:
        """Returns the number of the question. Raises OSError if it cannot be asked."""
        self.number += 1
        subject = {"server_name": "ipybox", "tool_name": tool, "tool_args": {"cmd": command}}
        self.send(self.wire.line(self.number, "approve", subject))
        return self.number

    def send(self, line: bytes) -> None:
        if self.socket is None:
            raise OSError(self.why)
        self.socket.sendall(line)

    def read(self) -> None:
        """Raises OSError at the end."""
        assert self.socket is not None
        data = self.socket.recv(READ_BYTES)
        if not data:
            raise OSError(LOST)
        self.received += data
        while (end := self.received.find(b"\n")) >= 0:
            line = bytes(self.received[:end])
            del self.received[: end + 1]
            self._answer(self.wire.parse(line))

    def _answer(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if "error" in message:
            self.why = str(message["error"].get("message"))
            if not number:  # of the connection, or of its hello
                raise OSError(self.why)
            self.answered(number, {"error": self.why})
        elif number:
            self.answered(number, message["result"])


class _Command:
    """One command: first it is read, then asked for, then it runs."""

    def __init__(self, peer: socket.socket, fds: list[int]) -> None:
        self.socket = peer
        self.fds = fds
        self.received = bytearray()
        self.request: dict[str, Any] | None = None
        self.question = 0
        self.process: subprocess.Popen[bytes] | None = None

    def subject(self) -> tuple[str, str]:
        """As what it is asked for: exactly what will run."""
        assert self.request is not None
        argv: list[str] = self.request["argv"]
        if "text" in self.request:
            return "shell_magic", magic_text(argv, self.request["text"])
        if argv[:-1] != SHELL:
            raise ValueError("argv")
        return "shell", argv[-1]

    def start(self) -> None:
        """Raises OSError or ValueError."""
        assert self.request is not None
        stdin = self.fds[0]
        if "text" in self.request:
            stdin = os.memfd_create("cell")
            os.write(stdin, self.request["text"].encode("utf-8", "replace"))
            os.lseek(stdin, 0, os.SEEK_SET)
        inherit_only(())
        try:
            self.process = subprocess.Popen(
                self.request["argv"],
                stdin=stdin,
                stdout=self.fds[1],
                stderr=self.fds[2],
                cwd=self.request["cwd"],
                env=self.request["env"],
                start_new_session=True,
                close_fds=False,  # done above; this would look at /proc/self/fd, which is not ours
            )
        finally:
            if stdin != self.fds[0]:
                os.close(stdin)

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def answer(self, **fields: Any) -> None:
        with contextlib.suppress(OSError):
            self.socket.sendall(json.dumps(fields).encode() + b"\n")

    def close(self) -> None:
        self.signal(signal.SIGKILL)
        self.socket.close()
        for fd in self.fds:
            os.close(fd)


def magic_text(argv: list[str], text: str) -> str:
    """What a human is shown of a script cell: its text alone for a shell without arguments."""
    if argv in (["bash"], ["sh"]):
        return text
    return f"%%script {shlex.join(argv)}\n{text}"


class _Runner:
    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.selector = selectors.DefaultSelector()
        self.commands: set[_Command] = set()
        self.server = _Server(self._decided)
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        self.wakeup, self.writer = reader, writer
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end())
        self.selector.register(channel, selectors.EVENT_READ, self._accept)
        self.selector.register(reader, selectors.EVENT_READ, self._reap)
        if self.server.socket is not None:
            self.selector.register(self.server.socket, selectors.EVENT_READ, self._hear)
        prctl_name(b"ipybox-shell")

    def serve(self) -> None:
        while True:
            for key, _ in self.selector.select():
                key.data()

    def _end(self) -> NoReturn:
        for command in list(self.commands):
            command.signal(signal.SIGKILL)
        os._exit(0)

    def _accept(self) -> None:
        data, fds, _, _ = socket.recv_fds(self.channel, 16, FDS, socket.MSG_CMSG_CLOEXEC)
        if not data:
            self._end()
        if len(fds) != FDS:
            for fd in fds:
                os.close(fd)
            return
        try:
            peer = socket.socket(fileno=fds[0])
        except OSError:
            for fd in fds:
                os.close(fd)
            return
        peer.setblocking(False)
        command = _Command(peer, fds[1:])
        self.commands.add(command)
        self.selector.register(peer, selectors.EVENT_READ, lambda: self._listen(command))

    def _listen(self, command: _Command) -> None:
        try:
            data = command.socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._finish(command)
        elif command.request is not None:
            self._control(command, data)
        else:
            command.received += data
            if b"\n" in data:
                self._ask(command)
            elif len(command.received) > REQUEST_MAX:
                self._finish(command, error="The command is too long")

    def _control(self, command: _Command, data: bytes) -> None:
        if command.process is None:
            self._finish(command)
            return
        for letter in data:
            if letter in SIGNALS:
                command.signal(SIGNALS[letter])

    def _ask(self, command: _Command) -> None:
        try:
            command.request = json.loads(command.received)
            tool, text = command.subject()
            command.question = self.server.ask(tool, text)
        except OSError as error:
            self._finish(command, error=str(error))
        except Exception as error:  # whatever code in the kernel may have sent
            self._finish(command, error=f"The command cannot be asked for: {error!r}")

    def _hear(self) -> None:
        try:
            self.server.read()
        except Exception as error:
            assert self.server.socket is not None
            self.selector.unregister(self.server.socket)
            self.server.why = str(error) or LOST
            self.server.close()
            for command in [c for c in self.commands if c.process is None and c.question]:
                self._finish(command, error=self.server.why)

    def _decided(self, number: int, result: dict[str, Any]) -> None:
        for command in self.commands:
            if command.question == number and command.process is None:
                break
        else:
            return
        if result.get("approved") is not True:
            self._finish(command, **({"error": "Approval was not given"} | result))
            return
        try:
            command.start()
        except OSError as error:
            self._finish(command, os_error=[error.errno, str(error)])
        except Exception as error:
            self._finish(command, error=f"The command cannot be run: {error!r}")

    def _reap(self) -> None:
        self.wakeup.recv(READ_BYTES)
        for command in list(self.commands):
            if command.process is not None and command.process.poll() is not None:
                self._finish(command, status=command.process.returncode)

    def _finish(self, command: _Command, **answer: Any) -> None:
        self.selector.unregister(command.socket)
        if answer:
            command.answer(**answer)
        elif command.question and command.process is None:
            with contextlib.suppress(OSError):
                self.server.send(self.server.wire.cancel(command.question))
        command.close()
        self.commands.discard(command)  # the last: a SIGTERM in between kills what is still there


def prctl_name(name: bytes) -> None:
    """The name of this process in a list of processes."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_NAME, name, 0, 0, 0)


class Runner:
    """The kernel's side."""

    def __init__(self) -> None:
        self.channel = fork_runner()

    def run(self, argv: list[str], fds: tuple[int, int, int], text: str | None = None) -> int:
        """Run a command when it is approved; returns its status as subprocess does.

        `fds` are its standard input, output and error; `text` is its input instead. Raises
        ToolRunnerError and its kinds when it is not approved, OSError when it cannot be started,
        KeyboardInterrupt after the command was ended.
        """
        from ipybox_tools.errors import error_of

        request: dict[str, Any] = {"argv": argv, "cwd": os.getcwd(), "env": dict(os.environ)}
        if text is not None:
            request["text"] = text
        ours, theirs = socket.socketpair()
        with ours, theirs:
            try:
                socket.send_fds(self.channel, [b"c"], [theirs.fileno(), *fds])
                theirs.close()
                ours.sendall(json.dumps(request).encode() + b"\n")
                answer = self._receive(ours)
            except KeyboardInterrupt:
                self._stop(ours)
                raise
            except OSError:
                answer = {"error": GONE}
        if "os_error" in answer:
            raise OSError(*answer["os_error"])
        if "status" not in answer:
            raise error_of({"error": GONE} | answer)
        status: int = answer["status"]
        return status

    @staticmethod
    def _receive(ours: socket.socket) -> dict[str, Any]:
        received = bytearray()
        while data := ours.recv(READ_BYTES):
            received += data
        answer: dict[str, Any] = json.loads(received or b"{}")
        return answer

    @staticmethod
    def _stop(ours: socket.socket) -> None:
        """Interrupt it; the closing of the socket kills what does not heed that."""
        ours.settimeout(1)
        with contextlib.suppress(OSError, KeyboardInterrupt):
            for letter in b"it":
                ours.send(bytes([letter]))
                try:
                    ours.recv(1)
                    return
                except TimeoutError:
                    pass
