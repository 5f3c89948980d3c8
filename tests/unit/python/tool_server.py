"""A stand-in for the server's end of the tool socket (src/front/toolserver/toolsock.h)."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from box import WAIT

Answer = Callable[[str, dict[str, Any]], dict[str, Any] | None]


def play(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """What a test's server answers when it is given nothing else. None: no answer at all."""
    if method == "reset":
        return {}
    tool: str = params["tool_name"]
    arguments: dict[str, Any] = params["tool_args"]
    if method == "approve":
        return {"approved": True}
    if tool == "never":
        return None
    if tool == "fails":
        return {"error": arguments["why"]} | (
            {"type": arguments["type"]} if "type" in arguments else {}
        )
    if tool == "answer":
        return arguments
    return {"result": arguments}


class ToolServer:
    """Context manager; listens in a directory of its own. `requests` has all that was asked."""

    def __init__(self, answer: Answer = play) -> None:
        self.answer = answer
        self.home = tempfile.mkdtemp(prefix="t")
        self.path = f"{self.home}/tools.sock"
        self.token = "right"
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.cancelled: list[int] = []
        self.connections = 0
        self.closed = 0
        self.changed = threading.Condition()
        self.peers: list[socket.socket] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        return {"IPYBOX_TOOL_SOCKET": self.path, "IPYBOX_TOOL_TOKEN": self.token}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        self.drop()
        shutil.rmtree(self.home)

    def drop(self) -> None:
        """Close every connection."""
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT
        with self.changed:
            while not condition():
                assert self.changed.wait(max(0.0, deadline - time.monotonic())), "it never came"

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.peers.append(peer)
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer: socket.socket) -> None:
        self._note(lambda: setattr(self, "connections", self.connections + 1))
        with contextlib.suppress(OSError), peer, peer.makefile("rb") as lines:
            for line in lines:
                self._handle(peer, json.loads(line))
        self._note(lambda: setattr(self, "closed", self.closed + 1))

    def _handle(self, peer: socket.socket, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
        if method == "hello":
            if params["token"] != self.token:
                answer["error"] = {"code": -32001, "message": "wrong token"}
                peer.sendall(json.dumps(answer).encode() + b"\n")
                peer.shutdown(socket.SHUT_RDWR)
                return
            answer["result"] = {}
        elif method == "cancel":
            self._note(lambda: self.cancelled.append(params["id"]))
            return
        else:
            self._note(lambda: self.requests.append((method, params)))
            result = self.answer(method, params)
            if result is None:
                return
            answer["result"] = result
        peer.sendall(json.dumps(answer).encode() + b"\n")

    def _note(self, change: Callable[[], Any]) -> None:
        with self.changed:
            change()
            self.changed.notify_all()
