# SPDX-License-Identifier: Apache-2.0
"""Packages of mcpygen's generator, in an environment with mcpygen and this wheel: as freeact's is.

Natively: code in a container has the image's packages.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import PATIENCE, PLACE, SERVER

BEGIN = f"""
import asyncio, sys
from pathlib import Path
SERVER = {{"command": sys.executable, "args": [{str(SERVER)!r}]}}
SEARCH = '''
from mcpygen.tool_exec.client import ApprovalRejectedError
from mcptools.search import CLIENT
from mcptools.search.brave_image_search import Params, run
import mcpygen
assert "_kernel" not in mcpygen.__file__, "it is not PyPI's"
try:
    print(len(run(Params(query="q", count=3)).items), len((await CLIENT.run("pid", {{}})) or ""))
except ApprovalRejectedError as error:
    print("rejected:", error)
'''
def generate(name="search"):
    import mcpygen
    return mcpygen.generate_mcp_sources(name, SERVER, Path("mcptools"))
async def ask(executor, accept=True):
    import ipybox
    asked = []
    async for item in executor.stream(SEARCH):
        if isinstance(item, ipybox.ApprovalRequest):
            asked.append(str(item))
            await (item.accept() if accept else item.reject())
    return asked, item.text
ASKED = ["search.brave_image_search(query='q', count=3)", "search.pid()"]
def check(found):
    asked, text = found
    assert asked == ASKED, found
    assert text.startswith("3 ") and text != "3 0", found
"""


def succeeds(code: str) -> str:
    """What a program in the environment prints."""
    path = f"{PLACE / 'freeact' / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [PLACE / "freeact" / "bin" / "python", "-W", "ignore", "-c", BEGIN + code],
        env={**os.environ, "PATH": path, "IPYBOX_BACKEND": "native"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("first", ["ipybox", "mcpygen", "ipybox.code_exec, mcpygen"])
def test_calls_ask_and_reach_the_server(first: str) -> None:
    """Whatever the application imports first."""
    succeeds(f"""
import {first}
from ipybox import CodeExecutor
async def main():
    assert sorted(await generate()) == ["brave_image_search", "key", "pid"]
    async with CodeExecutor() as executor:
        check(await ask(executor))
        asked, text = await ask(executor, accept=False)
        assert asked == ASKED[:1] and text.startswith("rejected:"), (asked, text)
asyncio.run(main())
""")


def test_an_executor_that_runs_learns_of_them() -> None:
    succeeds("""
from ipybox import CodeExecutor
async def main():
    async with CodeExecutor() as executor:
        await generate()
        check(await ask(executor))
asyncio.run(main())
""")


def test_those_of_a_program_without_ipybox_are_adopted() -> None:
    succeeds("asyncio.run(generate())")
    assert Path("mcptools/search/pid.py").exists()
    succeeds("""
import ipybox
async def main():
    async with ipybox.CodeExecutor() as executor:
        asked, text = [], ""
        try:
            await ask(executor)
        except ipybox.CodeExecutionError as error:
            assert "not registered" in str(error), error
        else:
            raise AssertionError("it was called before it was adopted")
    assert ipybox.adopt_mcp_sources(Path("mcptools")) == ["search"]
    async with ipybox.CodeExecutor() as executor:
        check(await ask(executor))
asyncio.run(main())
""")
