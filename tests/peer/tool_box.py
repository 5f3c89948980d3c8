# SPDX-License-Identifier: Apache-2.0
"""A container whose tool server can be reached from the host, and stock mcpygen clients for it."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from box import GUARD, HERE, IMAGE, Box, docker, own_port, until


@dataclass
class ToolBox:
    """One container with a tool server; its tokens are new."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    application: str
    approver: str

    @property
    def as_application(self) -> str:
        """A host for mcpygen's clients, which have no other place for a token."""
        return f"app:{self.application}@127.0.0.1"

    @property
    def as_approver(self) -> str:
        return f"human:{self.approver}@127.0.0.1"

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request over standard input; one at a time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = {}
        while "id" not in answer:  # a notification may come before it
            answer = json.loads(self.process.stdout.readline())
        return answer

    def tool(self, tool: str, /, **arguments: Any) -> str:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return "\n".join(block.get("text", "") for block in result["content"])

    def cell(self, code: str) -> str:
        """The text of a cell, whether it fails or not."""
        return self.tool("execute_ipython_cell", code=code, timeout=GUARD)

    def http(
        self, method: str, path: str, body: Any = None, token: str | None = None
    ) -> tuple[int, Any]:
        """Status and JSON (or text) of a plain request."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=GUARD) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            try:
                return error.code, json.loads(text)
            except ValueError:
                return error.code, text


@contextmanager
def tool_box(box: Box, *words: str, options: Sequence[str] = ()) -> Iterator[ToolBox]:
    """A container that is ready, in the host's network, where the tests have servers, too. `words`
    are further options of ipybox."""
    port = own_port()
    name = f"ipybox-peer-{secrets.token_hex(8)}"
    application, approver = secrets.token_hex(16), secrets.token_hex(16)
    options = [*options, "--name", name, "-v", f"{HERE}:/peer:ro"]
    options += ["-e", f"IPYBOX_TOOL_SERVER_TOKEN={application}"]
    options += ["-e", f"IPYBOX_APPROVER_TOKEN={approver}"]
    options += ["--network", "host"]
    inner = ["--tool-server-host", "127.0.0.1", "--tool-server-port", str(port)]
    command = [*box.command(*options), *inner, *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    it = ToolBox(name, port, process, application, approver)
    try:
        client = {"name": "peer", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        it.ask("initialize", hello)
        wait_until_reachable(it)
        yield it
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(GUARD)


def wait_for_port(port: int) -> None:
    """Until something listens there."""

    def listens() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), GUARD).close()
        except OSError:
            return False
        return True

    until(listens)


def wait_until_reachable(it: ToolBox) -> None:
    """The engine's port forwarding may be there a moment later than the server."""

    def answers() -> bool:
        try:
            return it.http("GET", "/status") == (200, {"status": "ok"})
        except OSError:
            return False

    until(answers)


def install(box: Box, *packages: str) -> None:
    """Packages for the image's Python, by the host's uv, into a folder of the workspace."""
    tell = "import platform as p; print(*p.python_version_tuple()[:2], sep='.'); print(p.machine())"
    version, machine = docker("run", "--rm", IMAGE, "python3", "-c", tell).split()
    command = [os.environ["PEER_UV"], "install", "--python", sys.executable]
    wanted = ["--python-version", version, "--python-platform", f"{machine}-manylinux_2_34"]
    wanted += ["--only-binary", ":all:"]
    target = ["--target", str(box.workspace / "site")]
    subprocess.run([*command, *wanted, *target, *packages], check=True)
