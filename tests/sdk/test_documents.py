# SPDX-License-Identifier: Apache-2.0
"""The Python blocks of docs/sdk and README.md run, page by page, on both backends.

`npx` stands for a local server with the tools of the Brave search. Everything else runs as it is
written.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PLACE, SERVER
from documents import named

from ipybox import CodeExecutor

PAGES = ("sdk-readme", "sdk-quickstart", "sdk-apigen", "sdk-codeexec", "sdk-sandbox")


def texts(name: str) -> list[str]:
    return [block.text for block in named(name, PLACE)]


@pytest.fixture
def npx(folder: Path, backend: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`npx -y @brave/brave-search-mcp-server …` starts the server of the tests."""
    monkeypatch.setenv("BRAVE_API_KEY", "key")
    shutil.copy(SERVER, folder / "search_server.py")
    if backend == "native":
        (folder.parent / "bin").mkdir(exist_ok=True)
        program = folder.parent / "bin" / "npx"
        program.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        yield
        return
    image = f"{os.environ['IPYBOX_IMAGE'].partition(':')[0]}-documents"
    context = folder / "context"
    context.mkdir()
    shutil.copy(SERVER, context / "server.py")
    (context / "npx").write_text("#!/bin/sh\nexec python3 /opt/server.py\n")
    (context / "npx").chmod(0o755)
    (context / "Dockerfile").write_text(
        f"FROM {os.environ['IPYBOX_IMAGE']}\nCOPY server.py /opt/\nCOPY npx /usr/local/sbin/npx\n"
    )
    subprocess.run(
        ["docker", "build", "-q", "-t", image, str(context)], check=True, capture_output=True
    )
    monkeypatch.setenv("IPYBOX_IMAGE", image)
    yield
    subprocess.run(["docker", "rmi", "-f", image], check=True, capture_output=True)


async def run_block(code: str, name: str, space: dict[str, Any]) -> None:
    compiled = compile(code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    function = types.FunctionType(compiled, space)
    found = function()
    if inspect.isawaitable(found):
        await found


@pytest.mark.parametrize("page", PAGES)
def test_page(
    page: str, backend: str, npx: None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: print(prompt) or "y")
    monkeypatch.syspath_prepend(str(folder))
    for module in [name for name in sys.modules if name.partition(".")[0] == "mcptools"]:
        del sys.modules[module]

    async def main() -> None:
        space: dict[str, Any] = {"__name__": "documents"}
        if page == "sdk-codeexec":
            await run_block(texts("sdk-apigen")[0], "sdk-apigen", dict(space))
        for number, block in enumerate(texts(page)):
            if "matplotlib" in block and backend == "docker":
                block = block.replace(
                    "result = await", "await executor.install_package('matplotlib'); result = await"
                )
            await run_block(block, f"{page}[{number}]", space)
        if page == "sdk-quickstart":
            await space["main"]()

    asyncio.run(main())


def test_the_quickstart_prints_what_it_says(
    backend: str,
    npx: None,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: print(prompt) or "")
    [block] = texts("sdk-quickstart")
    space: dict[str, Any] = {"__name__": "documents"}
    asyncio.run(run_block(block, "quickstart", space))
    asyncio.run(space["main"]())
    said = capsys.readouterr().out
    asked = "Tool call: [brave_search.brave_image_search(query='neural topic models', count=3)]"
    assert asked in said and "- [T0](http://u/0)\n- [T1](http://u/1)\n- [T2](http://u/2)\n" in said


def test_packages_of_the_environment(folder: Path) -> None:
    """Natively code imports what the application could."""

    async def main() -> None:
        async with CodeExecutor(backend="native") as executor:
            assert (
                await executor.execute("import pytest; print(pytest.__version__)")
            ).text == pytest.__version__

    asyncio.run(main())


def test_documentation_for_language_models() -> None:
    index, full = ((PLACE / "docs" / name).read_text() for name in ("llms.txt", "llms-full.txt"))
    links = re.findall(r"/blob/main/([^)]+)\): (.+)", index)
    assert len(links) > 30 and all(summary.endswith(".") for _, summary in links)
    assert all(f"<!-- {name} -->" in full for name, _ in links)
    assert "async with CodeExecutor() as executor:" in full
