# SPDX-License-Identifier: Apache-2.0
"""sandboxd's gRPC: agent-sandbox's client and grpcio against one container, and HTTP/2 as nobody
should send it, made here byte by byte."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from box import GUARD, IMAGE, INSIDE, Box, address_of, docker, own_port, running, until
from k8s_agent_sandbox.commands._process_stubs import process_pb2, process_pb2_grpc
from k8s_agent_sandbox.models import SandboxdInClusterConnectionConfig
from k8s_agent_sandbox.sandbox import Sandbox

TOKEN = "agents-0123456789abcdef"
OWN = [("x-ipybox-token", TOKEN)]
SERVICE = "/process.v1.ProcessService/"
Code = grpc.StatusCode


def serve(box: Box, *options: str) -> Iterator[tuple[int, str]]:
    """The port of the calls, and the container."""
    words = ["-p", "127.0.0.1::9090", "-v", f"{box.workspace}:{INSIDE}"]
    words += ["-e", f"IPYBOX_EXECUTE_TOKEN={TOKEN}", IMAGE, "serve", "--agent-sandbox"]
    with running(*words, "--agent-sandbox-grpc-port", "9090", *options) as container:
        address = address_of(container, 9090)
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(GUARD)
        yield int(address.split(":")[1]), container


@pytest.fixture(scope="module")
def guarded(shared_box: Box) -> Iterator[tuple[int, str]]:
    yield from serve(shared_box)


@pytest.fixture(scope="module")
def channel(guarded: tuple[int, str]) -> Iterator[Any]:
    with grpc.insecure_channel(f"127.0.0.1:{guarded[0]}") as channel:
        yield channel


@pytest.fixture(scope="module")
def stub(channel: Any) -> Any:
    return process_pb2_grpc.ProcessServiceStub(channel)


def config(*command: str, **more: Any) -> Any:
    return process_pb2.ProcessConfig(command=command, **more)


def execute(stub: Any, *command: str, seconds: float = GUARD, **more: Any) -> Any:
    request = process_pb2.ExecuteRequest(config=config(*command, **more))
    return stub.Execute(request, timeout=seconds, metadata=OWN)


def start(stub: Any, *command: str, **more: Any) -> tuple[Any, int]:
    """The stream of a command's events, and the number of its process."""
    request = process_pb2.StartRequest(config=config(*command), **more)
    call = stub.Start(request, timeout=GUARD, metadata=OWN)
    return call, next(call).init.process_id


def refused(call: Any, *args: Any, **more: Any) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **more)
    return caught.value.code()


# --- the client of agent-sandbox ---


@pytest.mark.gate
def test_the_unmodified_client_runs_commands(shared_box: Box) -> None:
    for port, _ in serve(shared_box, "--agent-sandbox-open", "--agent-sandbox-port", "0"):
        stub = SimpleNamespace(
            get_sandbox=lambda *_: {"status": {"podIPs": ["127.0.0.1"]}}, custom_objects_api=None
        )
        connection = SandboxdInClusterConnectionConfig(
            mode="in-cluster-pod-ip", rest_port=own_port(), grpc_port=port
        )
        commands = Sandbox("claim", "box", "default", connection, k8s_helper=stub).commands
        run = commands.run("echo out; echo é $A >&2; pwd; exit 3", env={"A": "b"})
        assert (run.stdout, run.stderr, run.exit_code) == (f"out\n{INSIDE}\n", "é b\n", 3)
        assert commands.run("mkdir -p sub").exit_code == 0
        assert commands.run("pwd", cwd="sub").stdout == f"{INSIDE}/sub\n"
        late = commands.run("sleep 980", command_timeout=0.5)
        assert (late.exit_code, late.timed_out) == (124, True)
        with pytest.raises(RuntimeError, match="PERMISSION_DENIED"):
            commands.run("pwd", cwd="../..")


# --- calls ---


@pytest.mark.gate
def test_a_command_has_its_output_and_status(stub: Any) -> None:
    run = execute(stub, "/bin/sh", "-c", "printf 'a\\377'; echo e >&2; exit 7")
    assert (run.stdout, run.stderr, run.exit_code) == (b"a\xff", b"e\n", 7)
    assert execute(stub, "sh", "-c", "kill -KILL $$").exit_code == -9


def test_a_result_fits_the_message_that_clients_take(stub: Any) -> None:
    """gRPC's clients take 4 MiB unless they are told otherwise; the beginning is kept."""
    run = execute(stub, "sh", "-c", "head -c 9000000 /dev/zero; head -c 2000000 /dev/zero >&2")
    assert len(run.stdout) == 3 << 20 and run.exit_code == 0
    assert (
        f"{9_000_000 - (3 << 20) + 2_000_000 - (960 << 10)} bytes of output".encode() in run.stderr
    )


def test_output_streams_at_any_length(stub: Any) -> None:
    call, _ = start(stub, "head", "-c", "60000000", "/dev/zero")
    events = list(call)
    assert sum(len(event.stdout) for event in events) == 60_000_000
    assert events[-1].WhichOneof("event") == "exit" and events[-1].exit.exit_code == 0


def test_input_is_written_and_ends(stub: Any) -> None:
    call, number = start(stub, "cat")
    stub.WriteStdin(process_pb2.WriteStdinRequest(process_id=number, input=b"abc"), metadata=OWN)
    stub.WriteStdin(process_pb2.WriteStdinRequest(process_id=number, eof={}), metadata=OWN)
    assert b"".join(event.stdout for event in call) == b"abc"
    late = process_pb2.WriteStdinRequest(process_id=number, input=b"x")
    assert refused(stub.WriteStdin, late, metadata=OWN) == Code.NOT_FOUND


@pytest.mark.parametrize("signal", [2, 9, 15])
def test_signals_end_a_command(stub: Any, signal: int) -> None:
    call, number = start(stub, "sleep", "981")
    stub.SendSignal(process_pb2.SendSignalRequest(process_id=number, signal=signal), metadata=OWN)
    assert [event.exit.exit_code for event in call] == [-signal]


def test_a_terminal_has_a_size(stub: Any) -> None:
    size = process_pb2.PTY(cols=100, rows=30)
    call, number = start(stub, "sh", "-c", "stty size; read x; stty size", pty=size)
    assert next(call).stdout.strip() == b"30 100"
    stub.ResizeTTY(process_pb2.ResizeTTYRequest(process_id=number, cols=50, rows=20), metadata=OWN)
    stub.WriteStdin(process_pb2.WriteStdinRequest(process_id=number, input=b"\n"), metadata=OWN)
    assert b"".join(event.stdout for event in call).endswith(b"20 50\r\n")


def test_a_client_that_cancels_ends_its_command(guarded: tuple[int, str], stub: Any) -> None:
    call, _ = start(stub, "sleep", "982")
    call.cancel()
    until(lambda: "sleep 982" not in docker("top", guarded[1]))


# --- statuses ---


def test_what_is_wrong_has_its_status(stub: Any) -> None:
    def order(**fields: Any) -> Any:
        return process_pb2.SendSignalRequest(**fields)

    assert refused(execute, stub) == Code.INVALID_ARGUMENT
    assert refused(execute, stub, "/bin/none") == Code.NOT_FOUND
    assert refused(execute, stub, "/etc/passwd") == Code.PERMISSION_DENIED
    assert refused(execute, stub, "pwd", cwd="/none") == Code.NOT_FOUND
    assert refused(execute, stub, "pwd", cwd="a/../..") == Code.PERMISSION_DENIED
    assert refused(execute, stub, "pwd", env_vars={"a=b": "c"}) == Code.INVALID_ARGUMENT
    assert refused(execute, stub, "a\0b") == Code.INVALID_ARGUMENT
    assert refused(execute, stub, "echo", "a\0b") == Code.INVALID_ARGUMENT
    assert refused(execute, stub, "sleep", "9", seconds=0.3) == Code.DEADLINE_EXCEEDED
    assert refused(stub.SendSignal, order(process_id=1, signal=9), metadata=OWN) == Code.NOT_FOUND
    call, number = start(stub, "sleep", "983")
    wrong = order(process_id=number, signal=0)
    assert refused(stub.SendSignal, wrong, metadata=OWN) == Code.INVALID_ARGUMENT
    size = process_pb2.ResizeTTYRequest(process_id=number, cols=5, rows=5)
    assert refused(stub.ResizeTTY, size, metadata=OWN) == Code.FAILED_PRECONDITION
    call.cancel()


def test_calls_of_another_form_have_their_status(channel: Any) -> None:
    run = channel.unary_unary(SERVICE + "Execute")
    assert refused(channel.unary_unary(SERVICE + "Nope"), b"", metadata=OWN) == Code.UNIMPLEMENTED
    assert refused(channel.unary_unary("/other.Service/Execute"), b"", metadata=OWN) == (
        Code.UNIMPLEMENTED
    )
    for broken in (b"\xff", b"\x0a\x05ab", b"\x0b\x0c", b"\x0a\x03\x0a\x01\xff", b"\x00\x00"):
        assert refused(run, broken, metadata=OWN) == Code.INVALID_ARGUMENT, broken
    assert refused(run, b"x" * (5 << 20), metadata=OWN) == Code.RESOURCE_EXHAUSTED
    gzip = grpc.Compression.Gzip
    assert refused(run, b"x" * 1000, metadata=OWN, compression=gzip) == Code.UNIMPLEMENTED
    two = channel.stream_unary(SERVICE + "Execute")
    assert refused(two, iter([b"", b""]), metadata=OWN) == Code.INTERNAL


@pytest.mark.gate
def test_who_has_no_token_gets_nothing(guarded: tuple[int, str]) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{guarded[0]}") as channel:
        run = channel.unary_unary(SERVICE + "Execute")
        for metadata in ([], [("x-ipybox-token", "wrong")], [*OWN, *OWN]):
            assert refused(run, b"", metadata=metadata) == Code.UNAUTHENTICATED
        bearer = [("authorization", f"Bearer {TOKEN}")]
        assert refused(run, b"", metadata=bearer) == Code.INVALID_ARGUMENT
        for _ in range(10):
            assert refused(run, b"", metadata=[]) == Code.UNAUTHENTICATED
        begun = time.monotonic()
        assert refused(run, b"", metadata=[]) == Code.UNAUTHENTICATED
        assert time.monotonic() - begun > 0.9


def test_answers_name_the_server(guarded: tuple[int, str], stub: Any) -> None:
    name = docker("exec", guarded[1], "hostname").strip()
    request = process_pb2.ExecuteRequest(config=config("true"))
    _, call = stub.Execute.with_call(request, metadata=OWN)
    assert ("ipybox-instance", name) in [tuple(pair) for pair in call.initial_metadata()]
    other = [*OWN, ("ipybox-instance", "another")]
    assert refused(stub.Execute, request, metadata=other) == Code.FAILED_PRECONDITION


# --- HTTP/2 as nobody should send it ---

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name: str, value: str) -> bytes:
    """Without the table and without Huffman's code; both are shorter than 127 bytes."""
    return bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head(method: str = "Start", token: str = TOKEN, **more: str) -> bytes:
    fields = {":method": "POST", ":scheme": "http", ":path": SERVICE + method, ":authority": "a"}
    fields |= {"content-type": "application/grpc", "te": "trailers", "x-ipybox-token": token}
    return b"".join(field(name, value) for name, value in (fields | more).items())


def call_frames(stream: int, *command: str, method: str = "Start") -> bytes:
    message = process_pb2.StartRequest(config=config(*command)).SerializeToString()
    body = b"\0" + struct.pack(">I", len(message)) + message
    return frame(HEADERS, END_HEADERS, stream, head(method)) + frame(DATA, END_STREAM, stream, body)


class Raw:
    """A connection with the preface said, and settings of one's own."""

    def __init__(self, port: int, settings: bytes = b"") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=GUARD)
        self.said(PREFACE + frame(SETTINGS, 0, 0, settings))

    def said(self, data: bytes) -> bool:
        """False: nobody listens any more."""
        with suppress(OSError):
            self.socket.sendall(data)
            return True
        return False

    def ends(self) -> bytes:
        """What comes until the other side ends the connection, which it must."""
        heard = bytearray()
        try:
            while piece := self.socket.recv(65536):
                heard += piece
        except ConnectionError:
            pass
        finally:
            self.socket.close()
        return bytes(heard)


def kinds(heard: bytes) -> list[int]:
    found, at = [], 0
    while at + 9 <= len(heard):
        found.append(heard[at + 3])
        at += 9 + int.from_bytes(heard[at : at + 3], "big")
    return found


def sockets(container: str) -> int:
    """Those of the port for calls that are not closed; 2382 is 9090."""
    table = docker("exec", container, "cat", "/proc/net/tcp").splitlines()[1:]
    rows = [row.split() for row in table]
    return sum(row[1].endswith(":2382") and row[3] not in ("06", "0A") for row in rows)


def memory(container: str) -> int:
    """Kilobytes of all that is called ipybox in the container."""
    script = (
        "for c in $(grep -sl '^ipybox$' /proc/[0-9]*/comm); do grep VmRSS ${c%comm}status; done"
    )
    told = docker("exec", "-u", "0", container, "sh", "-c", script)
    return sum(int(line.split()[1]) for line in told.splitlines())


def wait_until_gone(container: str, words: str) -> None:
    until(lambda: words not in docker("top", container))


@pytest.fixture
def attacked(guarded: tuple[int, str], stub: Any) -> Iterator[int]:
    """The port; afterwards calls are served as before, and no connection is kept."""
    execute(stub, "true")
    before = sockets(guarded[1])
    yield guarded[0]
    assert execute(stub, "echo", "on").stdout == b"on\n"
    until(lambda: sockets(guarded[1]) <= before)


def test_http1_is_told_what_is_spoken_here(attacked: int) -> None:
    with socket.create_connection(("127.0.0.1", attacked), timeout=GUARD) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        said = b""
        while more := connection.recv(4096):
            said += more
        assert b"this port speaks gRPC" in said


def test_half_frames_are_not_waited_for_for_long(attacked: int) -> None:
    begun = time.monotonic()
    halves = [Raw(attacked) for _ in range(20)]
    whole = frame(HEADERS, END_HEADERS, 1, head())
    for i, raw in enumerate(halves):
        raw.said(whole[: 1 + i * len(whole) // 20])
    for raw in halves:
        raw.ends()
    assert time.monotonic() - begun > 10  # and after 15 s: tests/unit/front/agentsandbox


def test_headers_without_an_end_are_cut_off(attacked: int) -> None:
    raw = Raw(attacked)
    filler = b"".join(field(f"x-{i}", "v" * 100) for i in range(100))
    raw.said(frame(HEADERS, 0, 1, head()))
    for _ in range(10_000):
        if not raw.said(frame(CONTINUATION, 0, 1, filler)):
            break
    raw.ends()


def test_too_many_headers_are_refused(attacked: int) -> None:
    raw = Raw(attacked)
    filler = b"".join(field(f"x-{i}", "v" * 100) for i in range(130))
    raw.said(frame(HEADERS, 0, 1, head()) + frame(CONTINUATION, 0, 1, filler))
    raw.said(frame(CONTINUATION, END_HEADERS, 1, filler) + frame(GOAWAY, 0, 0, b"\0" * 8))
    assert RESET in kinds(raw.ends())


def test_one_byte_that_stands_for_many_is_refused(attacked: int) -> None:
    """A field of 4000 bytes in the table, named by one byte 10,000 times."""
    raw = Raw(attacked)
    large = b"\x40\x01x" + b"\x7f" + b"\xa1\x1e" + b"v" * (127 + 0x21 + 128 * 30 - 0)
    raw.said(frame(HEADERS, END_HEADERS, 1, head() + large + b"\xbe" * 10_000))
    raw.said(frame(GOAWAY, 0, 0, b"\0" * 8))
    assert {RESET, GOAWAY} & set(kinds(raw.ends()))


def test_requests_that_are_reset_at_once_end_the_connection(
    attacked: int, guarded: tuple[int, str]
) -> None:
    raw = Raw(attacked)
    for stream in range(1, 10_001, 2):
        reset = frame(RESET, 0, stream, struct.pack(">I", 8))
        if not raw.said(call_frames(stream, "sleep", "984") + reset):
            break
    assert GOAWAY in kinds(raw.ends())
    wait_until_gone(guarded[1], "sleep 984")


@pytest.mark.parametrize(
    "flood",
    [
        frame(PING, 0, 0, b"12345678"),
        frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)),
        frame(WINDOW, 0, 0, struct.pack(">I", 1)),
        frame(2, 0, 3, b"\0\0\0\0\1"),
    ],
    ids=["ping", "settings", "window", "priority"],
)
def test_frames_that_bring_nothing_end_the_connection(attacked: int, flood: bytes) -> None:
    raw = Raw(attacked)
    for _ in range(2_000):
        if not raw.said(flood * 100):
            break
    raw.ends()


def test_empty_data_ends_the_connection(attacked: int) -> None:
    raw = Raw(attacked)
    raw.said(frame(HEADERS, END_HEADERS, 1, head()))
    for _ in range(2_000):
        if not raw.said(frame(DATA, 0, 1) * 100):
            break
    raw.ends()


def test_a_window_that_stays_closed_holds_no_answer(
    attacked: int, guarded: tuple[int, str]
) -> None:
    closed = struct.pack(">HI", 4, 0)
    waiting = [Raw(attacked, closed) for _ in range(4)]
    for raw in waiting:
        for stream in range(1, 9, 2):
            raw.said(call_frames(stream, "head", "-c", "3000000", "/dev/zero", method="Execute"))
    streaming = Raw(attacked, closed)
    streaming.said(call_frames(1, "sh", "-c", "yes 985"))
    wait_until_gone(guarded[1], "yes 985")
    for raw in [*waiting, streaming]:
        raw.said(frame(GOAWAY, 0, 0, b"\0" * 8))
        assert RESET in kinds(raw.ends())


@pytest.mark.parametrize(
    "wrong",
    [
        frame(WINDOW, 0, 0, struct.pack(">I", 0x7FFFFFFF)) * 2,
        frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0x80000000)),
        frame(WINDOW, 0, 0, struct.pack(">I", 0)),
        frame(SETTINGS, 0, 0, b"12345"),
        frame(DATA, 0, 7, b"x"),
        frame(HEADERS, END_HEADERS, 2, b""),
        frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"),
        frame(CONTINUATION, END_HEADERS, 1, b""),
        struct.pack(">I", 1 << 20)[1:] + struct.pack(">BBI", DATA, 0, 1) + b"x" * 20_000,
        PREFACE,
        b"\xff" * 4_000,
    ],
    ids=lambda wrong: f"{wrong[:9].hex()}-{len(wrong)}",
)
def test_what_breaks_the_protocol_ends_the_connection(attacked: int, wrong: bytes) -> None:
    raw = Raw(attacked)
    raw.said(wrong)
    assert GOAWAY in kinds(raw.ends())


def test_more_connections_than_there_may_be(attacked: int) -> None:
    """Those without a request make room for the newest."""
    many = [Raw(attacked) for _ in range(200)]
    for raw in many:  # it is through, and answered or ended
        with suppress(ConnectionError):
            raw.socket.recv(1)
    with grpc.insecure_channel(f"127.0.0.1:{attacked}") as channel:
        stub = process_pb2_grpc.ProcessServiceStub(channel)
        assert execute(stub, "echo", "in").stdout == b"in\n"
    for raw in many:
        raw.socket.close()


@pytest.mark.measure
def test_attacks_leave_no_memory_behind(attacked: int, guarded: tuple[int, str]) -> None:
    held = memory(guarded[1])
    for attack in (
        test_half_frames_are_not_waited_for_for_long,
        test_headers_without_an_end_are_cut_off,
        test_too_many_headers_are_refused,
        test_one_byte_that_stands_for_many_is_refused,
        test_empty_data_ends_the_connection,
        test_more_connections_than_there_may_be,
    ):
        attack(attacked)
    test_requests_that_are_reset_at_once_end_the_connection(attacked, guarded)
    test_a_window_that_stays_closed_holds_no_answer(attacked, guarded)
    grown = memory(guarded[1]) - held
    print(f"attacks leave {grown} KiB")
    assert grown < 32_000


def test_the_server_stops_while_commands_run(shared_box: Box) -> None:
    """`running` stops it, and wants the status 0."""
    for port, _ in serve(shared_box):
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        call, _ = start(process_pb2_grpc.ProcessServiceStub(channel), "sleep", "986")
    events: list[Any] = []
    with suppress(grpc.RpcError):
        events += call
    assert not events or events[-1].exit.exit_code == -15
    channel.close()
