# SPDX-License-Identifier: Apache-2.0
"""What cannot work is told in a sentence with what to do, and nothing is left running."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import PLACE

from ipybox import CodeExecutor, generate_mcp_sources
from ipybox.errors import ServerError
from ipybox.kernel_mgr.server import KernelGateway
from ipybox.tool_exec.server import ToolServer

BIN = PLACE / "venv" / "bin"
ELSEWHERE = "ipybox runs natively on Linux (x86_64, aarch64) or in Docker"


def error_of(**parameters: Any) -> str:
    """Of an executor that cannot start."""

    async def main() -> str:
        with pytest.raises(ServerError) as error:
            async with CodeExecutor(**parameters):
                pass
        return str(error.value)

    return asyncio.run(main())


def command(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command `ipybox` without an input."""
    return subprocess.run(
        [str(BIN / "ipybox"), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **variables},
    )


@pytest.fixture
def elsewhere(folder: Path) -> dict[str, str]:
    """Variables of a machine that is not Linux, as the wheel for any sees it, without Docker."""
    [wheel] = (PLACE / "dist").glob("*any.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "packages")
    return {"PYTHONPATH": str(folder / "packages"), "PATH": "/nowhere"}


@pytest.mark.gate
@pytest.mark.parametrize(
    "code",
    [
        "CodeExecutor().start()",
        "generate_mcp_sources('x', {'command': 'x'}, Path('mcptools'))",
        "ToolServer().start()",
        "KernelGateway().start()",
    ],
)
def test_no_docker_and_no_linux(code: str, elsewhere: dict[str, str]) -> None:
    program = f"""
import asyncio
from pathlib import Path
from ipybox import CodeExecutor, generate_mcp_sources
from ipybox.errors import ServerError
async def main():
    from ipybox.kernel_mgr.server import KernelGateway
    from ipybox.tool_exec.server import ToolServer
    try:
        await {code}
    except ServerError as error:
        print(error)
asyncio.run(main())
"""
    said = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **elsewhere},
    )
    assert said.returncode == 0, said.stderr
    assert ELSEWHERE in said.stdout and "install Docker" in said.stdout
    assert len(said.stdout.splitlines()) == 1


def test_no_such_image(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYBOX_IMAGE", "ipybox-that-nobody-built")
    remedy = "Build the image first: ./docker-build.sh, or name one in IPYBOX_IMAGE"
    assert remedy in error_of(backend="docker")

    async def main() -> None:
        with pytest.raises(ServerError, match="Build the image first"):
            await generate_mcp_sources("x", {"command": "x"}, Path("mcptools"), backend="docker")

    asyncio.run(main())


def test_no_such_image_for_the_command(
    folder: Path, elsewhere: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "from ipybox import _command; _command.ipybox()"
    variables = {**os.environ, "PYTHONPATH": elsewhere["PYTHONPATH"], "IPYBOX_IMAGE": "nobody:x"}
    for host, why in (("", "build it with ./docker-build.sh"), ("tcp://127.0.0.1:1", "Docker")):
        if host:
            variables["DOCKER_HOST"] = host
        said = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=variables
        )
        assert said.returncode == 1 and why in said.stderr and "Traceback" not in said.stderr


def test_docker_cannot_be_reached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{folder}/docker.sock")
    said = error_of(backend="docker")
    monkeypatch.delenv("DOCKER_HOST")
    assert "Start Docker, or let this user use it" in said


@pytest.mark.gate
def test_a_port_in_use(backend: str, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        remedy = "ame another port, or end the program that has it"
        assert remedy in error_of(tool_server_port=port)
        assert remedy in error_of(kernel_gateway_port=port, tool_server_port=None)

        async def main() -> None:
            for server in (
                ToolServer(port=port, log_level="ERROR"),
                KernelGateway(port=port, log_level="ERROR", token="t"),
            ):
                with pytest.raises(ServerError, match=remedy):
                    await server.start()

        asyncio.run(main())
    if backend == "native":
        with socket.create_server(("127.0.0.1", 0)) as taken:
            said = command("--http", f"127.0.0.1:{taken.getsockname()[1]}")
            assert said.returncode == 2 and remedy in said.stderr


@pytest.mark.gate
def test_a_workspace_that_is_not_there(backend: str, folder: Path) -> None:
    said = error_of(working_dir=folder / "none")
    assert f"{folder}/none: there is no such folder: make it" in said


@pytest.mark.gate
def test_a_workspace_that_cannot_be_written(backend: str) -> None:
    """/usr is there, and is root's."""
    said = error_of(working_dir=Path("/usr/share"))
    if backend == "native":
        assert "the workspace /usr/share cannot be written by uid" in said
        assert "or name another folder with --workspace" in said
        told = command("--workspace", "/usr/share")
        assert told.returncode == 2 and "cannot be written by uid" in told.stderr
    else:
        assert "cannot be written by uid" in said and "chown" in said


@pytest.mark.gate
def test_a_wrong_python(folder: Path) -> None:
    said = command("--python", "/nowhere/python")
    assert said.returncode == 2
    assert "/nowhere/python: No such file or directory; name a Python that has" in said.stderr
    bare = folder / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    server = subprocess.Popen(
        [BIN / "ipybox", "--log-level", "CRITICAL", "--python", bare / "bin" / "python"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin and server.stdout
    call = {"name": "execute_ipython_cell", "arguments": {"code": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start}
    for message in (hello, request):
        print(json.dumps(message), file=server.stdin, flush=True)
    while (answer := json.loads(server.stdout.readline())).get("id") != 1:
        pass
    text = answer["result"]["content"][0]["text"]
    assert "install ipybox into its environment, or name another one (--python)" in text
    server.stdin.close()
    server.stdout.close()
    assert server.wait(20) == 0


def test_a_python_that_is_too_old() -> None:
    """pip refuses it by what the wheels say."""
    for wheel in (PLACE / "dist").glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            [name] = [each for each in archive.namelist() if each.endswith("/METADATA")]
            assert re.search(r"^Requires-Python: >=3\.11$", archive.read(name).decode(), re.M)


TRIAL = """
import asyncio
from ipybox import CodeExecutor
from ipybox.errors import ServerError
async def main():
    for sandbox in (False, True):
        try:
            async with CodeExecutor(sandbox=sandbox) as executor:
                print((await executor.execute("6 * 7")).text)
        except ServerError as error:
            print("refused:", error)
asyncio.run(main())
"""


def in_root(*options: str) -> list[str]:
    """What the trial prints in a minimal Debian 12 with these options of `docker run`, which take
    something away from the machine."""
    words = ["docker", "run", "-i", "--rm", "-v", f"{PLACE}/dist:/dist:ro", *options]
    words += ["-v", f"{PLACE}/packages:/packages:ro"]  # which fit when our Python is Debian 12's
    if ca := os.environ.get("IPYBOX_CA"):
        words += ["-v", f"{ca}:/ca.pem:ro", "-e", "PIP_CERT=/ca.pem"]
    script = (
        "python3 -m venv venv && { venv/bin/pip install -q --no-index --find-links /packages"
        " /dist/ipybox-*linux*.whl || venv/bin/pip install -q /dist/ipybox-*linux*.whl; }"
        " && venv/bin/python -"
    )
    words += ["ipybox-root:bookworm", "sh", "-c", script]
    said = subprocess.run(words, input=TRIAL, capture_output=True, text=True, timeout=280)
    assert said.returncode == 0, said.stderr
    return said.stdout.splitlines()


def test_no_shared_memory_folder(folder: Path) -> None:
    """Without /dev/shm: nothing needs it."""
    assert in_root("--ipc", "none") == ["42", "42"]


def test_no_landlock(folder: Path) -> None:
    """Without a sandbox it runs; with one it says what is missing and what to do."""
    calls = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"]
    rule = {"names": calls, "action": "SCMP_ACT_ERRNO", "errnoRet": 38}
    profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [rule]}
    Path("profile.json").write_text(json.dumps(profile))
    free, held, *more = in_root("--security-opt", f"seccomp={folder}/profile.json")
    assert free == "42" and held.startswith("refused: ")
    said = " ".join([held, *more])
    assert "isolation of the level full is needed" in said
    assert "A lower --sandbox-min starts with what there is" in said


def test_root_is_refused(folder: Path) -> None:
    """Natively cells would be root, which takes an option."""
    said = in_root("--user", "0:0")
    assert said[::2] == ["refused: ipybox ended with status 2"] * 2
    assert all("start ipybox as an ordinary user" in line for line in said[1::2])
