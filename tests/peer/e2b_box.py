# SPDX-License-Identifier: Apache-2.0
"""The image as `ipybox serve --e2b`, and the variables with which E2B's clients find it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from box import IMAGE, INSIDE, running, wait_until_ready
from tool_box import free_port

KEY = "e2b_0123456789abcdef"


@contextmanager
def serving(workspace: Path, *options: str) -> Iterator[str]:
    """The URL of all of E2B's planes."""
    address = f"127.0.0.1:{free_port()}"
    words = ["-p", f"{address}:8080", "-v", f"{workspace}:{INSIDE}", "-e", f"IPYBOX_TOKEN={KEY}"]
    with running(*words, IMAGE, "serve", "--e2b", *options) as container:
        wait_until_ready(f"http://{address}/readyz", container)
        yield f"http://{address}"


def container_of(url: str) -> str:
    """The id of the container that serves there."""
    port = url.rsplit(":", 1)[1]
    words = ["docker", "ps", "-q", "--filter", f"publish={port}"]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


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
