# SPDX-License-Identifier: Apache-2.0
"""The MCP Inspector 2.12 on the command line: what people debug servers with."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from box import GUARD, TOOLS, Box, old_config

ERAS = ["legacy", "auto", "modern"]


def inspect(home: Path, target: list[str], *options: str) -> tuple[int, str, str]:
    """Status and output of one run; it keeps what it writes below `home`."""
    command = ["mcp-inspector", "--cli", *target, *options, "--format", "json", "-q"]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    run = subprocess.run(
        command, env=environment, check=False, capture_output=True, text=True, timeout=GUARD
    )
    return run.returncode, run.stdout, run.stderr


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def result_of(output: tuple[int, str, str]) -> dict[str, Any]:
    status, out, err = output
    assert status == 0, err
    answer: dict[str, Any] = json.loads(out)
    result: dict[str, Any] = answer.get("result", answer)
    return result


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.gate
def test_tools_are_listed(box: Box, home: Path, era: str) -> None:
    options = ["--protocol-era", era, "--method", "tools/list"]
    tools = result_of(inspect(home, box.command(), *options))["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    assert tools[0]["inputSchema"]["properties"]["timeout"]["default"] == 120
    assert box.is_gone()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.gate
def test_a_tool_is_called(box: Box, home: Path, era: str) -> None:
    arguments = {"code": "import os; print(6 * 7, os.getcwd())", "timeout": 30}
    options = ["--protocol-era", era, "--method", "tools/call"]
    options += ["--tool-name", TOOLS[0], "--tool-args-json", json.dumps(arguments)]
    result = result_of(inspect(home, box.command(), *options))
    assert result["content"] == [{"type": "text", "text": "42 /app/workspace"}]
    assert not result.get("isError")
    assert box.is_gone()


def test_arguments_may_come_as_text(box: Box, home: Path) -> None:
    """key=value pairs, which the Inspector converts by the schema."""
    options = ["--method", "tools/call", "--tool-name", TOOLS[0]]
    options += ["--tool-arg", "code=print('x' * 30)", "max_output_chars=10", "timeout=2.5"]
    text = result_of(inspect(home, box.command(), *options))["content"][0]["text"]
    assert text.startswith("x" * 10 + "\n\n[Output truncated: exceeded 10 character limit]")


@pytest.mark.gate
def test_a_failed_cell_is_shown(box: Box, home: Path) -> None:
    options = ["--method", "tools/call", "--tool-name", TOOLS[0]]
    status, out, _ = inspect(home, box.command(), *options, "--tool-args-json", '{"code": "1/0"}')
    assert status == 5  # its own status for isError
    result = json.loads(out)["result"]
    assert result["isError"] is True
    assert "ZeroDivisionError: division by zero" in result["content"][0]["text"]


def test_schemas_are_portable(box: Box, home: Path) -> None:
    status, _, err = inspect(home, box.command(), "--method", "tools/list", "--strict")
    assert (status, err) == (0, "")


def test_many_calls_at_once_are_all_answered(box: Box, home: Path) -> None:
    options = ["--method", "tools/call", "--tool-name", TOOLS[0]]
    options += ["--tool-args-json", '{"code": "print(1)"}']
    options += ["--load", "--load-concurrency", "20", "--load-requests", "500"]
    summary = result_of(inspect(home, box.command(), *options, "--protocol-era", "modern"))
    assert (summary["requests"], summary["ok"]) == (500, 500), summary
    assert (summary["toolErrors"], summary["errors"]) == (0, 0), summary


def test_the_old_configuration_works_unchanged(box: Box, home: Path) -> None:
    config = home / "config.json"
    config.write_text(json.dumps(old_config(box.workspace)))
    target = ["--config", str(config), "--server", "ipybox"]
    options = ["--method", "tools/call", "--tool-name", TOOLS[0]]
    options += ["--tool-args-json", '{"code": "print(\'as before\')"}']
    result = result_of(inspect(home, target, *options))
    assert result["content"] == [{"type": "text", "text": "as before"}]
