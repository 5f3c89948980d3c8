# SPDX-License-Identifier: Apache-2.0
"""What code in a cell attacks with; imported there, so nothing but the standard library."""

import glob
import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

RUNTIME = ("/run/ipybox", "/tmp/ipybox", "/dev/shm/ipybox")


def below_runtime(pattern: str = "**") -> list[str]:
    """Everything in the runtime directory that this code finds, also by its own tool socket."""
    told = os.path.dirname(os.environ.get("IPYBOX_TOOL_SOCKET", "/run/ipybox/x"))
    roots = [*RUNTIME, told, f"{told}/user", "/run/ipybox/731/user"]
    found = {path for root in roots for path in glob.glob(f"{root}/{pattern}", recursive=True)}
    return sorted(found)


def tried(act: Callable[[], Any]) -> Any:
    """What the act gives, or None when it is refused."""
    try:
        return act()
    except (OSError, http.client.HTTPException, ValueError, EOFError):
        return None


def read(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read(1 << 20)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=5)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(self.path)


def over_unix(path: str, method: str, url: str, body: object = None, token: str = "") -> str:
    """`STATUS text` of a request at a Unix socket."""
    connection = UnixConnection(path)
    headers = {"Content-Type": "application/json", "Host": "localhost"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request(method, url, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    return f"{answer.status} {answer.read().decode(errors='replace')[:2000]}"


class Tools:
    """A connection to the tools' socket by hand."""

    def __init__(
        self, token: str = "", path: str = "", taken: int = -1, patience: float = 10
    ) -> None:
        if taken >= 0:
            self.socket = socket.socket(fileno=taken)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(path or os.environ["IPYBOX_TOOL_SOCKET"])
        self.socket.settimeout(patience)
        self.lines = self.receive()
        self.number = 0
        if token:
            self.ask("hello", {"token": token})

    def receive(self) -> Iterator[str]:
        data = b""
        while True:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise EOFError("the tools' socket was closed")
            *whole, data = (data + piece).split(b"\n")
            yield from (line.decode() for line in whole)

    def raw(self, line: str) -> str:
        self.socket.sendall(line.encode() + b"\n")
        return next(self.lines)

    def ask(self, method: str, params: object) -> str:
        self.number += 1
        return self.raw(
            json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        )

    def call(self, tool: str, server: str = "demo", **arguments: object) -> str:
        names = {"server_name": server, "tool_name": tool, "tool_args": arguments}
        return self.ask("run", names)


def own_token() -> str:
    return os.environ.get("IPYBOX_TOOL_TOKEN", "")


def others() -> list[int]:
    """The processes that are neither this one nor its parent."""
    mine = {os.getpid(), os.getppid(), 1}
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine]
