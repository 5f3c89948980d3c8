# SPDX-License-Identifier: Apache-2.0
"""E2B's SDKs for JavaScript, unchanged but for the URL; what they saw is judged here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from box import GUARD, Box, tool_path
from e2b_box import serving, variables


@pytest.fixture(scope="module")
def seen(shared_box: Box) -> Iterator[dict[str, Any]]:
    with serving(shared_box.workspace) as url:
        command = ["node", str(tool_path("e2b.mjs"))]
        env = os.environ | variables(url)
        run = subprocess.run(command, stdout=subprocess.PIPE, env=env, timeout=GUARD, check=True)
        yield json.loads(run.stdout)


def test_control(seen: dict[str, Any]) -> None:
    control = seen["control"]
    metadata = {"who": "the tests & all"}
    assert control["info"] == {"id": seen["id"], "metadata": metadata, "state": "running"}
    assert (control["listed"], control["other"]) == ([seen["id"]], 0)
    assert (control["connected"], control["running"]) == (seen["id"], True)
    assert control["pause"] == {"first": True, "second": False, "state": "paused", "on": "41"}
    fork = control["fork"]
    assert (fork["own"], fork["other"], fork["killed"]) == ("[1, 2]", "[1]", [True] * 3)
    assert "snapshots are not served" in fork["snapshot"]
    assert fork["snapshots"] == 0
    assert "SandboxNotFound" in fork["unknown"]["name"]
    assert "not found" in control["unknown"]["message"]
    assert control["key"]["name"] == "AuthenticationError"
    assert seen["killed"] == [True, False, False]


def test_code(seen: dict[str, Any]) -> None:
    code = seen["code"]
    assert (code["lines"], code["text"], code["count"]) == ("out\n", "21", 1)
    assert (code["html"], code["json"]) == ("<b>b</b>", {"a": [1]})
    assert (code["error"], code["env"], code["bash"]) == ("ValueError", "fm", "42\n")
    assert code["left"]["name"] == "TimeoutError"
    assert code["was"] in (
        "(True, True)",
        "(None, None)",
    )  # by the client's clock: it may not have begun
    assert code["language"]["message"].startswith("400")  # it drops the text


def test_contexts(seen: dict[str, Any]) -> None:
    place = {"cwd": "/app/workspace", "language": "python"}
    life = {"inside": "1", "outside": "NameError", "restarted": "NameError"}
    assert seen["contexts"] == place | life | {"listed": True, "removed": True}
