"""A client of the kernel gateway, for scripts that run inside the container: see 81-*.bats."""

from __future__ import annotations

import asyncio
import json
import os
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

ADDRESS = "127.0.0.1:8888"
TOKEN = ""
WAIT = float(os.environ["WAIT"])  # seconds for whatever is waited for, as in drive.py


def ask(method: str, path: str, body: object = None) -> tuple[int, Any]:
    """Status and content of the answer; -1 when there was none."""
    data = json.dumps(body).encode() if body is not None else (b"" if method == "POST" else None)
    headers = {"Authorization": f"token {TOKEN}"} if TOKEN else {}
    request = urllib.request.Request(
        f"http://{ADDRESS}{path}", data=data, method=method, headers=headers
    )
    try:
        with urllib.request.urlopen(request, timeout=WAIT) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return -1, str(error)


def timed(method: str, path: str, body: object = None) -> tuple[int, Any, float]:
    """As ask(), and how many milliseconds it took."""
    start = time.perf_counter()
    status, content = ask(method, path, body)
    return status, content, 1000 * (time.perf_counter() - start)


def session_kernel() -> str:
    """The id of the only kernel that there is."""
    status, kernels = ask("GET", "/api/kernels")
    assert status == 200 and len(kernels) == 1, (status, kernels)
    return str(kernels[0]["id"])


class Channels:
    """A WebSocket to one kernel."""

    def __init__(self, socket: WebSocketClientConnection, session: str) -> None:
        self.socket = socket
        self.session = session

    @classmethod
    async def open(cls, kernel: str) -> Channels:
        """Connect."""
        session = uuid.uuid4().hex
        url = f"ws://{ADDRESS}/api/kernels/{kernel}/channels?session_id={session}"
        headers = {"Authorization": f"token {TOKEN}"} if TOKEN else {}
        return cls(
            await websocket_connect(HTTPRequest(url, headers=headers, connect_timeout=WAIT)),
            session,
        )

    async def send(self, code: str) -> str:
        """Ask for a cell; returns the request's id."""
        request = uuid.uuid4().hex
        header = {"msg_id": request, "msg_type": "execute_request", "session": self.session}
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        message = {
            "channel": "shell",
            "header": header | {"username": "", "version": "5.3"},
            "parent_header": {},
            "metadata": {},
            "content": content | {"user_expressions": {}, "stop_on_error": True},
            "buffers": [],
        }
        await self.socket.write_message(json.dumps(message))
        return request

    async def begun(self, request: str) -> str:
        """The first text that the cell prints; finish() has what follows."""
        while True:
            raw = await asyncio.wait_for(self.socket.read_message(), WAIT)
            assert raw is not None, "the connection has ended"
            message = json.loads(raw)
            if (
                message["parent_header"].get("msg_id") == request
                and message["msg_type"] == "stream"
            ):
                return str(message["content"]["text"])

    async def finish(self, request: str) -> str:
        """What the cell printed until its reply came, or the name of its error."""
        text = ""
        while True:
            raw = await asyncio.wait_for(self.socket.read_message(), WAIT)
            assert raw is not None, "the connection has ended"
            message = json.loads(raw)
            content = message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "stream":
                text += content["text"]
            elif message["msg_type"] == "error":
                text += content["ename"]
            elif message["msg_type"] == "execute_reply":
                return text.strip()

    async def restarted(self) -> None:
        """Wait until the kernel has become another one."""
        while True:
            raw = await asyncio.wait_for(self.socket.read_message(), WAIT)
            assert raw is not None, "the connection has ended"
            if json.loads(raw)["content"].get("execution_state") == "restarting":
                return

    async def run(self, code: str) -> str:
        """send() and finish()."""
        return await self.finish(await self.send(code))


async def act(method: str, path: str, body: object = None) -> tuple[int, Any, float]:
    """timed(), while the WebSockets go on."""
    return await asyncio.to_thread(timed, method, path, body)
