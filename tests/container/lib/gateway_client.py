"""Executes code through the REST and WebSocket API of a Jupyter Kernel Gateway. Run in a container.

Usage: gateway_client.py PORT TOKEN CODE. Prints what the code prints.
"""

import asyncio
import json
import sys
import uuid
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect


async def execute(socket: WebSocketClientConnection, code: str) -> str:
    """The text of all streams until the kernel is idle again."""
    request = uuid.uuid4().hex
    header = {"msg_id": request, "msg_type": "execute_request", "session": "s", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    message: dict[str, Any] = {"header": header, "parent_header": {}, "metadata": {}}
    await socket.write_message(json.dumps({**message, "content": content, "channel": "shell"}))
    texts = []
    while True:
        answer = json.loads(await socket.read_message() or "null")
        if answer["parent_header"].get("msg_id") != request:
            continue
        if answer["msg_type"] == "stream":
            texts.append(answer["content"]["text"])
        if answer["msg_type"] == "error":
            texts.append(f"{answer['content']['ename']}: {answer['content']['evalue']}\n")
        if answer["content"].get("execution_state") == "idle":
            return "".join(texts)


async def main(port: str, token: str, code: str) -> None:
    """Create a kernel, use it, delete it."""
    headers = {"Authorization": f"token {token}"} if token else {}
    kernels = f"http://localhost:{port}/api/kernels"
    client = AsyncHTTPClient(defaults={"connect_timeout": 0, "request_timeout": 0})
    made = await client.fetch(kernels, method="POST", body="{}", headers=headers)
    kernel = json.loads(made.body)["id"]
    url = f"ws://localhost:{port}/api/kernels/{kernel}/channels"
    socket = await websocket_connect(HTTPRequest(url, headers=headers, connect_timeout=0))
    print(await execute(socket, code), end="")
    socket.close()
    deleted = await client.fetch(f"{kernels}/{kernel}", method="DELETE", headers=headers)
    assert deleted.code == 204


asyncio.run(main(*sys.argv[1:4]))
