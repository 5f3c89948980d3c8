# SPDX-License-Identifier: Apache-2.0
"""The own examples of the Python ipybox, function by function, as tests/sdk/oracle starts them.

The working directory has the folder examples/ of a clone; `npx` starts a local server in place of
the Brave search, which needs a key.
"""

from __future__ import annotations

import ast
import asyncio
import runpy
from pathlib import Path

import pytest


def functions() -> list[tuple[str, str]]:
    """File and name of each; those of apigen.py come first and make the packages of the others."""
    return [
        (str(path), node.name)
        for path in sorted(Path("examples").glob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.AsyncFunctionDef) and node.name != "main"
    ]


@pytest.mark.parametrize(("path", "name"), functions())
def test_example(path: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their own assertions are the expectation; whoever is asked says yes."""
    monkeypatch.setattr("builtins.input", lambda prompt: "y")
    asyncio.run(runpy.run_path(path)[name]())
