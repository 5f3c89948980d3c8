# SPDX-License-Identifier: Apache-2.0
"""The MCP TypeScript client 2.4 in all its modes of version negotiation, through typescript.mjs."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from box import GUARD, TOOLS, Box, statuses, tool_path

pytestmark = pytest.mark.gate

ERAS = {"legacy": "legacy", "auto": "modern", "2026-07-28": "modern"}
CONTAINERS = {"legacy": 1, "auto": 2, "2026-07-28": 2}


def run_client(mode: str, workspace: Path, *server: str) -> dict[str, Any]:
    run = subprocess.run(
        ["node", str(tool_path("typescript.mjs")), mode, *server],
        stdout=subprocess.PIPE,
        env=os.environ | {"PEER_WORKSPACE": str(workspace)},
        timeout=5 * GUARD,  # it waits for many things, each with a limit of its own
        check=True,
    )
    seen: dict[str, Any] = json.loads(run.stdout)
    return seen


@pytest.fixture(scope="module", params=list(ERAS))
def seen(
    request: pytest.FixtureRequest, shared_box: Box, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """What one whole session in this mode saw. Before a modern one there is a throw-away probe."""
    status = tmp_path_factory.mktemp("status") / "status"
    command = shared_box.unsignalled(status)
    seen = run_client(request.param, shared_box.workspace, *command)
    assert shared_box.is_gone(), "a container outlived its client"
    ends = statuses(status)
    began = status.read_text().split().count("begun")
    yield seen | {"mode": request.param, "containers": began, "ends": ends}


def text(result: dict[str, Any]) -> str:
    assert not result["isError"]
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


def test_the_era_is_the_one_asked_for(seen: dict[str, Any]) -> None:
    assert seen["era"] == ERAS[seen["mode"]]
    assert seen["version"] == {"legacy": "2025-11-25", "modern": "2026-07-28"}[seen["era"]]


def test_a_probe_has_a_container_of_its_own(seen: dict[str, Any]) -> None:
    assert seen["containers"] == CONTAINERS[seen["mode"]]


def test_the_server_introduces_itself(seen: dict[str, Any]) -> None:
    assert seen["server"]["name"] == "ipybox"
    assert "tools" in seen["capabilities"]
    assert "execute_ipython_cell" in seen["instructions"]


def test_tools_have_the_arguments_and_defaults_of_old(seen: dict[str, Any]) -> None:
    assert [tool["name"] for tool in seen["tools"]] == TOOLS
    execute = seen["tools"][0]["inputSchema"]
    assert execute["required"] == ["code"]
    assert execute["properties"]["timeout"]["default"] == 120
    assert execute["properties"]["max_output_chars"]["default"] == 5000


def test_cells_return_their_output_and_keep_state(seen: dict[str, Any]) -> None:
    assert text(seen["print"]) == "hello world"
    assert text(seen["state"]) == "42"
    assert text(seen["unicode"]) == "ä🐍\u2028"
    assert seen["long"] is True


def test_errors_are_results(seen: dict[str, Any]) -> None:
    prefix = "Error executing tool execute_ipython_cell: "
    for name, begin in {
        "error": "ZeroDivisionError: division by zero\n",
        "timeout": "TimeoutError: ",
        "wrongArguments": "code: ",
    }.items():
        assert seen[name]["isError"] is True
        assert seen[name]["content"][0]["text"].startswith(prefix + begin)


def test_an_unknown_tool_is_an_error_of_the_protocol(seen: dict[str, Any]) -> None:
    assert seen["unknownTool"]["code"] == -32602
    assert "nonsense" in seen["unknownTool"]["message"]


def test_progress_carries_the_output_while_the_cell_runs(seen: dict[str, Any]) -> None:
    progress = seen["progress"]
    assert text(seen["progressResult"]) == "step 0\nstep 1"
    assert "".join(p["message"] for p in progress) == "step 0\nstep 1\n"
    assert [p["progress"] for p in progress] == sorted({p["progress"] for p in progress})


def test_calls_that_were_given_up_are_interrupted(seen: dict[str, Any]) -> None:
    assert seen["aborted"]["name"] == "SdkError"
    assert text(seen["afterAbort"]) == "(40, True, 'interrupted')"
    assert "timed out" in seen["gaveUp"]["message"]
    # The cell may not have begun by then.
    assert text(seen["afterGaveUp"]) in ("(40, True, 'interrupted')", "(40, None, None)")


def test_calls_at_the_same_time_are_all_answered(seen: dict[str, Any]) -> None:
    assert seen["parallel"] == [str(n) for n in range(20)]


def test_listen_is_acknowledged_in_the_modern_era(seen: dict[str, Any]) -> None:
    listen = seen["listen"]
    if seen["era"] == "legacy":
        assert listen["code"] == "METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION"
        return
    assert listen["honored"] == {"toolsListChanged": True}
    assert text(listen["meanwhile"]) == "'meanwhile'"
    assert listen["closed"] == "local"
    assert text(listen["afterwards"]) == "'afterwards'"


def test_reset_returns_a_line_and_clears_the_state(seen: dict[str, Any]) -> None:
    assert text(seen["reset"]).startswith("The kernel is new")
    assert text(seen["afterReset"]) == "False"


def test_close_needs_no_signal(seen: dict[str, Any]) -> None:
    assert seen["ends"] == {"0"}
