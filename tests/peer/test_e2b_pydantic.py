# SPDX-License-Identifier: Apache-2.0
"""The E2B sandbox of pydantic-ai-harness: its commands begin with setsid, its timeouts pause."""

from __future__ import annotations

import asyncio

import pytest
from box import Box
from e2b import Sandbox
from e2b_box import environment, serving
from pydantic_ai.workspaces import WorkspaceTimeoutError
from pydantic_ai_harness.e2b_sandbox import E2BSandboxBackend


async def use_workspace() -> None:
    backend = E2BSandboxBackend(sandbox_timeout=600, working_dir="/home/user")
    ran = await backend.run(["sh", "-c", "pwd; echo $X; echo err >&2; exit 3"], env={"X": "é"})
    assert (ran.exit_code, ran.stdout, ran.stderr) == (3, "/app/workspace\né\n", "err\n")
    await backend.write_bytes("deep/a.bin", b"\x00\xff")
    assert await backend.read_bytes("deep/a.bin") == b"\x00\xff"
    with pytest.raises(WorkspaceTimeoutError):
        await backend.run(["sleep", "2000"], timeout=1)
    sandbox = await backend.get_sandbox()
    (left,) = await sandbox.commands.list()  # it is killed by another command, which may not
    assert await sandbox.commands.kill(left.pid)
    assert (await sandbox.get_info()).lifecycle["on_timeout"] == "pause"
    await sandbox.pause()
    again = E2BSandboxBackend(ref=backend.ref)  # which resumes it
    assert (await again.run(["sh", "-c", "echo on"])).stdout == "on\n"
    assert await sandbox.kill()


def test_workspace(shared_box: Box) -> None:
    with serving(shared_box.workspace) as url, environment(url):
        asyncio.run(use_workspace())
        assert not Sandbox.list().next_items()
