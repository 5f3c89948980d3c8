# SPDX-License-Identifier: Apache-2.0
"""agent-sandbox's contract and the kernel gateway at one port: what a connection begins with
decides, however it comes. test_agentsandbox.py drives agent-sandbox's client at such a port."""

from __future__ import annotations

import base64
import http.client
import json
import os
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from box import GUARD, IMAGE, address_of, docker, running, wait_until_ready

TOKEN = "ports-0123456789abcdef"
GATEWAYS = {"Authorization": f"token {TOKEN}"}
EXECUTE = b'{"command": "echo $((6 * 7))"}'
IDLE, HELD = 1000, 64  # connections


@pytest.fixture(scope="module")
def box() -> Iterator[tuple[int, str]]:
    """The port, and the container, whose gateway nobody has asked for yet."""
    words = ["-p", "127.0.0.1::8888", "-e", f"IPYBOX_EXECUTE_TOKEN={TOKEN}"]
    with running(*words, IMAGE, "serve-all", "--agent-sandbox") as container:
        address = address_of(container, 8888)
        wait_until_ready(f"http://{address}/", container)
        yield int(address.split(":")[1]), container


def dial(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=GUARD)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def wait_for_one_closed(connections: list[socket.socket]) -> list[socket.socket]:
    """The others."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    ready = poll.poll(GUARD * 1000)[0][0]
    closed = next(connection for connection in connections if connection.fileno() == ready)
    with suppress(ConnectionError):
        assert closed.recv(1) == b""
    return [connection for connection in connections if connection is not closed]


def head(line: str, token: str = f"Bearer {TOKEN}", more: str = "") -> bytes:
    return f"{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n{more}\r\n".encode()


def post(body: bytes = EXECUTE) -> bytes:
    return head("POST /execute", more=f"Content-Length: {len(body)}\r\n") + body


def answer(connection: socket.socket) -> tuple[int, bytes]:
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.read()


def gateway_runs(container: str) -> bool:
    return "ipybox_gateway" in docker("top", container)


def executes(port: int) -> None:
    with dial(port) as connection:
        connection.sendall(post())
        status, body = answer(connection)
        assert status == 200 and json.loads(body)["stdout"] == "42\n"


# The first test: the gateway has not been asked for.
@pytest.mark.parametrize(
    "bytes_",
    [
        b"\x00" * 100,
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"api /api\r\n\r\n"[3:],
        os.urandom(4096),
    ],
)
def test_noise_starts_no_gateway_and_harms_nobody(box: tuple[int, str], bytes_: bytes) -> None:
    port, container = box
    with dial(port) as connection:
        try:
            connection.sendall(bytes_)
            connection.shutdown(socket.SHUT_WR)
            got = connection.recv(100)
        except ConnectionError:
            got = b""
    assert got == b"" or got.startswith(b"HTTP/1.")
    executes(port)
    assert not gateway_runs(container)


def test_a_client_of_tls_is_told_off(box: tuple[int, str]) -> None:
    with pytest.raises(OSError), dial(box[0]) as connection:
        ssl.create_default_context().wrap_socket(connection, server_hostname="localhost")
    assert not gateway_runs(box[1])


def test_a_request_may_come_byte_by_byte(box: tuple[int, str]) -> None:
    for request in (post(), head("GET /")):
        with dial(box[0]) as connection:
            for i in range(len(request)):
                connection.sendall(request[i : i + 1])
            assert answer(connection)[0] == 200
    assert not gateway_runs(box[1])


def test_a_connection_stays_with_whom_it_was_for_first(box: tuple[int, str]) -> None:
    """Twice each: the second request comes by the connection of the first."""
    both = {"GET /": 200, "POST /execute": 400, "GET /api/kernels": 404}
    with dial(box[0]) as connection:
        for line, status in both.items():
            connection.sendall(head(line, more="Content-Length: 0\r\n"))
            assert answer(connection)[0] == status, line
        connection.sendall(post() + post())
    with dial(box[0]) as connection:
        for line, status in {"GET /api/kernels": 200, "GET /api": 200, "GET /list/.": 404}.items():
            connection.sendall(head(line, f"token {TOKEN}"))
            assert answer(connection)[0] == status, line
    assert gateway_runs(box[1])


def test_the_gateway_works_beside_it(box: tuple[int, str]) -> None:
    client = http.client.HTTPConnection("127.0.0.1", box[0], timeout=GUARD)
    client.request("POST", "/api/kernels", "{}", GATEWAYS)
    made = client.getresponse()
    kernel = json.loads(made.read())["id"]
    assert made.status == 201
    with dial(box[0]) as connection:
        key = base64.b64encode(os.urandom(16)).decode()
        more = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        more += f"Sec-WebSocket-Key: {key}\r\n"
        line = head(f"GET /api/kernels/{kernel}/channels", f"token {TOKEN}", more)
        connection.sendall(line[:7])  # in two packets, in the middle of the path
        connection.sendall(line[7:])
        assert connection.recv(12) == b"HTTP/1.1 101"
    client.request("DELETE", f"/api/kernels/{kernel}", headers=GATEWAYS)
    assert client.getresponse().status == 204


def test_each_asks_for_its_token(box: tuple[int, str]) -> None:
    for line, status in {"GET /list/.": 401, "GET /api/kernels": 401, "GET /": 200}.items():
        with dial(box[0]) as connection:
            connection.sendall(head(line, "Bearer wrong"))
            assert answer(connection)[0] == status, line


def test_a_thousand_that_say_nothing_keep_nobody_out(box: tuple[int, str]) -> None:
    """Half of them have begun a line. All but 64 are cut off, for room or because their time is
    over: tests/unit/front/gateway/test_sorter.c knows which, by a clock of its own."""
    with ExitStack() as stack:
        silent = [stack.enter_context(dial(box[0])) for _ in range(IDLE)]
        for connection in silent[::2]:
            try:
                connection.sendall(b"GET /a")
            except ConnectionError:
                continue
        # The engine's proxy passes connections on in no order: now the server has had all of them.
        for _ in range(IDLE - HELD):
            silent = wait_for_one_closed(silent)
        executes(box[0])
