"""Where mcpygen of PyPI is installed, what calls tools by it reaches the kernel's own server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from box import Kernel
from tool_server import ToolServer

# As mcpygen 0.1.4 has it, but that nothing is sent: tests/sdk/test_mcpygen.py has the real one.
CLIENT = """
class ToolRunnerError(Exception): pass
class ApprovalRejectedError(ToolRunnerError): pass
class ApprovalTimeoutError(ToolRunnerError): pass

class ToolRunner:
    def __init__(self, server_name, server_params, host="localhost", port=8900):
        self.server_name, self.server_params = server_name, server_params
        self.host, self.port = host, port
    async def run(self, tool_name, tool_args):
        return f"sent to {self.host}:{self.port}"
    def run_sync(self, tool_name, tool_args):
        return f"sent to {self.host}:{self.port}"
    async def reset(self):
        return await reset(self.host, self.port)

async def reset(host="localhost", port=8900):
    return f"reset {host}:{port}"
"""
APPROVAL = """
class ApprovalRequestor:
    def __init__(self, server_name, host="localhost", port=8900):
        self.server_name, self.host, self.port = server_name, host, port
    async def request(self, tool_name, tool_args):
        return f"sent to {self.host}:{self.port}"
    def request_sync(self, tool_name, tool_args):
        return f"sent to {self.host}:{self.port}"

class ApprovalClient: pass
"""
FILES = {
    "__init__": "from mcpygen.tool_exec.client import ToolRunner\n",
    "tool_exec/__init__": "",
    "tool_exec/client": CLIENT,
    "tool_exec/approval/__init__": "",
    "tool_exec/approval/client": APPROVAL,
}
BEGIN = """
from mcpygen.tool_exec import client as m
from mcpygen.tool_exec.approval.client import ApprovalClient, ApprovalRequestor
runner = m.ToolRunner("search", {"command": "x"})
def fails(**arguments):
    try:
        runner.run_sync("fails", arguments)
    except m.ToolRunnerError as error:
        return type(error) is getattr(m, type(error).__name__), type(error).__name__, str(error)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the package."""
    for name, text in FILES.items():
        file = tmp_path / "mcpygen" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


@pytest.fixture
def server() -> Iterator[ToolServer]:
    with ToolServer() as running:
        yield running


def test_calls_and_questions_reach_the_server(site: Path, server: ToolServer) -> None:
    with Kernel(env={**server.environment, "PYTHONPATH": str(site)}) as kernel:
        assert kernel.run(BEGIN).status == "ok"
        assert kernel.run("m.__file__").value == repr(f"{site}/mcpygen/tool_exec/client.py")
        assert kernel.run("runner.run_sync('echo', {'a': 1})").value == "{'a': 1}"
        assert kernel.run("await runner.run('echo', {'a': 2})").value == "{'a': 2}"
        assert kernel.run("await runner.reset(); await m.reset()").status == "ok"
        assert kernel.run("ApprovalRequestor('s').request_sync('t', {})").status == "ok"
        assert kernel.run("await ApprovalRequestor('s').request('t', {})").status == "ok"
        assert [method for method, _ in server.requests] == [
            "run", "run", "reset", "reset", "approve", "approve"
        ]  # fmt: skip
        assert server.requests[0][1]["server_params"] == {"command": "x"}


def test_the_errors_are_theirs(site: Path, server: ToolServer) -> None:
    with Kernel(env={**server.environment, "PYTHONPATH": str(site)}) as kernel:
        kernel.run(BEGIN)
        for kind, name in (
            ("rejected", "ApprovalRejectedError"),
            ("timeout", "ApprovalTimeoutError"),
            ("else", "ToolRunnerError"),
        ):
            failed = kernel.run(f"fails(why='so', type={kind!r})")
            assert failed.value == repr((True, name, "so"))


@pytest.mark.parametrize(
    ("variables", "arguments"),
    [
        ({}, "host='localhost', port=9000"),
        ({}, "host='elsewhere'"),
        ({"TOOL_SERVER_PORT": "8900"}, ""),
        ({"TOOL_SERVER_HOST": "localhost"}, ""),
    ],
)
def test_another_tool_server_is_left_alone(
    variables: dict[str, str], arguments: str, site: Path, server: ToolServer
) -> None:
    with Kernel(env={**server.environment, **variables, "PYTHONPATH": str(site)}) as kernel:
        kernel.run(BEGIN)
        made = kernel.run(f"m.ToolRunner('search', {{}}, {arguments}).run_sync('echo', {{}})")
        assert made.value.startswith("'sent to ")
        assert not server.requests


def test_without_a_tool_server_nothing_is_changed(site: Path) -> None:
    with Kernel(env={"PYTHONPATH": str(site)}) as kernel:
        kernel.run(BEGIN)
        assert kernel.run("runner.run_sync('echo', {})").value == "'sent to localhost:8900'"


def test_names_of_ours_stay_ours(server: ToolServer) -> None:
    with Kernel(env=server.environment) as kernel:
        kernel.run("import ipybox_tools as ours, mcpygen.tool_exec.client as names")
        same = "names.ToolRunner is ours.ToolRunner, names.reset is ours.reset"
        assert kernel.run(same).value == "(True, True)"
