# SPDX-License-Identifier: Apache-2.0
"""The commands of the wheel, its types, and what it says where it cannot run."""

from __future__ import annotations

import json
import os
import pkgutil
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, PLACE, left_in, until

import ipybox

BIN = PLACE / "venv" / "bin"
CLIENT = {"name": "test", "version": "1"}
START = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {}},
    "clientInfo": CLIENT,
}
YES = {"action": "accept", "content": {"decision": "approve"}}


class McpServer:
    """A server on standard input and output, and calls of it one at a time."""

    def __init__(self, *command: str, errors: int | None = None, **variables: str) -> None:
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **variables},
            text=True,
        )
        self.number = 0
        self.asked: list[str] = []  # what a human was asked, who says yes to all
        self.call("initialize", START)
        self.answered = time.perf_counter() - self.begun

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        while (answer := json.loads(self.process.stdout.readline())).get("id") != self.number:
            if answer.get("method") == "elicitation/create":
                self.asked.append(answer["params"]["message"])
                said = {"jsonrpc": "2.0", "id": answer["id"], "result": YES}
                print(json.dumps(said), file=self.process.stdin, flush=True)
        result: dict[str, Any] = answer["result"]
        return result

    def cell(self, code: str) -> str:
        params = {"name": "execute_ipython_cell", "arguments": {"code": code}}
        return str(self.call("tools/call", params)["content"][0]["text"])

    def end(self) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(PATIENCE)


@pytest.mark.gate
def test_the_mcp_server(folder: Path) -> None:
    server = McpServer(str(BIN / "ipybox"), "--workspace", str(folder), "--sandbox")
    assert (
        server.cell("import os, sys; print(os.getcwd(), sys.executable)")
        == f"{folder} {BIN}/python"
    )
    print(
        f"initialize {server.answered * 1000:.0f} ms, first cell {time.perf_counter() - server.begun:.2f} s"
    )
    assert server.end() == 0


@pytest.mark.gate
def test_a_client_that_never_reads_the_log_is_served(folder: Path) -> None:
    """Many clients open a pipe for standard error and forget it. This one is full already."""
    unread, errors = os.pipe()
    os.set_blocking(errors, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(errors, bytes(4096))
    os.set_blocking(errors, True)
    command = (str(BIN / "ipybox"), "--workspace", str(folder), "--log-level", "DEBUG")
    server = McpServer(*command, errors=errors)
    os.close(errors)
    assert server.cell("6 * 7") == "42"
    said = b""
    while b"ipybox" not in said:  # what was to be logged comes when somebody reads
        assert select.select([unread], [], [], PATIENCE)[0], said.strip(b"\0")
        said += os.read(unread, 65536)
    assert server.end() == 0
    os.close(unread)


@pytest.mark.gate
def test_servers_of_one_user_live_side_by_side(folder: Path) -> None:
    one = McpServer(str(BIN / "ipybox"), "--workspace", str(folder))
    two = McpServer(str(BIN / "ipybox"), "--workspace", str(folder))
    base = Path(f"/tmp/ipybox-{os.getuid()}")
    assert {str(one.process.pid), str(two.process.pid)} <= {each.name for each in base.iterdir()}
    assert one.cell("1") == "1" and two.cell("2") == "2"
    assert one.end() == 0 and two.end() == 0
    assert not list(base.glob(f"{one.process.pid}*")), "it has taken its directory with it"


@pytest.mark.gate
def test_the_directory_of_a_killed_server_is_swept_up(folder: Path) -> None:
    killed = McpServer(str(BIN / "ipybox"), "--workspace", str(folder))
    place = Path(f"/tmp/ipybox-{os.getuid()}/{killed.process.pid}")
    assert place.is_dir()
    killed.process.kill()
    killed.end()
    until(lambda: not left_in(folder), lambda: left_in(folder))  # its kernels end by themselves
    assert McpServer(str(BIN / "ipybox"), "--workspace", str(folder)).end() == 0
    assert not place.exists()


def test_uvx(folder: Path) -> None:
    """From the file, with the packages of the tests as the only index."""
    [wheel] = (PLACE / "dist").glob("*linux*.whl")
    server = McpServer(
        str(BIN / "uvx"), "--offline", "--no-index", "--find-links", str(PLACE / "packages"),
        "--python", sys.executable, "--from", str(wheel), "ipybox", "--workspace", str(folder),
        UV_CACHE_DIR=str(PLACE / "uv"),
    )  # fmt: skip
    assert server.cell("6 * 7") == "42"
    assert server.end() == 0


@pytest.mark.gate
def test_apigen_finds_programs_from_the_workspace(folder: Path) -> None:
    """The default workspace is relative."""
    params = {"command": "python3", "args": [str(Path(__file__).parent / "search_server.py")]}
    said = subprocess.run(
        [str(BIN / "ipybox"), "apigen", "--server-name", "search", "--root-dir", "made",
         "--server-params", json.dumps(params)],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert {f"{name}.py" for name in said.stdout.split()} <= {
        each.name for each in (folder / "made" / "search").iterdir()
    }


@pytest.mark.gate
def test_srt(folder: Path) -> None:
    said = subprocess.run([BIN / "srt", "--help"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    Path("settings.json").write_text(
        '{"network": {"allowedDomains": [], "deniedDomains": []},'
        ' "filesystem": {"denyRead": ["secret"], "allowWrite": ["."], "denyWrite": []}}'
    )
    Path("secret").write_text("x")
    said = subprocess.run(
        [BIN / "srt", "--settings", "settings.json", "cat", "secret"],
        capture_output=True,
        text=True,
    )
    assert said.returncode != 0 and "not permitted" in said.stderr


def test_two_builds_of_the_wheels_are_equal() -> None:
    first, second = (
        (PLACE / "dist" / f"sums-{which}").read_text() for which in ("first", "second")
    )
    assert first == second and len(first.splitlines()) == 2


@pytest.mark.gate
def test_the_module_of_0_9(folder: Path) -> None:
    server = McpServer(sys.executable, "-m", "ipybox.mcp_server", "--workspace", str(folder))
    assert server.cell("6 * 7") == "42"
    assert server.end() == 0


@pytest.mark.gate
@pytest.mark.parametrize("settings", ["sandbox-kernel.json", "sandbox-mcp.json"])
def test_the_settings_of_the_examples(folder: Path, settings: str) -> None:
    Path(".env").write_text("SECRET=1")
    Path("try.py").write_text("open('new', 'w').close(); print(open('.env').read())")
    words = ["--settings", f"{PLACE}/examples/{settings}", sys.executable, "try.py"]
    said = subprocess.run([BIN / "srt", *words], capture_output=True, text=True)
    assert said.returncode == 1 and "Operation not permitted: '.env'" in said.stderr, said.stderr
    assert Path("new").exists()


@pytest.mark.gate
def test_the_wheel_for_any_machine_says_what_it_needs(folder: Path) -> None:
    [wheel] = (PLACE / "dist").glob("*any.whl")
    target = folder / "packages"
    subprocess.run(
        [BIN / "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel],
        check=True,
    )
    code = (
        "import sys; sys.path.insert(0, 'packages'); from ipybox import _command; _command.ipybox()"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": "/nowhere"},
    )
    assert said.returncode == 1
    assert "natively on Linux (x86_64, aarch64) or in Docker" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.gate
def test_a_workspace_that_is_not_there(folder: Path) -> None:
    Path("file").write_text("")
    said = subprocess.run(
        [BIN / "ipybox", "--workspace", "file/below"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert said.returncode == 2 and "file/below" in said.stderr


def test_types() -> None:
    names = [each.name for each in pkgutil.walk_packages(ipybox.__path__, "ipybox.")]
    modules = [word for name in names if "_kernel" not in name for word in ("-m", name)]
    assert len(modules) > 30
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "/dev/null", *modules],
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stdout
