"""CodeExecutor: runs code in a stateful IPython kernel and asks about its tool calls."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import math
import os
import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import aiohttp

from ipybox import mcp_apigen
from ipybox.backend import Appliance, choose
from ipybox.client import Client, Event
from ipybox.errors import HttpError, ServerError
from ipybox.pictures import Pictures
from ipybox.tool_exec import tokens
from ipybox.tool_exec.approval.client import ApprovalRequest
from ipybox.utils import find_free_port, seconds

logger = logging.getLogger(__name__)

OUTPUT_MAX = 10_000_000  # characters that an answer holds; of longer output the file is read
CELL_MS_MAX = 7 * 24 * 3600 * 1000  # the server's own limit: the timeout here is ours
START_TRIES = 3  # with another port, when somebody took ours meanwhile
POLL_S = 0.005


class CodeExecutionError(Exception):
    """The code raised an error, or could not be run to its end; the text has the traceback."""


@dataclass
class CodeExecutionResult:
    """What code that ended well has left.

    `text` is what a terminal would show, None for nothing; `images` are the files of its plots.
    """

    text: str | None
    images: list[Path] = field(default_factory=list)


@dataclass
class CodeExecutionChunk:
    """A piece of output while the code runs."""

    text: str


class _Running(NamedTuple):
    execution: str
    session: str


class CodeExecutor:
    """Starts an appliance and runs code in one kernel of it, whose variables last until reset().

    Use it as a context manager, or call start() and stop(). With `url` it attaches to an appliance
    that runs already, in a session of its own; `token` is then the token of the HTTP API.

    tool_server_host, tool_server_port: where applications reach the tool server; a port of None
        leaves it closed. Code in kernels does not need it. ipybox.tool_exec.tokens has its tokens.
    kernel_gateway_host, kernel_gateway_port: the same for the Jupyter Kernel Gateway.
    kernel_env: variables of the kernel, which inherits none of this process.
    working_dir: where the kernel works; the current directory by default. Given, each cell that has
        left it ends there again, and its output says so.
    images_dir: where images are saved, once; `images` in `working_dir` by default.
    approval_timeout: seconds until a tool call that nobody decided on fails; None waits forever.
    connect_timeout: seconds that an MCP server has to start.
    kernel_init_timeout: seconds that a kernel has to start.
    sandbox: run kernels in a sandbox; `sandbox_config` is a file with its settings. Of an appliance
        that runs already, settings take its administrator's token, and without `sandbox` the
        session has the sandbox that the appliance was started with, or none.
    log_level: of the appliance's log, which goes to standard error.
    approve_tool_calls: whether tool calls wait for a decision. Otherwise they are just made.
    approve_shell_cmds, require_shell_escape: the same for `!` commands; no other way to programs.
    backend: "native", "docker", or None for IPYBOX_BACKEND, else native where that is possible.
    """

    def __init__(
        self,
        tool_server_host: str = "localhost",
        tool_server_port: int | None = None,
        kernel_gateway_host: str = "localhost",
        kernel_gateway_port: int | None = None,
        kernel_env: dict[str, str] | None = None,
        working_dir: Path | None = None,
        images_dir: Path | None = None,
        approval_timeout: float | None = 60,
        connect_timeout: float = 30,
        kernel_init_timeout: float = 60,
        sandbox: bool = False,
        sandbox_config: Path | None = None,
        log_level: str = "WARNING",
        approve_tool_calls: bool = True,
        approve_shell_cmds: bool = False,
        require_shell_escape: bool = False,
        *,
        url: str | None = None,
        token: str | None = None,
        backend: str | None = None,
    ) -> None:
        if require_shell_escape and not approve_shell_cmds:
            raise ValueError("require_shell_escape needs approve_shell_cmds")
        self.tool_server_host = tool_server_host
        self.tool_server_port = tool_server_port
        self.kernel_gateway_host = kernel_gateway_host
        self.kernel_gateway_port = kernel_gateway_port
        self.kernel_env = dict(kernel_env or {})
        self.working_dir = Path(working_dir or ".").resolve()
        self.images_dir = Path(images_dir) if images_dir is not None else Path("images")
        self.approval_timeout = approval_timeout
        self.connect_timeout = connect_timeout
        self.kernel_init_timeout = kernel_init_timeout
        self.sandbox = sandbox
        self.sandbox_config = sandbox_config
        self.log_level = log_level
        self.approve_tool_calls = approve_tool_calls
        self.approve_shell_cmds = approve_shell_cmds
        self.require_shell_escape = require_shell_escape
        self.url = url
        self._attached = url is not None
        self._restored = working_dir is not None and not self._attached
        self._token = token
        self._backend = backend
        self._own_images = images_dir is None and url is None  # then the appliance saves them
        self._forked = False
        self._session = "default"
        self._stack: AsyncExitStack | None = None
        self._client: Client | None = None
        self._gateway = ""
        self._forwarded: set[str] = set()
        self._registering: list[asyncio.Task[None]] = []
        self._running: _Running | None = None
        self._asked: dict[str, ApprovalRequest] = {}  # by the code that runs
        self._cancelled = False

    async def __aenter__(self) -> Self:
        if not (self._forked and self._stack):  # what fork() returns is started
            await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    @property
    def client(self) -> Client:
        """The HTTP API of the appliance. Raises RuntimeError before start() and after stop()."""
        if self._client is None:
            raise RuntimeError("the executor is not started")
        return self._client

    @property
    def session(self) -> str:
        """The id of the session in which code runs."""
        return self._session

    # --- start and stop ---

    async def start(self) -> None:
        """Start the appliance, or attach to it. Raises ServerError with what to do, RuntimeError
        when it is started already."""
        if self._stack:
            raise RuntimeError("the executor is started already")
        stack = AsyncExitStack()
        try:
            self._client = await self._open(stack)
            if self.approve_tool_calls or self.approve_shell_cmds:
                watching = await self._watch(self._client)
                stack.push_async_callback(_end_task, watching)
            mcp_apigen.listeners.add(self)
            servers = mcp_apigen.remembered(*self._places())
            self._registering = [asyncio.create_task(self._try(server)) for server in servers]
            for task in self._registering:
                stack.push_async_callback(_end_task, task)
        except BaseException:
            mcp_apigen.listeners.discard(self)
            self._client = None
            await stack.aclose()
            raise
        self._stack = stack

    async def stop(self) -> None:
        """Stop the appliance, or end the session. Does nothing when it is not started."""
        stack, self._stack, client, self._client = self._stack, None, self._client, None
        if not stack or not client:
            return
        mcp_apigen.listeners.discard(self)
        if self._attached:
            with suppress(HttpError, aiohttp.ClientError):
                await client.delete_session(self._session)
        await stack.aclose()

    async def _open(self, stack: AsyncExitStack) -> Client:
        if self._attached:
            assert self.url
            client = await stack.enter_async_context(Client(self.url, self._token))
            if self._forked:
                return client
            self._session = str((await client.create_session(**self._members()))["id"])
            return client
        for tries in range(START_TRIES):
            port, self._token = find_free_port(), self._token or secrets.token_hex(32)
            appliance = self._appliance(port)
            await appliance.start()
            client = Client(f"http://127.0.0.1:{port}", self._token)
            try:
                await _until_alive(client, appliance)
            except ServerError as error:
                await client.close()
                if tries + 1 < START_TRIES and _is_taken(port, str(error)):
                    continue
                raise
            except BaseException:
                await client.close()
                await appliance.stop()
                raise
            stack.push_async_callback(appliance.stop)
            await stack.enter_async_context(client)
            stack.callback(self._remember_tokens())
            self.url = client.url
            return client
        raise AssertionError

    def _appliance(self, port: int) -> Appliance:
        self._application, self._approver = secrets.token_hex(16), secrets.token_hex(16)
        variables = {f"KERNEL_ENV_{name}": value for name, value in self.kernel_env.items()}
        if self._restored:
            variables["KERNEL_ENV_IPYBOX_RESTORE_CWD"] = str(self.working_dir)
        variables["IPYBOX_TOKEN"] = self._token or ""
        if self.tool_server_port is not None:
            variables["IPYBOX_TOOL_SERVER_TOKEN"] = self._application
            variables["IPYBOX_APPROVER_TOKEN"] = self._approver
        if self.kernel_gateway_port is not None and not self._is_native():
            self._gateway = secrets.token_hex(16)  # a container's port is not this machine's alone
            variables["IPYBOX_KERNEL_GATEWAY_TOKEN"] = self._gateway
        params = [server.params for server in mcp_apigen.remembered(*self._places())]
        self._forwarded = mcp_apigen.variables_of(params) & os.environ.keys()
        ports = [self.tool_server_port, self.kernel_gateway_port]
        return Appliance(
            choose(self._backend),
            self.working_dir,
            self._options(),
            variables=variables,
            forwarded=self._forwarded,
            http=port,
            ports=[number for number in ports if number is not None],
        )

    def _options(self) -> list[str]:
        options = ["--approval-timeout", seconds(self.approval_timeout)]
        options += ["--connect-timeout", seconds(self.connect_timeout)]
        options += ["--kernel-start-timeout", str(max(1, math.ceil(self.kernel_init_timeout)))]
        options += ["--log-level", self.log_level]
        flags = {
            "--approve-tool-calls": self.approve_tool_calls,
            "--approve-shell-cmds": self.approve_shell_cmds,
            "--require-shell-escape": self.require_shell_escape,
            "--sandbox": self.sandbox,
        }
        options += [name for name, given in flags.items() if given]
        if self.sandbox and self.sandbox_config is not None:
            options += ["--sandbox-config", str(Path(self.sandbox_config).absolute())]
        ports = {
            "tool-server": (self.tool_server_host, self.tool_server_port),
            "kernel-gateway": (self.kernel_gateway_host, self.kernel_gateway_port),
        }
        for name, (host, port) in ports.items():
            if (
                port is not None
            ):  # in a container every address: docker's -p says which of the host's
                options += [f"--{name}-host", host if self._is_native() else "0.0.0.0"]
                options += [f"--{name}-port", str(port)]
        return options

    def _members(self) -> dict[str, Any]:
        """Of a session of an appliance that somebody else has started."""
        waits = self.approval_timeout or 0
        members: dict[str, Any] = {"approval_timeout_ms": math.ceil(waits * 1000)}
        if self.kernel_env:
            members["env"] = self.kernel_env
        if self.approve_tool_calls:
            members["approval"] = "ask"
        if self.sandbox:
            config = self.sandbox_config
            members["sandbox"] = json.loads(Path(config).read_text()) if config else True
        return members

    def _remember_tokens(self) -> Callable[[], None]:
        tools = tokens.Tokens(self._application, self._approver)
        ours = {
            (self.tool_server_host, self.tool_server_port): tools,
            (self.kernel_gateway_host, self.kernel_gateway_port): tokens.Tokens(
                gateway=self._gateway
            ),
        }
        listening = [(host, port) for host, port in ours if port is not None]
        for host, port in listening:
            tokens.remember(host, port, ours[host, port])

        def forget() -> None:
            for host, port in listening:
                tokens.forget(host, port)

        return forget

    async def _watch(self, client: Client) -> asyncio.Task[None]:
        """Be somebody who looks: then questions come over HTTP. Returns when the server knows."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def watch() -> None:
            while True:
                with suppress(aiohttp.ClientError, HttpError):
                    async with client.follow_approvals() as events:
                        async for event in events:
                            if event.name == "listed" and not ready.done():
                                ready.set_result(None)
                await asyncio.sleep(0.5)

        task = asyncio.create_task(watch())
        await asyncio.wait({task, asyncio.ensure_future(ready)}, return_when="FIRST_COMPLETED")
        return task

    async def _try(self, server: mcp_apigen.Remembered) -> None:
        """A server that cannot be had keeps nobody from running code: its calls fail."""
        try:
            await self.register(server)
        except (HttpError, aiohttp.ClientError) as error:
            logger.warning("the MCP server %s is not registered: %s", server.name, error)

    async def register(self, server: mcp_apigen.Remembered) -> None:
        """Make an MCP server known to the appliance without making its package anew."""
        if not server.is_below(*self._places()):
            return
        params = server.params
        if mcp_apigen.variables_of(params) - self._forwarded and not self._is_native():
            params = _substitute(params)
        await self.client.register_server(server.name, params, generate=False)

    def _places(self) -> list[Path]:
        """Where code finds packages: what is generated there, or below, it can call."""
        paths = self.kernel_env.get("PYTHONPATH", "").split(os.pathsep)
        return [self.working_dir, *(self.working_dir / path for path in paths if path)]

    def _is_native(self) -> bool:
        return not self._attached and choose(self._backend) == "native"

    # --- running code ---

    async def reset(self) -> None:
        """A new kernel: variables, definitions and imports are gone. MCP servers are stopped and
        start again at their next call."""
        await self.client.reset(self._session)

    async def fork(
        self,
        count: int = 1,
        *,
        force: bool = False,
        wait: bool = False,
        keep_random: bool = False,
    ) -> list[CodeExecutor]:
        """Executors whose sessions begin with all that this one's has in memory, started. Each is
        to be stopped, as an async context manager or by stop(); those of an appliance that this
        executor has started end with it at the latest.

        `force` makes them although they lack what does not survive a fork (threads, sockets, …),
        `wait` waits for code that runs, `keep_random` gives all of them the random states of this
        one, in place of new ones. Raises HttpError: 409 with the names of what would be lacking.
        """
        states = {"random": "keep"} if keep_random else {}
        made = await self.client.fork(self._session, count=count, force=force, wait=wait, **states)
        branches = [self._branch(session) for session in made]
        try:
            for branch in branches:
                await branch.start()
        except BaseException:
            for branch in branches:
                await branch.stop()
            raise
        return branches

    def _branch(self, session: str) -> CodeExecutor:
        branch = copy.copy(self)
        branch._attached = branch._forked = True
        branch._session = session
        branch._stack = branch._client = branch._running = None
        branch._registering, branch._asked, branch._cancelled = [], {}, False
        return branch

    def cancel(self) -> None:
        """Interrupt the code that runs; its stream() or execute() then ends without an error. Does
        nothing when no code runs."""
        self._cancelled = True
        self._interrupt()

    def _interrupt(self) -> None:
        """What was cancelled before it had a name is interrupted as soon as it has one."""
        if self._cancelled and self._running and self._client:
            running, client = self._running, self._client
            self._cancelling = asyncio.ensure_future(
                client.cancel(running.execution, running.session)
            )

    async def execute(self, code: str, timeout: float | None = 120) -> CodeExecutionResult:
        """Run code, accept all its tool calls, and return the result. See stream() for the rest."""
        async for item in self.stream(code, timeout):
            if isinstance(item, ApprovalRequest):
                await item.accept()
            elif isinstance(item, CodeExecutionResult):
                return item
        return CodeExecutionResult(None)

    async def stream(
        self, code: str, timeout: float | None = 120, chunks: bool = False
    ) -> AsyncIterator[ApprovalRequest | CodeExecutionChunk | CodeExecutionResult]:
        """Run code, and yield an ApprovalRequest for each tool call, with `chunks` also the output
        as it comes, and at last the CodeExecutionResult.

        `timeout` is in seconds, the time in which calls wait for a decision included; None: none.
        Leaving the loop early, or cancelling the task, interrupts the code.

        Raises CodeExecutionError with the kernel's traceback, TimeoutError, HttpError.
        """
        loop = asyncio.get_running_loop()
        self._cancelled = False
        members: dict[str, Any] = {"timeout_ms": CELL_MS_MAX, "max_output_chars": OUTPUT_MAX}
        pictures = None if self._own_images else Pictures(self.images_dir)
        if pictures:
            members["save_displays"] = False
        if self._registering:  # they began with start(); code finds them all
            await asyncio.wait(self._registering)
        deadline = None if timeout is None else loop.time() + timeout
        try:
            async with self.client.stream(code, self._session, **members) as events:
                while True:
                    event = await self._next(events, deadline)
                    if event.name == "end":
                        break
                    if pictures:
                        pictures.take(event)
                    if item := self._item(event, chunks):
                        yield item
            if result := await self._result(event, deadline, pictures):
                yield result
        except TimeoutError:
            if deadline is None or loop.time() < deadline:  # of the connection
                raise
            raise TimeoutError(f"the code ran longer than {timeout:.2f}s") from None
        finally:
            self._running = None
            self._asked.clear()

    async def _next(self, events: AsyncIterator[Event], deadline: float | None) -> Event:
        """The next event. What runs out of time is interrupted first."""
        try:
            async with asyncio.timeout_at(deadline):
                event = await anext(events)
        except TimeoutError:
            if self._running:
                with suppress(HttpError, aiohttp.ClientError):
                    await self.client.cancel(*self._running)
            raise
        except StopAsyncIteration:
            raise CodeExecutionError("the appliance has ended the stream of events") from None
        if event.name == "execution":
            self._running = _Running(event.data["id"], self._session)
            self._interrupt()
        return event

    def _item(self, event: Event, chunks: bool) -> ApprovalRequest | CodeExecutionChunk | None:
        data = event.data
        if event.name == "approval":
            return self._approval(data)
        if not chunks or data.get("late"):
            return None
        text = data.get("text") if event.name in ("stdout", "stderr") else None
        if event.name in ("display", "result"):
            text = data["data"].get("text/plain")
        return CodeExecutionChunk(text) if text else None

    def _approval(self, data: dict[str, Any]) -> ApprovalRequest | None:
        asked = self._asked
        if data["state"] == "settled" and data["id"] in asked:
            asked.pop(data["id"]).settle(data["outcome"])
        if data["state"] != "asked" or "tool" not in data or data["id"] in asked:
            return None
        respond = _Responder(self.client, data["id"])
        request = ApprovalRequest(data["server"], data["tool"], data["arguments"], respond)
        asked[data["id"]] = request
        return request

    async def _result(
        self, end: Event, deadline: float | None, pictures: Pictures | None
    ) -> CodeExecutionResult | None:
        assert self._running
        async with asyncio.timeout_at(deadline):
            data = end.data
            if "text" not in data:  # more than an event holds
                data = await self.client.execution(*self._running)
            if data["status"] == "ok":
                text = await self._whole_text(data)
                images = pictures.paths if pictures else []
                images += [await self._image(saved) for saved in data["files"] if _is_image(saved)]
                return CodeExecutionResult(text or None, images)
        if data["status"] == "cancelled" and self._cancelled:
            return None
        if data["status"] == "error":
            error = data["error"]
            trace = error["traceback"]
            lines = trace if isinstance(trace, str) else "\n".join(trace)
            raise CodeExecutionError(f"{error['ename']}: {error['evalue']}\n{lines}")
        raise CodeExecutionError(data.get("reason") or f"the code was {data['status']}")

    async def _whole_text(self, data: dict[str, Any]) -> str:
        path = data.get("output_file")
        if not path:
            return str(data["text"])
        whole = await self.client.read_file(self._relative(path))
        return whole.decode(errors="replace").strip("\n")

    async def _image(self, saved: dict[str, Any]) -> Path:
        """Where the image is. One that no event holds is put where it is wanted first."""
        name = Path(saved["path"]).name
        if self._own_images:
            return (
                self.working_dir / "images" / name if self._elsewhere() else Path("images") / name
            )
        path = self._relative(saved["path"])
        self.images_dir.mkdir(parents=True, exist_ok=True)
        target = self.images_dir / name
        target.write_bytes(await self.client.read_file(path))
        await self.client.delete_file(path)
        return target

    def _elsewhere(self) -> bool:
        return self.working_dir != Path.cwd()

    def _relative(self, path: str) -> str:
        """Of the workspace, whose name differs where we have attached to an appliance."""
        parts = Path(path).parts
        for folder in ("images", "outputs"):
            if folder in parts[-2:-1]:
                return "/".join(parts[-2:])
        return os.path.relpath(path, self.working_dir)

    # --- more of the appliance ---

    async def install_package(self, package: str) -> str:
        """Install a package for the kernels with pip; returns what was installed. Raises
        CodeExecutionError with pip's errors when it fails."""
        found = await self.client.install_package(package)
        if found["status"] != "ok":
            raise CodeExecutionError(found.get("output") or found.get("reason") or "pip failed")
        return str(found["output"])


class _Responder:
    """Carries a decision. One that comes too late has no effect."""

    def __init__(self, client: Client, approval: str) -> None:
        self._client = client
        self._approval = approval

    async def __call__(self, accept: bool) -> None:
        try:
            await self._client.decide(self._approval, accept)
        except HttpError as error:
            if error.status != 404:  # withdrawn, expired, or decided by somebody else
                raise


def _is_taken(port: int, why: str) -> bool:
    """Somebody listens there, natively or on Docker's side. Ports that were asked for stay."""
    return f"port {port}: Address already in use" in why or f":{port} failed: port is" in why


async def _until_alive(client: Client, appliance: Appliance) -> None:
    while True:
        if not appliance.running:
            raise await appliance.failure()
        with suppress(aiohttp.ClientError):
            await client.livez()
            return
        await asyncio.sleep(POLL_S)


async def _end_task(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _is_image(saved: dict[str, Any]) -> bool:
    return str(saved.get("mime", "")).startswith("image/")


def _substitute(value: Any) -> Any:
    """`${NAME}` by our variables, for an appliance that does not have them."""
    if isinstance(value, str):
        return re.sub(mcp_apigen.VARIABLE, lambda m: os.environ.get(m[1], m[0]), value)
    if isinstance(value, dict):
        return {name: _substitute(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_substitute(each) for each in value]
    return value
