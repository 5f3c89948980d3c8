# SPDX-License-Identifier: Apache-2.0
"""Other people's MCP servers: registered in the container, and their tools called by code.

Those on standard streams run inside the container, from files that are mounted; those on HTTP run
beside it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from box import GUARD, INSIDE, Box, own_port
from tool_box import ToolBox, install, tool_box, wait_for_port

NODE = Path(os.environ["PEER_NODE_DIR"])
GO = Path(os.environ["PEER_GO_DIR"])
PYTHON_SERVERS = [
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
    "mcp-server-fetch==2026.10.24",
]


def node(package: str, *words: str) -> dict[str, Any]:
    script = f"/node/node_modules/@modelcontextprotocol/{package}/dist/index.js"
    return {"command": "node", "args": [script, *words]}


def python(module: str, *words: str) -> dict[str, Any]:
    env = {"PYTHONPATH": f"{INSIDE}/site"}
    return {"command": "python3", "args": ["-m", module, *words], "env": env}


@pytest.fixture(scope="module")
def it(shared_box: Box) -> Iterator[ToolBox]:
    install(shared_box, *PYTHON_SERVERS)
    mounts = ["-v", f"{NODE}/node_modules:/node/node_modules:ro", "-v", f"{GO}:/go:ro"]
    # Their packages are compiled at every start: the folder is not the server's to write to.
    with tool_box(shared_box, "--connect-timeout", str(GUARD), options=mounts) as it:
        it.cell("!git init -q repo; mkdir -p files; echo 'a line' > files/one.txt")
        yield it


def register(it: ToolBox, name: str, params: dict[str, Any]) -> list[str]:
    text = it.tool("register_mcp_server", server_name=name, server_params=params)
    assert not text.startswith("Error"), text
    assert text.startswith(f"Registered {name}: ")
    assert (f"\nThe server {name} runs " in text) == ("command" in params)
    return it.cell(
        f"import mcptools.{name} as s; print(*(n for n in dir(s) if n.islower()))"
    ).split()


def call(it: ToolBox, server: str, tool: str, result: str = "r", **arguments: Any) -> str:
    """What an expression of the result `r` prints."""
    return it.cell(
        f"from mcptools.{server} import {tool} as t\n"
        f"r = t.run(t.Params.model_validate({arguments!r}))\nprint({result})"
    )


# --- npm ---


def test_everything(it: ToolBox) -> None:
    tools = register(it, "everything", node("server-everything", "stdio"))
    assert {"echo", "get_sum", "get_tiny_image", "get_structured_content"} <= set(tools)
    assert call(it, "everything", "echo", message="hé") == "Echo: hé"
    assert "5" in call(it, "everything", "get_sum", a=2, b=3)
    kinds = "[type(b).__name__ for b in r.content]"
    assert "ImageContent" in call(it, "everything", "get_tiny_image", kinds)
    assert "ResourceLink" in call(it, "everything", "get_resource_links", kinds, count=2)
    text = call(it, "everything", "get_structured_content", "r.temperature", location="Chicago")
    assert float(text)
    text = call(it, "everything", "trigger_long_running_operation", duration=1, steps=4)
    assert "completed" in text


def test_filesystem(it: ToolBox) -> None:
    tools = register(it, "files", node("server-filesystem", f"{INSIDE}/files"))
    assert "read_text_file" in tools
    path = f"{INSIDE}/files/one.txt"
    assert call(it, "files", "read_text_file", "r.content", path=path) == "a line"
    text = call(it, "files", "read_text_file", path="/etc/passwd")
    assert "ToolRunnerError" in text
    assert "denied" in text


def test_memory(it: ToolBox) -> None:
    params = node("server-memory")
    register(it, "memory", {**params, "env": {"MEMORY_FILE_PATH": f"{INSIDE}/memory.jsonl"}})
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote a program"]}
    call(it, "memory", "create_entities", entities=[ada])
    names = "[e.name for e in r.entities]"
    assert call(it, "memory", "search_nodes", names, query="program") == "['Ada']"


def test_sequential_thinking(it: ToolBox) -> None:
    (tool,) = register(it, "thinking", node("server-sequential-thinking"))
    thought = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    assert call(it, "thinking", tool, "r.thoughtNumber", **thought).startswith("1")


# --- PyPI ---


def test_git(it: ToolBox) -> None:
    tools = register(it, "git", python("mcp_server_git"))
    assert "git_status" in tools
    assert "No commits yet" in call(it, "git", "git_status", repo_path=f"{INSIDE}/repo")


def test_time(it: ToolBox) -> None:
    register(it, "clock", python("mcp_server_time"))
    text = call(it, "clock", "get_current_time", "r", timezone="Europe/Vienna")
    assert "Europe/Vienna" in text


def test_fetch(it: ToolBox) -> None:
    words = ["--ignore-robots-txt", "--allow-private-ips"]
    (tool,) = register(it, "fetching", python("mcp_server_fetch", *words))
    assert "ToolRunnerError" in call(it, "fetching", tool, url="http://127.0.0.1:9/nothing")
    port = own_port()
    with subprocess.Popen(["python3", "-m", "http.server", "-b", "127.0.0.1", str(port)]) as web:
        try:
            wait_for_port(port)
            text = call(it, "fetching", tool, url=f"http://127.0.0.1:{port}/", raw=True)
        finally:
            web.terminate()
    assert "Directory listing" in text


# --- Go ---


def test_go_everything(it: ToolBox) -> None:
    tools = register(it, "go", {"command": "/go/everything", "args": []})
    assert "greet" in tools
    assert "hi ada" in call(it, "go", "greet", name="Ada").lower()


# --- HTTP ---


@contextmanager
def serving(port: int, *command: str, **env: str) -> Iterator[None]:
    with subprocess.Popen(command, env={**os.environ, **env}) as process:
        try:
            wait_for_port(port)
            yield
        finally:
            process.terminate()


@pytest.mark.parametrize(
    ("kind", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")], ids=["http", "sse"]
)
def test_everything_on_http(it: ToolBox, kind: str, path: str) -> None:
    port = own_port()
    script = NODE / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    with serving(port, "node", str(script), kind, PORT=str(port)):
        name = f"web_{kind.lower()}"
        if path == "/mcp":
            params = {"url": f"http://127.0.0.1:{port}/mcp", "type": "sse"}
            text = it.tool("register_mcp_server", server_name=name, server_params=params)
            assert 'it may speak the newer transport: "type": "streamable_http"' in text
        register(it, name, {"url": f"http://127.0.0.1:{port}{path}"})
        assert call(it, name, "echo", message="x") == "Echo: x"
        assert "completed" in call(it, name, "trigger_long_running_operation", duration=1, steps=2)


def test_go_everything_on_http(it: ToolBox) -> None:
    port = own_port()
    with serving(port, str(GO / "everything"), "-http", f"127.0.0.1:{port}"):
        register(it, "go_http", {"url": f"http://127.0.0.1:{port}/mcp"})
        assert "hi ada" in call(it, "go_http", "greet", name="Ada").lower()


def test_a_server_on_http_that_comes_back(it: ToolBox) -> None:
    """Its sessions are gone then: the next call opens a new one."""
    port = own_port()
    script = NODE / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    command = ["node", str(script), "streamableHttp"]
    with serving(port, *command, PORT=str(port)):
        register(it, "back", {"url": f"http://127.0.0.1:{port}/mcp"})
        assert call(it, "back", "echo", message="1") == "Echo: 1"
    assert "ToolRunnerError" in call(it, "back", "echo", message="2")
    with serving(port, *command, PORT=str(port)):
        assert call(it, "back", "echo", message="3") == "Echo: 3"
