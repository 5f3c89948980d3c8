# SPDX-License-Identifier: Apache-2.0
"""The image as `ipybox serve --e2b`, and the variables with which E2B's clients find it."""

from __future__ import annotations

import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from box import IMAGE, INSIDE, docker

KEY = "e2b_0123456789abcdef"
READY_SECONDS = 60


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_until_ready(url: str, container: str) -> None:
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=10).close()
            return
        except (OSError, urllib.error.HTTPError):
            assert time.monotonic() < end, docker("logs", container)
            time.sleep(0.05)


@contextmanager
def serving(workspace: Path, *options: str) -> Iterator[str]:
    """The URL of all of E2B's planes."""
    address = f"127.0.0.1:{free_port()}"
    command = ["run", "-d", "-p", f"{address}:8080", "-v", f"{workspace}:{INSIDE}"]
    command += ["-e", f"IPYBOX_TOKEN={KEY}", IMAGE, "serve", "--e2b", *options]
    container = docker(*command).strip()
    try:
        wait_until_ready(f"http://{address}", container)
        yield f"http://{address}"
        docker("stop", container)
        state = docker("inspect", "-f", "{{.State.ExitCode}}", container).strip()
        assert state == "0", docker("logs", container)
    finally:
        docker("rm", "-f", container)


def variables(url: str) -> dict[str, str]:
    return {"E2B_API_KEY": KEY, "E2B_API_URL": url, "E2B_SANDBOX_URL": url}


@contextmanager
def environment(url: str) -> Iterator[None]:
    """The SDKs read it with each call."""
    os.environ |= variables(url)
    try:
        yield
    finally:
        for name in variables(url):
            del os.environ[name]
