# SPDX-License-Identifier: Apache-2.0
"""A client of the HTTP API with nothing but the standard library; what a test adds follows it.

Runs in the container: 90-http.bats pipes both into its Python.
"""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

HOST = os.environ.get("HOST", "localhost")
PORT = int(os.environ.get("PORT", "8080"))
WAIT = float(os.environ["WAIT"])  # seconds for whatever is waited for, as in drive.py
EXECUTIONS = "/v1/sessions/default/executions"


class Answer:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.text = answer.read().decode()

    def __getitem__(self, name: str) -> Any:
        return json.loads(self.text)[name]


def start(
    method: str,
    path: str,
    body: object = None,
    token: str | None = "admin",
    headers: dict[str, str] | None = None,
) -> http.client.HTTPConnection:
    """Sends a request and does not wait for its answer."""
    connection = http.client.HTTPConnection(HOST, PORT, timeout=WAIT)
    sent = dict(headers or {})
    if token:
        sent["Authorization"] = f"Bearer {token}"
    data = None
    if body is not None:
        data = json.dumps(body)
        sent["Content-Type"] = "application/json"
    connection.request(method, path, data, sent)
    return connection


def call(
    method: str,
    path: str,
    body: object = None,
    token: str | None = "admin",
    headers: dict[str, str] | None = None,
) -> Answer:
    return Answer(start(method, path, body, token, headers).getresponse())


def run(code: str, session: str = "default", **more: object) -> Answer:
    return call("POST", f"/v1/sessions/{session}/executions", {"code": code, **more})


def text(code: str, session: str = "default") -> str:  # what a cell prints, which must succeed
    answer = run(code, session)
    assert answer["status"] == "ok", answer.text
    return str(answer["stdout"])


def fork(session: str, **how: object) -> Answer:
    answer = call("POST", f"/v1/sessions/{session}/fork", how)
    assert answer.status == 201, answer.text
    return answer


def traces() -> tuple[int, int, int]:  # processes, the server's descriptors, names of sockets
    processes = [p for p in pathlib.Path("/proc").glob("[0-9]*") if (p / "comm").exists()]
    server = next(
        p
        for p in processes
        if (p / "stat").read_text().split()[3] == "1" and (p / "comm").read_text() == "ipybox\n"
    )
    names = list(pathlib.Path("/run/ipybox").rglob("*"))
    return len(processes), len(list((server / "fd").iterdir())), len(names)


def events(connection: http.client.HTTPConnection) -> Iterator[dict[str, Any]]:
    """The events of a stream as they come, without comments; `number` is the id."""
    event: dict[str, Any] = {}
    for raw in connection.getresponse():
        name, _, value = raw.decode().rstrip("\n").partition(": ")
        if name in ("id", "event"):
            event["number" if name == "id" else name] = value
        elif name == "data":
            event.update(json.loads(value))
        elif not name and event:
            yield event
            event = {}


def stream(code: str, session: str = "default", **more: object) -> Iterator[dict[str, Any]]:
    path = f"/v1/sessions/{session}/executions"
    accept = {"Accept": "text/event-stream"}
    return events(start("POST", path, {"code": code, **more}, headers=accept))


def equal(actual: object, expected: object) -> None:
    assert actual == expected, f"expected: {expected!r}\nactual:   {actual!r}"


def has(text: str, part: str) -> None:
    assert part in text, f"missing: {part}\nin: {text}"


def wait_for(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def ready() -> bool:
    try:
        return call("GET", "/readyz", token=None).status == 200
    except OSError:
        return False
