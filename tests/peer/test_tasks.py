# SPDX-License-Identifier: Apache-2.0
"""MCP's own client for tasks (@modelcontextprotocol/ext-tasks 0.2.2) over HTTP."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from box import tool_path
from http_box import serving

SLOW = "import time; x = 1\ntime.sleep(7)\nprint('slow', x)"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("workspace")) as url:
        yield url


def run(mode: str, url: str, word: str) -> dict[str, Any]:
    command = ["node", str(tool_path("tasks.mjs")), mode, url, word]
    seen: dict[str, Any] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, timeout=90, check=True).stdout
    )
    return seen


def test_a_quick_cell_is_answered_at_once(url: str) -> None:
    seen = run("begin", url, "print(6 * 7)")
    assert seen["kind"] != "task"
    assert "42" in json.dumps(seen["outcome"])


def test_a_long_cell_is_a_task_that_another_process_takes_up(url: str) -> None:
    seen = run("begin", url, SLOW)
    assert seen["kind"] == "task"
    seen = run("resume", url, json.dumps(seen["reference"]))
    assert "slow 1" in json.dumps(seen["outcome"])
    assert "42" in json.dumps(run("begin", url, "print(x + 41)")["outcome"])


def test_a_task_is_cancelled(url: str) -> None:
    seen = run(
        "cancel",
        url,
        "import time; ended = None\ntry:\n    time.sleep(600)\n"
        "except KeyboardInterrupt:\n    ended = 'interrupted'",
    )
    assert seen["kind"] == "task"
    assert "interrupted" in json.dumps(run("begin", url, "print(ended)")["outcome"])
