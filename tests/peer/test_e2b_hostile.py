# SPDX-License-Identifier: Apache-2.0
"""Requests that no client of E2B's sends: the wire's own error is the answer, and all goes on."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from box import GUARD, Box, until
from e2b_box import KEY, container_of, environment, serving
from e2b_code_interpreter import Sandbox

MANY = 100_000
BOMB = 1 << 30


@pytest.fixture(scope="module")
def sandbox(shared_box: Box) -> Iterator[Any]:
    with serving(shared_box.workspace) as url, environment(url):
        made = Sandbox.create(timeout=600)
        made.run_code("kept = 42")
        made.url = url
        yield made
        assert made.run_code("kept").text == "42"


def send(sandbox: Any, head: str, body: bytes = b"", *, half: bool = False) -> str:
    """The answer to one request, as far as there is one."""
    address = urlsplit(sandbox.url)
    with socket.create_connection((address.hostname, address.port), timeout=GUARD) as client:
        length = len(body) + half
        try:
            client.sendall(f"{head}Host: localhost\r\nContent-Length: {length}\r\n\r\n".encode())
            client.sendall(body)
            if half:
                return ""
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was refused by its head
        answer = b""
        try:
            while part := client.recv(1 << 16):
                answer += part
        except OSError:
            pass
        return answer.decode(errors="replace")


def to_sandbox(sandbox: Any, call: str, port: int = 49983, more: str = "") -> str:
    token = sandbox._envd_access_token
    return (
        f"{call} HTTP/1.1\r\nE2b-Sandbox-Id: {sandbox.sandbox_id}\r\nE2b-Sandbox-Port: {port}\r\n"
        f"X-Access-Token: {token}\r\n{more}"
    )


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1]) if answer else 0


def is_wires_own(answer: str) -> bool:
    """{"code", "message"}, in a body of its own."""
    body: dict[str, Any] = json.loads(answer.split("\r\n\r\n", 1)[1])
    return {"code", "message"} <= body.keys()


STREAM = "Content-Type: application/connect+json\r\n"
RPC = "Content-Type: application/json\r\n"
START = "POST /process.Process/Start"


@pytest.mark.parametrize(
    ("call", "more", "body", "codes"),
    [
        ("POST /filesystem.Filesystem/Stat", RPC, b"[]", {400}),
        ("POST /filesystem.Filesystem/Stat", RPC, b'{"path":7}', {400}),
        ("POST /filesystem.Filesystem/Stat", RPC, b'{"path":"\xff"}', {400}),
        ("POST /filesystem.Filesystem/Stat", RPC, b"[" * MANY, {400}),
        ("POST /process.Process/SendSignal", RPC, b'{"process":{"pid":1},"signal":1}', {404}),
        ("POST /filesystem.Filesystem/GetWatcherEvents", RPC, b'{"watcherId":"x"}', {404}),
        ("POST /files/compose", RPC, b'{"source_paths":[1]}', {400}),
        ("POST /files?path=x", "Content-Type: text/plain\r\n", b"x", {400}),
    ],
)
def test_what_is_wrong(sandbox: Any, call: str, more: str, body: bytes, codes: set[int]) -> None:
    answer = send(sandbox, to_sandbox(sandbox, call, more=more), body)
    assert status(answer) in codes
    assert is_wires_own(answer)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b"\0\xff\xff\xff\xff",
        b"\0\0\0\0\5{",
        b"\1\0\0\0\2{}",
        b"\0\0\0\0\2[]",
        b"x" * MANY,
    ],
)
def test_broken_frames(sandbox: Any, body: bytes) -> None:
    answer = send(sandbox, to_sandbox(sandbox, START, more=STREAM), body)
    assert status(answer) == 200  # a stream says its errors in its last frame
    assert '"error":{"code":"invalid_argument"' in answer


def test_unknown_ids_and_wrong_tokens(sandbox: Any) -> None:
    nobody = "GET /files?path=a HTTP/1.1\r\nE2b-Sandbox-Id: nosuch\r\nE2b-Sandbox-Port: 49983\r\n"
    assert status(send(sandbox, nobody)) in (401, 502)
    wrong = to_sandbox(sandbox, "GET /envs").replace(sandbox._envd_access_token, "x")
    assert status(send(sandbox, wrong)) == 401
    key = f"GET /sandboxes/nosuch HTTP/1.1\r\nX-API-KEY: {KEY}\r\n"
    assert status(send(sandbox, key)) == 404
    assert status(send(sandbox, key.replace(KEY, "e2b_0"))) == 401


def test_many_headers(sandbox: Any) -> None:
    head = to_sandbox(sandbox, "GET /envs", more="".join(f"X-{i}: y\r\n" for i in range(MANY)))
    assert status(send(sandbox, head)) in (0, 431)
    metadata = "".join(f"X-Metadata-{i}: {'v' * 50}\r\n" for i in range(80))
    kind = "Content-Type: application/octet-stream\r\n"
    answer = send(sandbox, to_sandbox(sandbox, "POST /files?path=m", more=kind + metadata), b"x")
    assert status(answer) == 400
    assert not sandbox.files.exists("m")


def test_a_bomb_leaves_no_file(sandbox: Any) -> None:
    zeros = gzip.compress(b"\0" * (1 << 24), mtime=0)
    more = "Content-Type: application/octet-stream\r\nContent-Encoding: gzip\r\n"
    body = zeros * (BOMB // (1 << 24) + 1)  # members behind each other, a byte for each thousand
    answer = send(sandbox, to_sandbox(sandbox, "POST /files?path=bomb", more=more), body)
    assert status(answer) == 507
    assert "inflates to more than 1024 MiB" in answer
    assert not sandbox.files.exists("bomb")


def test_a_flood_keeps_no_descriptor(sandbox: Any) -> None:
    def descriptors() -> int:
        server = "for p in /proc/[0-9]*; do grep -q ^ipybox $p/comm && ls $p/fd; done | wc -l"
        inside = ["docker", "exec", container_of(sandbox.url), "sh", "-c", server]
        return int(subprocess.run(inside, stdout=subprocess.PIPE, check=True).stdout)

    send(sandbox, to_sandbox(sandbox, "GET /envs"))
    before = descriptors()
    frame = struct.pack(">BI", 0, 1000)
    for i in range(300):
        call = START if i % 2 else "POST /files?path=half"
        kind = STREAM if i % 2 else "Content-Type: application/octet-stream\r\n"
        send(sandbox, to_sandbox(sandbox, call, more=kind), frame, half=True)
    until(lambda: descriptors() <= before)
    assert not sandbox.files.exists("half")
