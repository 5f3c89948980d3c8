"""generate_mcp_sources(), and what it remembers so that later executors can start the servers."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import json
import logging
import os
import re
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ipybox._installed import IMAGE, binary
from ipybox.backend import choose, with_remedy
from ipybox.errors import HttpError, ServerError

logger = logging.getLogger(__name__)

VARIABLE = re.compile(r"\$\{(\w+)\}")


class Remembered(NamedTuple):
    """One call of generate_mcp_sources(): `params` have placeholders, never their values."""

    name: str
    params: dict[str, Any]
    root_dir: Path

    def is_below(self, *places: Path) -> bool:
        """Whether its package is in one of `places` or below."""
        return any(self.root_dir.is_relative_to(place) for place in places)


class Listener(Protocol):
    """An executor that runs: it learns of packages that are made meanwhile."""

    async def register(self, server: Remembered) -> None:
        """Make the server known to the appliance."""


listeners: weakref.WeakSet[Listener] = weakref.WeakSet()


async def generate_mcp_sources(
    server_name: str,
    server_params: dict[str, Any],
    root_dir: Path,
    *,
    backend: str | None = None,
) -> list[str]:
    """Make a package of typed functions for the tools of an MCP server: `root_dir/server_name/`,
    one module for each tool. A package that is there is replaced.

    `server_params` is {"command", "args", "env"} of a program or {"url", "headers"} of a server on
    the network; `${NAME}` in it stands for a variable of this process or of `.env`, when the server
    is started. They are kept below $XDG_STATE_HOME/ipybox, with the placeholders, so that a
    CodeExecutor in a folder above `root_dir`, or with such a folder in the PYTHONPATH of its
    `kernel_env`, knows the server, also in another process.

    Returns the names of the modules. Raises ServerError with the reason when the server does not
    start or list its tools.
    """
    root = Path(root_dir).resolve()
    root.mkdir(parents=True, exist_ok=True)
    words = _command(choose(backend), root, variables_of(server_params))
    words += ["--server-name", server_name, "--server-params", json.dumps(server_params)]
    process = await asyncio.create_subprocess_exec(
        *words, "--root-dir", str(root), stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    out, log = await process.communicate()
    if process.returncode:
        raise ServerError(with_remedy(log.decode(errors="replace").strip()))
    await remember(server_name, server_params, root)
    return out.decode().split()


async def remember(
    server_name: str, server_params: dict[str, Any], root_dir: Path, *, must: bool = True
) -> None:
    """Have executors know the server of a package that was made, those that run and later ones.
    With `must`, HttpError is raised where one that runs cannot have it; else it is logged."""
    server = Remembered(server_name, server_params, Path(root_dir).resolve())
    _remember(server)
    for listener in list(listeners):
        try:
            await listener.register(server)
        except HttpError as error:
            if must:
                raise
            logger.warning("the MCP server %s is not registered: %s", server_name, error)


def adopt_mcp_sources(root_dir: Path) -> list[str]:
    """Have executors know the servers of packages in `root_dir` that ipybox 0.7 to 0.9.2 has
    generated, as if generate_mcp_sources() had made them. The packages stay as they are; nothing of
    them is run. Whoever writes them chooses what is started: look at them first.

    Returns the names of the packages. `ipybox apigen adopt` does the same for the MCP server.
    """
    names = []
    for path in sorted(Path(root_dir).resolve().glob("*/__init__.py")):
        server = _read_package(path)
        if server:
            _remember(server)
            names.append(path.parent.name)
    return names


def _read_package(path: Path) -> Remembered | None:
    """What stands in CLIENT = ToolRunner(server_name=…, server_params=…, …); None: it does not."""
    try:
        body = ast.parse(path.read_text()).body
        [call] = [each.value for each in body if isinstance(each, ast.Assign) and _is_client(each)]
        assert isinstance(call, ast.Call)
        given = {each.arg: each.value for each in call.keywords}
        name = ast.literal_eval(given["server_name"])
        params = ast.literal_eval(given["server_params"])
    except (OSError, ValueError, SyntaxError, KeyError, AssertionError):
        return None
    is_right = name == path.parent.name and isinstance(params, dict)
    return Remembered(name, params, path.parents[1]) if is_right else None


def _is_client(node: ast.Assign) -> bool:
    target = node.targets[0]
    return isinstance(target, ast.Name) and target.id == "CLIENT"


def remembered(*places: Path) -> list[Remembered]:
    """The servers whose packages are in one of `places` or below."""
    found = []
    for path in sorted(_state().glob("*/*.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            entry = json.loads(path.read_text())
            server = Remembered(entry["name"], entry["params"], Path(entry["root_dir"]))
            if server.is_below(*places) and (server.root_dir / server.name).is_dir():
                found.append(server)
    return found


def variables_of(params: Any) -> set[str]:
    """The names in `${NAME}` anywhere in `params`."""
    return set(VARIABLE.findall(json.dumps(params)))


def _command(backend: str, root: Path, variables: set[str]) -> list[str]:
    if backend == "native":
        return [str(binary()), "apigen", "--workspace", os.getcwd(), "--python", sys.executable]
    place = os.path.commonpath([os.getcwd(), root])
    words = [
        "docker",
        "run",
        "--rm",
        "--pull",
        "never",
        "-v",
        f"{place}:{place}",
        "-w",
        os.getcwd(),
        "-e",
        f"IPYBOX_WORKSPACE={place}",  # whose owner the container is to be
    ]
    if ca := os.environ.get("IPYBOX_CA"):
        words += ["-v", f"{ca}:/run/ipybox-ca.pem:ro", "-e", "IPYBOX_CA=/run/ipybox-ca.pem"]
    for name in sorted(variables & os.environ.keys()):
        words += ["-e", name]
    image = os.environ.get("IPYBOX_IMAGE", IMAGE)
    return [*words, image, "apigen", "--workspace", os.getcwd()]


def _state() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "ipybox" / "generated"


def _remember(server: Remembered) -> None:
    folder = _state() / hashlib.sha256(str(server.root_dir).encode()).hexdigest()[:16]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        entry = {"name": server.name, "params": server.params, "root_dir": str(server.root_dir)}
        path = folder / f"{server.name}.json"
        part = path.with_suffix(".part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w") as file:
            json.dump(entry, file)
        part.replace(path)
    except OSError as error:
        print(f"ipybox: later processes will not know {server.name}: {error}", file=sys.stderr)
