"""ToolRunner, with which generated packages call their tools, and ApprovalRequestor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ipybox_tools import blocking
from ipybox_tools.arguments import arguments_of, result_as
from ipybox_tools.content import result_of
from ipybox_tools.errors import OLD_PYDANTIC, error_of

if TYPE_CHECKING:
    from pydantic import BaseModel

R = TypeVar("R")
M = TypeVar("M", bound="BaseModel")
P = TypeVar("P", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Run(Protocol[P, R_co]):
    """run() of a generated module."""

    def __call__(self, params: P | dict[str, Any] | None = None, **arguments: Any) -> R_co: ...


class Arun(Protocol[P, R_co]):
    """arun() of a generated module: run(), to be awaited."""

    async def __call__(
        self, params: P | dict[str, Any] | None = None, **arguments: Any
    ) -> R_co: ...


class ToolRunner:
    """The tools of one registered MCP server.

    `server_params` are those that the package was generated with, if at all; the server compares
    them with the registered ones and never runs them for code in a kernel. `host` and `port` are
    of earlier systems and have no effect.
    """

    def __init__(
        self,
        server_name: str,
        server_params: dict[str, Any] | None = None,
        host: str | None = None,
        port: int | None = None,
    ) -> None:
        self.server_name = server_name
        self.server_params = server_params
        self.host = host
        self.port = port

    def run_sync(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """Call a tool. Returns ToolData (a dict), ToolOutput (a str), or None for no result.

        Raises ApprovalRejectedError or ApprovalTimeoutError if the call was not allowed,
        ToolRunnerError if it failed, ValueError if `tool_args` cannot be written as JSON.
        """
        return _value(blocking.call("run", self._params(tool_name, tool_args)))

    async def run(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        """Call a tool and await it, as run_sync() does."""
        from ipybox_tools import concurrent

        return _value(await concurrent.call("run", self._params(tool_name, tool_args)))

    def functions(
        self, tool_name: str, kind: type[M], result: type[R], doc: str | None = None
    ) -> tuple[Run[M, R], Arun[M, R]]:
        """run() and arun() of a generated module: each calls a tool with a `kind` or a dict, or
        with keywords, and returns a `result`.

        They raise what run_sync() does, and TypeError or ValueError, with the tool's signature, for
        arguments that the tool does not take. Nothing was sent then.
        """

        if not hasattr(kind, "model_fields"):
            raise ImportError(OLD_PYDANTIC)

        def run(params: M | dict[str, Any] | None = None, **arguments: Any) -> R:
            sent = arguments_of(tool_name, kind, params, arguments)
            return result_as(tool_name, result, self.run_sync(tool_name, sent))

        async def arun(params: M | dict[str, Any] | None = None, **arguments: Any) -> R:
            sent = arguments_of(tool_name, kind, params, arguments)
            return result_as(tool_name, result, await self.run(tool_name, sent))

        run.__doc__, arun.__doc__ = doc, "run(), to be awaited."
        hints = {"params": kind | dict[str, Any] | None, "arguments": Any, "return": result}
        for function in (run, arun):
            function.__module__, function.__qualname__ = kind.__module__, function.__name__
            function.__annotations__ = hints
        return run, arun

    async def reset(self) -> None:
        """Stop all MCP servers; the next call of each starts it anew. Raises ToolRunnerError."""
        await reset()

    def _params(self, tool_name: str, tool_args: dict[str, Any]) -> dict[str, Any]:
        params = _subject(self.server_name, tool_name, tool_args)
        if self.server_params is not None:
            params["server_params"] = self.server_params
        return params


class ApprovalRequestor:
    """Asks for approval of something without doing it. `host` and `port` have no effect."""

    def __init__(self, server_name: str, host: str | None = None, port: int | None = None) -> None:
        self.server_name = server_name
        self.host = host
        self.port = port

    def request_sync(self, tool_name: str, tool_args: dict[str, Any]) -> None:
        """Return when it is approved; else raise as ToolRunner.run_sync() does."""
        _check(blocking.call("approve", _subject(self.server_name, tool_name, tool_args)))

    async def request(self, tool_name: str, tool_args: dict[str, Any]) -> None:
        """Await the approval; else raise as ToolRunner.run_sync() does."""
        from ipybox_tools import concurrent

        _check(await concurrent.call("approve", _subject(self.server_name, tool_name, tool_args)))


async def reset(host: str | None = None, port: int | None = None) -> None:
    """Stop all MCP servers; the next call of each starts it anew. Raises ToolRunnerError."""
    from ipybox_tools import concurrent

    await concurrent.call("reset", {})


def reset_sync() -> None:
    """Stop all MCP servers; the next call of each starts it anew. Raises ToolRunnerError."""
    blocking.call("reset", {})


def _subject(server_name: str, tool_name: str, tool_args: dict[str, Any]) -> dict[str, Any]:
    return {"server_name": server_name, "tool_name": tool_name, "tool_args": tool_args}


def _value(answer: dict[str, Any]) -> Any:
    if "error" in answer:
        raise error_of(answer)
    return result_of(answer)


def _check(answer: dict[str, Any]) -> None:
    if "error" in answer or answer.get("approved") is not True:
        raise error_of({"error": "Approval was not given"} | answer)
