"""Starts an appliance for this process: the binary of the wheel, or a container.

The standard input of the appliance is its lifeline: it is open as long as this process is there, so
a process that is killed leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import sys
from collections import deque
from pathlib import Path
from typing import Literal

from ipybox._installed import IMAGE, binary
from ipybox.errors import ServerError

Backend = Literal["native", "docker"]

API_PORT = 8080  # of the HTTP API, in a container
LINES_KEPT = 20  # of its log, for the error when it does not start
FIRST_WORD = b'{"jsonrpc":"2.0","id":0,"method":"ping"}\n'
LOG_LINE_MAX = 1 << 20  # bytes
REMEDIES = {  # what Docker says, and what to do
    "No such image": "Build the image first: ./docker-build.sh, or name one in IPYBOX_IMAGE",
    "port is already allocated": "Name another port, or end the program that has it",
    "address already in use": "Name another port, or end the program that has it",
    "docker daemon": "Start Docker, or let this user use it; on Linux backend='native' needs none",
}


def choose(asked: str | None) -> Backend:
    """`asked`, or IPYBOX_BACKEND, or what is possible here. Raises ServerError with both ways."""
    asked = asked or os.environ.get("IPYBOX_BACKEND") or None
    if asked not in (None, "native", "docker"):
        raise ValueError(f"backend: 'native' or 'docker' is needed, not {asked!r}")
    native = sys.platform == "linux" and binary() is not None
    if asked == "native" and not native:
        raise ServerError(
            "the native backend needs Linux and a wheel with the binary (x86_64 or aarch64); "
            "backend='docker' runs everywhere Docker does"
        )
    if asked == "docker" or not native:
        if not shutil.which("docker"):
            raise ServerError(
                "ipybox runs natively on Linux (x86_64, aarch64) or in Docker, "
                "and this is neither: install Docker, or attach to an appliance elsewhere: "
                "CodeExecutor(url=…)"
            )
        return "docker"
    return "native"


def with_remedy(said: str) -> str:
    """What Docker said, and what to do about it."""
    lines = [said, *(todo for words, todo in REMEDIES.items() if words in said)]
    return "\n".join(lines)


class Appliance:
    """One running server. `options` are those of `ipybox server`, without --workspace and --http;
    `variables` are set in its environment, `forwarded` names variables of ours that a container
    gets too. `ports` are further ones to publish from a container. Raises ServerError.
    """

    def __init__(
        self,
        backend: Backend,
        workspace: Path,
        options: list[str],
        *,
        variables: dict[str, str] | None = None,
        forwarded: set[str] | None = None,
        http: int | None = None,
        ports: list[int] | None = None,
    ) -> None:
        self.backend = backend
        self.workspace = workspace
        self.name = f"ipybox-{os.getpid()}-{secrets.token_hex(4)}"
        self._options = options
        self._variables = variables or {}
        self._forwarded = sorted(name for name in forwarded or () if name in os.environ)
        self._http = http
        self._ports = ports or []
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process; it may not listen yet."""
        if self.running:
            raise RuntimeError("it is already running")
        if not self.workspace.is_dir():
            raise ServerError(f"the workspace {self.workspace}: there is no such folder: make it")
        words = self._native() if self.backend == "native" else self._docker()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self.workspace,
                env={**os.environ, **self._variables},
                limit=LOG_LINE_MAX,
                start_new_session=True,  # Ctrl-C is for this process, which ends it in order
            )
        except OSError as error:
            raise ServerError(f"{words[0]}: {error}") from error
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._process.stdin.write(FIRST_WORD)  # from now on the end of its input ends it
        self._readers = [
            asyncio.create_task(_discard(self._process.stdout)),
            asyncio.create_task(self._pass_on(self._process.stderr)),
        ]

    async def failure(self) -> ServerError:
        """Why it has ended, in its own words. Only for one that has."""
        assert self._process
        await asyncio.gather(*self._readers, return_exceptions=True)
        said = "\n".join(self._lines)
        if self.backend == "docker":
            said = with_remedy(said)
        return ServerError(f"ipybox ended with status {self._process.returncode}\n{said}".rstrip())

    async def wait(self) -> None:
        """Until it has ended."""
        if self._process:
            await self._process.wait()

    async def stop(self, timeout: float = 10) -> None:
        """End it in order; what is left after `timeout` seconds is killed. Does nothing twice."""
        if not self._process:
            return
        process, self._process = self._process, None
        assert process.stdin
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), timeout)
        except TimeoutError:
            await self._kill(process)
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _kill(self, process: asyncio.subprocess.Process) -> None:
        if self.backend == "docker":
            end = await asyncio.create_subprocess_exec(
                "docker", "kill", self.name, stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            await end.wait()
        else:
            process.kill()
        await process.wait()

    async def _pass_on(self, log: asyncio.StreamReader) -> None:
        while line := await _read_line(log):
            text = line.decode(errors="replace")
            self._lines.append(text.rstrip("\n"))
            sys.stderr.write(text)

    def _native(self) -> list[str]:
        program = binary()
        assert program
        words = [program, "server", "--workspace", str(self.workspace), *self._options]
        words += ["--python", sys.executable]
        if self._http:
            words += ["--http", f"127.0.0.1:{self._http}"]
        return words

    def _docker(self) -> list[str]:
        place = str(self.workspace)
        words = ["docker", "run", "-i", "--rm", "--pull", "never", "--name", self.name]
        words += ["-v", f"{place}:{place}", "-w", place]
        if ca := os.environ.get("IPYBOX_CA"):
            words += ["-v", f"{ca}:/run/ipybox-ca.pem:ro", "-e", "IPYBOX_CA=/run/ipybox-ca.pem"]
        for name in [*self._variables, *self._forwarded]:
            words += ["-e", name]  # the value is in our environment, not on the command line
        if self._http:
            words += ["-p", f"127.0.0.1:{self._http}:{API_PORT}"]
        for port in self._ports:
            words += ["-p", f"127.0.0.1:{port}:{port}"]
        words += [os.environ.get("IPYBOX_IMAGE", IMAGE), "--workspace", place, *self._options]
        if self._http:
            words += ["--http", f"0.0.0.0:{API_PORT}"]
        return words


async def _read_line(log: asyncio.StreamReader) -> bytes:
    try:
        return await log.readline()
    except ValueError:  # a line over the limit: readline() has dropped its beginning
        return b"(a longer line was cut)\n"


async def _discard(output: asyncio.StreamReader) -> None:
    while await output.read(1 << 16):
        pass
