# SPDX-License-Identifier: Apache-2.0
"""E2B's SDK for JavaScript: files, commands and terminals, unchanged but for the URL."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from box import GUARD, Box
from e2b_box import serving, variables


@pytest.fixture(scope="module")
def seen(shared_box: Box) -> Any:
    folder = Path(os.environ["PEER_NODE_DIR"])
    with serving(shared_box.workspace) as url:
        done = subprocess.run(
            ["node", str(folder / "e2b_envd.mjs")],
            capture_output=True,
            check=False,
            cwd=folder,
            env=os.environ | variables(url),
            text=True,
            timeout=GUARD,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_files(seen: Any) -> None:
    files = seen["files"]
    assert files.pop("absent")["name"] == "FileNotFoundError"
    assert files == {
        "written": "/home/user/js/watched/a.txt",
        "many": ["/home/user/js/b", "/home/user/js/c"],
        "text": "text é",
        "bytes": 1,
        "moved": "/home/user/js/d",
        "events": ["create a.txt", "write a.txt"],
        "list": [f"/home/user/js/{name}" for name in ("c", "d", "watched", "watched/a.txt")],
        "exists": False,
        "again": False,
        "info": 1,
        "removed": True,
    }


def test_commands_and_terminals(seen: Any) -> None:
    commands = seen["commands"]
    assert commands.pop("status")["name"] == "CommandExitError"
    assert commands.pop("time")["name"] == "TimeoutError"
    assert "cwd '/nowhere' does not exist" in commands.pop("cwd")["message"]
    assert commands == {
        "stdout": "out\nx\n",
        "out": "out\nx\n",
        "stderr": "err\n",
        "typed": "typed\n",
        "same": True,
        "listed": True,
        "killed": [True, False],
        "size": True,
    }
