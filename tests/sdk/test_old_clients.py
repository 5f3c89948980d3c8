# SPDX-License-Identifier: Apache-2.0
"""The clients of the Python ipybox and of mcpygen, unmodified, at a tool server without tokens.

Each program runs in its own environment, in which the SDK is not.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PLACE, SERVER

from ipybox.tool_exec.server import ToolServer
from ipybox.utils import find_free_port

TRIAL = """
import asyncio, importlib.metadata, sys
{imports}
port, params = int(sys.argv[1]), {{"command": sys.argv[2], "args": [sys.argv[3]]}}
asked = []

async def decide(request):
    asked.append((request.server_name, request.tool_name, request.tool_args))
    await (request.reject() if request.tool_args.get("query") == "no" else request.accept())

async def fails(words, tool, arguments, params=params):
    try:
        await ToolRunner("search", params, port=port).run(tool, arguments)
    except ToolRunnerError as error:
        assert words in str(error), error
    else:
        raise SystemExit("no error with the words: " + words)

async def main():
    runner = ToolRunner("search", params, port=port)
    await fails("Approval channel not connected", "pid", {{}})
    async with ApprovalClient(callback=decide, port=port):
        found = await runner.run("brave_image_search", {{"query": "q", "count": 2}})
        assert len(found["items"]) == 2, found
        first = await runner.run("pid", {{}})
        assert await asyncio.to_thread(runner.run_sync, "pid", {{}}) == first
        await fails("rejected", "brave_image_search", {{"query": "no"}})
        await fails("parameters", "pid", {{}}, {{"command": "another"}})
        await reset(port=port)
        assert await runner.run("pid", {{}}) != first
    assert asked[0] == ("search", "brave_image_search", {{"query": "q", "count": 2}}), asked

asyncio.run(main())
print(*(importlib.metadata.version(name) for name in {packages}), ToolRunner.__module__)
"""
OLD = """
from ipybox.tool_exec.approval.client import ApprovalClient
from ipybox.tool_exec.client import ToolRunner, ToolRunnerError, reset
"""
NEWER = """
from ipybox.code_exec import ApprovalClient, reset
from mcpygen.tool_exec.client import ToolRunner, ToolRunnerError
"""


def run_old(words: list[str], paths: str) -> subprocess.CompletedProcess[str]:
    """With the interpreter below our environment, and theirs in its place."""
    program = str(Path(sys.executable).resolve())
    env = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        [program, *words], env=env, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("folders", "imports", "packages", "said"),
    [
        (["0.7.1", "0.9.2"], OLD, ["ipybox"], "0.7.1 ipybox.tool_exec.client"),
        (["0.9.2"], NEWER, ["ipybox", "mcpygen"], "0.9.2 0.1.4 mcpygen.tool_exec.client"),
    ],
)
def test_they_call_and_approve(
    folders: list[str], imports: str, packages: list[str], said: str
) -> None:
    async def main() -> None:
        port = find_free_port()
        code = TRIAL.format(imports=imports, packages=packages)
        paths = ":".join(str(PLACE / "old" / name) for name in folders)
        words = ["-B", "-c", code, str(port), sys.executable, str(SERVER)]
        async with ToolServer(
            port=port, approval_required=True, log_level="ERROR", backend="native"
        ):
            done = await asyncio.to_thread(run_old, words, paths)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == said

    asyncio.run(main())
