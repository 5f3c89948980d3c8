# SPDX-License-Identifier: Apache-2.0
"""A server that speaks MCP over HTTP: the program mcp-http, which tests/peer/run has built."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from box import GUARD


@contextmanager
def serving(workspace: Path, *options: str, mode: str = "plain", **env: str) -> Iterator[str]:
    """The URL of its /mcp. It must end well, with whatever its sanitizers have to say."""
    program = os.environ["PEER_MCP_HTTP"]
    python = os.environ["PEER_KERNEL_PYTHON"]
    command = [program, "0", mode, "--workspace", str(workspace), "--python", python, *options]
    with (workspace / "server.log").open("w+b") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=workspace,
            env=os.environ | env,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline())
            yield f"http://localhost:{port}/mcp"
        finally:
            process.stdin.close()
            try:
                status = process.wait(GUARD)
            finally:
                process.kill()
                process.stdout.close()
                log.seek(0)
                text = log.read().decode(errors="replace")
        assert status == 0, text
