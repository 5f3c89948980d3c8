"""KernelClient: runs code in a kernel of a Jupyter Kernel Gateway, over its WebSocket."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import aiohttp

from ipybox.tool_exec import tokens

MESSAGE_MAX = 0  # bytes; 0: any


class ExecutionError(Exception):
    """The code raised an error; the text has the kernel's traceback."""


@dataclass
class ExecutionResult:
    """What code that ended well has left: its output, None for nothing, and files of its images."""

    text: str | None
    images: list[Path] = field(default_factory=list)


class KernelClient:
    """A kernel of its own at the gateway `host`:`port`; its variables last until reset().

    `images_dir`: where images are saved, `images` in the current directory by default.
    `ping_interval`: seconds between the WebSocket's pings. `working_dir`: where the kernel works;
    each cell that has left it ends there again, and its output says so. `kernel_init_timeout`:
    seconds that the kernel has for its first answer. `token`: of the gateway; without it the one
    of a KernelGateway of this process, or IPYBOX_KERNEL_GATEWAY_TOKEN.
    """

    def __init__(
        self,
        host: str = "localhost",
        port: int = 8888,
        images_dir: Path | None = None,
        ping_interval: float = 10,
        *,
        working_dir: Path | None = None,
        kernel_init_timeout: float = 60,
        token: str | None = None,
    ) -> None:
        self.host = host
        self.port = port
        self.images_dir = Path(images_dir or "images")
        self.ping_interval = ping_interval
        self.working_dir = Path(working_dir).resolve() if working_dir is not None else None
        self.kernel_init_timeout = kernel_init_timeout
        self._token = token
        self._kernel_id: str | None = None
        self._session_id = uuid4().hex
        self._http: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.disconnect()

    @property
    def kernel_id(self) -> str:
        """The kernel's id at the gateway. Raises RuntimeError when there is none."""
        if self._kernel_id is None:
            raise RuntimeError("not connected to a kernel")
        return self._kernel_id

    async def connect(
        self,
        retries: int = 10,
        retry_interval: float = 1.0,
        kernel_init_timeout: float | None = None,
    ) -> None:
        """Create a kernel and connect to it. Tries `retries` times, `retry_interval` seconds apart;
        raises RuntimeError then, and TimeoutError when the kernel does not answer in time."""
        token = self._token or tokens.gateway(self.host, self.port)
        headers = {"Authorization": f"token {token}"} if token else {}
        self._http = aiohttp.ClientSession(f"http://{self.host}:{self.port}", headers=headers)
        try:
            self._kernel_id = await self._create(retries, retry_interval)
            self._socket = await self._http.ws_connect(
                f"/api/kernels/{self._kernel_id}/channels?session_id={self._session_id}",
                heartbeat=self.ping_interval * 2,
                max_msg_size=MESSAGE_MAX,
            )
            await self.execute(self._first_code(), kernel_init_timeout or self.kernel_init_timeout)
        except BaseException:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        """Delete the kernel and close the connection."""
        if self._socket:
            await self._socket.close()
        if self._http:
            if self._kernel_id:
                async with self._http.delete(f"/api/kernels/{self._kernel_id}"):
                    pass
            await self._http.close()
        self._socket = self._http = self._kernel_id = None

    async def reset(self) -> None:
        """Delete the kernel and create a new one."""
        await self.disconnect()
        await self.connect()

    async def interrupt(self) -> None:
        """Interrupt the code that runs."""
        assert self._http
        async with self._http.post(f"/api/kernels/{self.kernel_id}/interrupt", json={}) as answer:
            answer.raise_for_status()

    async def execute(self, code: str, timeout: float | None = 120) -> ExecutionResult:
        """Run code and return the result. See stream()."""
        async for item in self.stream(code, timeout):
            if isinstance(item, ExecutionResult):
                return item
        raise AssertionError("a stream ends with its result")

    async def stream(
        self, code: str, timeout: float | None = 120
    ) -> AsyncIterator[str | ExecutionResult]:
        """Run code; yield its output as it comes, and at last the result.

        `timeout` is in seconds, None: none. Raises ExecutionError with the kernel's traceback, or
        TimeoutError after the code was interrupted.
        """
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        request = await self._request(code)
        result, chunks, error = ExecutionResult(None), list[str](), ""
        answered = idle = False
        while not (answered and idle):
            kind, content = await self._next(request, deadline)
            if kind == "error":
                error = _text_of(content)
            elif kind == "execute_reply":
                answered = True
                error = error or ("" if content["status"] == "ok" else _text_of(content))
            elif kind == "status":
                idle = idle or content["execution_state"] == "idle"
            elif text := self._output(kind, content, result):
                chunks.append(text)
                yield text
        if error:
            raise ExecutionError(error)
        result.text = "".join(chunks).strip() if chunks else None
        yield result

    def _first_code(self) -> str:
        if self.working_dir is None:
            return ""
        keep = f"keep(get_ipython(), {str(self.working_dir)!r})"
        return f"from ipybox_kernel.working_dir import keep\n{keep}\ndel keep"

    # --- the wire ---

    async def _create(self, retries: int, interval: float) -> str:
        assert self._http
        last: Exception | None = None
        for _ in range(retries):
            try:
                async with self._http.post("/api/kernels", json={"name": "python3"}) as answer:
                    answer.raise_for_status()
                    return str((await answer.json())["id"])
            except aiohttp.ClientError as error:
                last = error
                await asyncio.sleep(interval)
        raise RuntimeError(f"no kernel at http://{self.host}:{self.port}: {last}") from last

    async def _request(self, code: str) -> str:
        if not self._socket:
            raise RuntimeError("not connected to a kernel")
        request = uuid4().hex
        header = {"msg_id": request, "msg_type": "execute_request", "session": self._session_id}
        content = {"code": code, "silent": False, "store_history": False}
        content |= {"user_expressions": {}, "allow_stdin": False, "stop_on_error": False}
        await self._socket.send_json(
            {
                "header": {**header, "username": "", "version": "5.3"},
                "parent_header": {},
                "metadata": {},
                "content": content,
                "channel": "shell",
                "buffers": [],
            }
        )
        return request

    async def _next(self, request: str, deadline: float | None) -> tuple[str, dict[str, Any]]:
        assert self._socket
        try:
            async with asyncio.timeout_at(deadline):
                while True:
                    message = await self._socket.receive()
                    if message.type is not aiohttp.WSMsgType.TEXT:
                        raise RuntimeError("the gateway has closed the connection")
                    data = json.loads(message.data)
                    if data["parent_header"].get("msg_id") == request:
                        return data["msg_type"], data["content"]
        except TimeoutError:
            await self.interrupt()
            raise

    def _output(self, kind: str, content: dict[str, Any], result: ExecutionResult) -> str:
        if kind == "stream":
            return str(content["text"])
        if kind not in ("execute_result", "display_data"):
            return ""
        data = content["data"]
        if "image/png" in data:
            self.images_dir.mkdir(parents=True, exist_ok=True)
            path = self.images_dir / f"{uuid4().hex[:8]}.png"
            path.write_bytes(b64decode(data["image/png"]))
            result.images.append(path)
        return str(data.get("text/plain", ""))


def _text_of(content: dict[str, Any]) -> str:
    lines = "\n".join(content.get("traceback", []))
    return f"{content.get('ename', 'Error')}: {content.get('evalue', '')}\n{lines}"
