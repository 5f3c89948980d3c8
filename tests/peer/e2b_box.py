# SPDX-License-Identifier: Apache-2.0
"""The image as `ipybox serve --e2b`, and the variables with which E2B's clients find it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from box import IMAGE, INSIDE, address_of, running, wait_until_ready

KEY = "e2b_0123456789abcdef"


@contextmanager
def serving(workspace: Path, *options: str) -> Iterator[str]:
    """The URL of all of E2B's planes."""
    words = ["-p", "127.0.0.1::8080", "-v", f"{workspace}:{INSIDE}", "-e", f"IPYBOX_TOKEN={KEY}"]
    with running(*words, IMAGE, "serve", "--e2b", *options) as container:
        url = f"http://{address_of(container, 8080)}"
        wait_until_ready(f"{url}/readyz", container)
        yield url


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
