# SPDX-License-Identifier: Apache-2.0
"""The image as `ipybox serve` with all three tokens, where shell commands need an approval."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from box import GUARD, IMAGE, address_of, running, wait_until_ready

ADMIN, EXECUTOR, APPROVER = "the-admin", "the-executor", "the-approver"


@contextmanager
def serving_approvals() -> Iterator[str]:
    """Its URL."""
    words = ["-p", "127.0.0.1::8080"]
    words += ["-e", f"IPYBOX_TOKEN={ADMIN}", "-e", f"IPYBOX_EXECUTE_TOKEN={EXECUTOR}"]
    words += ["-e", f"IPYBOX_APPROVER_TOKEN={APPROVER}"]
    with running(*words, IMAGE, "serve", "--approve-shell-cmds") as container:
        url = f"http://{address_of(container, 8080)}"
        wait_until_ready(f"{url}/startupz", container)
        yield url


class Human:
    """Who has the approver's token; each of these is a look at the HTTP API."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/v1/approvals"

    def _open(self, path: str = "", body: object = None, accept: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {APPROVER}", "Accept": accept}
        data = None if body is None else json.dumps(body).encode()
        if data:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self.url}{path}", data, headers)
        return urllib.request.urlopen(request, timeout=GUARD)

    def waiting(self) -> list[dict[str, Any]]:
        with self._open() as answer:
            approvals: list[dict[str, Any]] = json.load(answer)["approvals"]
        return approvals

    def accept(self, name: str) -> None:
        self._open(f"/{name}", {"decision": "accept"}).close()

    @contextmanager
    def watching(self) -> Iterator[Iterator[dict[str, Any]]]:
        """What is asked, from a stream that is open meanwhile."""
        with self._open(accept="text/event-stream") as stream:
            yield self._asked(stream)

    @staticmethod
    def _asked(stream: Any) -> Iterator[dict[str, Any]]:
        event = ""
        for raw in stream:
            name, _, value = raw.decode().strip().partition(": ")
            if name == "event":
                event = value
            elif name == "data" and event == "asked":
                yield json.loads(value)
