"""CodeExecutor and generate_mcp_sources() for programs without asyncio.

    from ipybox.sync import CodeExecutor

    with CodeExecutor() as executor:
        print(executor.execute("1 + 1").text)

Everything runs in an event loop of its own, in one thread for the whole process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

import ipybox.code_exec as code_exec
import ipybox.mcp_apigen as mcp_apigen
from ipybox.code_exec import CodeExecutionChunk, CodeExecutionError, CodeExecutionResult
from ipybox.tool_exec.approval import client as approval

__all__ = [
    "ApprovalRequest",
    "CodeExecutionChunk",
    "CodeExecutionError",
    "CodeExecutionResult",
    "CodeExecutor",
    "generate_mcp_sources",
]

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


class ApprovalRequest:
    """As ipybox.ApprovalRequest; accept() and reject() return when the server knows."""

    def __init__(self, request: approval.ApprovalRequest) -> None:
        self._request = request
        self.server_name = request.server_name
        self.tool_name = request.tool_name
        self.tool_args = request.tool_args

    def __str__(self) -> str:
        return str(self._request)

    @property
    def outcome(self) -> str | None:
        """As of ipybox.ApprovalRequest."""
        return self._request.outcome

    def accept(self) -> None:
        """Let the call be made."""
        _run(self._request.accept())

    def reject(self) -> None:
        """Have the call fail."""
        _run(self._request.reject())


class CodeExecutor:
    """As ipybox.CodeExecutor, with the same parameters; its methods return when all is done."""

    def __init__(self, *args: Any, **parameters: Any) -> None:
        self._executor = code_exec.CodeExecutor(*args, **parameters)

    def __enter__(self) -> Self:
        _run(self._executor.__aenter__())
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """As CodeExecutor.start()."""
        _run(self._executor.start())

    def stop(self) -> None:
        """As CodeExecutor.stop()."""
        _run(self._executor.stop())

    def reset(self) -> None:
        """As CodeExecutor.reset()."""
        _run(self._executor.reset())

    def fork(
        self,
        count: int = 1,
        *,
        force: bool = False,
        wait: bool = False,
        keep_random: bool = False,
    ) -> list[CodeExecutor]:
        """As CodeExecutor.fork()."""
        fork = self._executor.fork(count, force=force, wait=wait, keep_random=keep_random)
        made = _run(fork)
        return [CodeExecutor._of(executor) for executor in made]

    @classmethod
    def _of(cls, executor: code_exec.CodeExecutor) -> CodeExecutor:
        twin = cls.__new__(cls)
        twin._executor = executor
        return twin

    def cancel(self) -> None:
        """As CodeExecutor.cancel(); for another thread than the one that runs the code."""
        _own_loop().call_soon_threadsafe(self._executor.cancel)

    def execute(self, code: str, timeout: float | None = 120) -> CodeExecutionResult:
        """As CodeExecutor.execute()."""
        return _run(self._executor.execute(code, timeout))

    def install_package(self, package: str) -> str:
        """As CodeExecutor.install_package()."""
        return _run(self._executor.install_package(package))

    def stream(
        self, code: str, timeout: float | None = 120, chunks: bool = False
    ) -> Iterator[ApprovalRequest | CodeExecutionChunk | CodeExecutionResult]:
        """As CodeExecutor.stream()."""
        items = self._executor.stream(code, timeout, chunks)
        try:
            while True:
                item = _run(_next(items))
                if item is None:
                    return
                is_request = isinstance(item, approval.ApprovalRequest)
                yield ApprovalRequest(item) if is_request else item
        finally:
            _run(items.aclose())  # type: ignore[attr-defined]


def generate_mcp_sources(
    server_name: str, server_params: dict[str, Any], root_dir: Path, *, backend: str | None = None
) -> list[str]:
    """As ipybox.generate_mcp_sources()."""
    return _run(
        mcp_apigen.generate_mcp_sources(server_name, server_params, root_dir, backend=backend)
    )


async def _next(items: Any) -> Any:
    return await anext(items, None)


def _own_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="ipybox", daemon=True).start()
        return _loop


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, _own_loop()).result()
