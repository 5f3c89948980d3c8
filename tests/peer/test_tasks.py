# SPDX-License-Identifier: Apache-2.0
"""MCP's own client for tasks (@modelcontextprotocol/ext-tasks 0.2.2) over HTTP."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from box import GUARD, tool_path
from cells import ENDLESS, INTERRUPTED, SEEN, UNSEEN, Held
from http_box import serving

NEVER, AT_ONCE = str(1000 * GUARD), "1"  # ms until a call becomes a task


def run(mode: str, url: str, *words: str) -> dict[str, Any]:
    command = ["node", str(tool_path("tasks.mjs")), mode, url, *words]
    seen: dict[str, Any] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, timeout=GUARD, check=True).stdout
    )
    return seen


def outcome(url: str, code: str) -> str:
    """Of a cell, whatever the server makes of its call."""
    return json.dumps(run("run", url, code)["outcome"])


def test_a_quick_cell_is_answered_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, TASK_AFTER_MS=NEVER) as url:
        seen = run("begin", url, "print(6 * 7)")
    assert seen["kind"] != "task"
    assert "42" in json.dumps(seen["outcome"])


def test_a_long_cell_is_a_task_that_another_process_takes_up(tmp_path: Path) -> None:
    held = Held(tmp_path)
    with serving(tmp_path, TASK_AFTER_MS=AT_ONCE) as url:
        seen = run("begin", url, f"x = 1\n{held.code}")
        assert seen["kind"] == "task"
        held.let_go()
        seen = run("resume", url, json.dumps(seen["reference"]))
        assert "step 0\\nstep 1" in json.dumps(seen["outcome"])
        assert "42" in outcome(url, "print(x + 41)")


def test_a_task_is_cancelled(tmp_path: Path) -> None:
    code = ENDLESS.replace("print('begun', flush=True)", "open('begun', 'w').close()")
    with serving(tmp_path, TASK_AFTER_MS=AT_ONCE) as url:
        outcome(url, UNSEEN)
        seen = run("cancel", url, code, str(tmp_path / "begun"))
        assert seen["kind"] == "task"
        assert INTERRUPTED in outcome(url, SEEN)
