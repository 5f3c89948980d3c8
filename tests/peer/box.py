# SPDX-License-Identifier: Apache-2.0
"""What the tests of every client share: the container's command line, workspaces, small wheels."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).parent
IMAGE = os.environ.get("IPYBOX_TEST_IMAGE", "ipybox")
INSIDE = "/app/workspace"

# Seconds, for whatever is waited for. It only ends what would hang: no test passes or fails by it.
GUARD = 180
LOOK_SECONDS = 0.05

TOOLS = ["execute_ipython_cell", "install_package", "register_mcp_server", "reset"]

# A foreign owner when we may give files away, so that a mix-up with root or 1000 is seen.
OWNER = (1234, 4321) if os.geteuid() == 0 else (os.geteuid(), os.getegid())

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True)
class Box:
    """A workspace on the host and the commands that run the image on it."""

    workspace: Path

    def args(self, *options: str) -> list[str]:
        """Arguments of `docker`, as in an MCP client's configuration."""
        return ["run", "-i", "--rm", *options, "-v", f"{self.workspace}:{INSIDE}", IMAGE]

    def command(self, *options: str) -> list[str]:
        return ["docker", *self.args(*options)]

    def unsignalled(self, status: Path, *options: str) -> list[str]:
        """The command for a container that no signal of a client can end; see the script."""
        return [str(HERE / "unsignalled"), str(status), *self.command(*options)]

    def containers(self) -> list[str]:
        """Containers, in whatever state, that have the workspace mounted."""
        return docker("ps", "-aq", "--no-trunc", "--filter", f"volume={self.workspace}").split()

    def is_gone(self) -> bool:
        """The container has ended and is removed; the engine may need a moment for the latter."""
        end = time.monotonic() + GUARD
        while self.containers():
            if time.monotonic() > end:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def remove(self) -> None:
        for container in self.containers():
            docker("rm", "-f", container)


T = TypeVar("T")


def until(what: Callable[[], T], told: Callable[[], object] = lambda: "waited in vain") -> T:
    """The first answer that is true; what is told when none comes."""
    end = time.monotonic() + GUARD
    while not (answer := what()):
        assert time.monotonic() < end, told()
        time.sleep(LOOK_SECONDS)
    return answer


def docker(*args: str) -> str:
    run = subprocess.run(["docker", *args], stdout=subprocess.PIPE, timeout=GUARD, check=True)
    return run.stdout.decode()


@contextmanager
def running(*words: str) -> Iterator[str]:
    """The id of a container of `docker run -d WORDS...`, which ends with status 0 when stopped."""
    container = docker("run", "-d", *words).strip()
    try:
        yield container
        docker("stop", "-t", "-1", container)  # or the engine kills it after 10 s of its own
        state = docker("inspect", "-f", "{{.State.ExitCode}}", container).strip()
        assert state == "0", docker("logs", container)
    finally:
        docker("rm", "-f", container)


def statuses(file: Path) -> set[str]:
    """With which the commands of ./unsignalled have ended, when all have."""

    def ended() -> list[str]:
        lines = file.read_text().split()
        return lines if len(lines) == 2 * lines.count("begun") else []

    return set(until(ended)) - {"begun"}


held_ports: list[socket.socket] = []


def own_port() -> int:
    """A port of this machine for a server that is told where to listen. Until this process ends
    nobody else is given it, for a socket stays bound to it; a server listens there all the same,
    since servers set SO_REUSEADDR. Where Docker may choose the port: address_of."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    held_ports.append(held)
    port: int = held.getsockname()[1]
    return port


def address_of(container: str, port: int) -> str:
    """Where a port of a container is, of which `-p 127.0.0.1::PORT` leaves the choice to Docker."""
    return docker("port", container, str(port)).split()[0]


def wait_until_ready(url: str, container: str) -> None:
    """Until the URL answers well; the container's log is told when it does not."""

    def answers() -> bool:
        try:
            urllib.request.urlopen(url, timeout=GUARD).close()
        except OSError:
            state = docker("inspect", "-f", "{{.State.Running}}", container).strip()
            assert state == "true", docker("logs", container)
            return False
        return True

    until(answers, lambda: docker("logs", container))


def tool_path(name: str) -> Path:
    """A file that tests/peer/run has put beside the npm packages."""
    return Path(os.environ["PEER_NODE_DIR"]) / name


# From the Docker section of the Python ipybox's page on its MCP server.
OLD_CONFIG = HERE / "old_config.json"


def old_config(workspace: Path) -> dict[str, Any]:
    """It, with nothing but the path filled in."""
    config: dict[str, Any] = json.loads(
        OLD_CONFIG.read_text().replace("/path/to/workspace", str(workspace))
    )
    return config


def give_away(path: Path) -> None:
    os.chown(path, *OWNER)


def make_wheel(folder: Path, name: str, version: str) -> Path:
    """A package of one module that knows its version."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{path},sha256={digest.decode()},{len(text)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


@contextmanager
def raises(
    kind: type[Exception] | tuple[type[Exception], ...], pattern: str = ""
) -> Iterator[None]:
    """As pytest.raises, whose own exception is none that a task group of anyio could carry."""
    try:
        yield
    except kind as e:
        assert re.search(pattern, str(e)), e
    else:
        raise AssertionError(f"no {kind} was raised")
