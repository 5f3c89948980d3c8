"""ToolRunner and ApprovalRequestor of mcpygen, or of an ipybox before 0.8, from PyPI: in a kernel
they reach its own server.

They have the address of a tool server that nobody has started here: the default one, or that of
TOOL_SERVER_HOST and TOOL_SERVER_PORT, which are not set. Where one of both is, or another address
is given, somebody wants another tool server, and nothing is changed. Their classes and errors stay
theirs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import ipybox_tools
from ipybox_tools.errors import ToolRunnerError

DEFAULT = ("localhost", 8900)
VARIABLES = ("TOOL_SERVER_HOST", "TOOL_SERVER_PORT")

Method = Callable[..., Any]


def redirect(module: ModuleType) -> None:
    """Change what `module` defines of these. One of ours, which has the same names, is left."""
    for name in ("ToolRunner", "ApprovalRequestor"):
        theirs, ours = getattr(module, name, None), getattr(ipybox_tools, name)
        if theirs is None or theirs is ours or theirs.__module__ != module.__name__:
            continue
        for method in ("run", "reset", "request"):
            if hasattr(theirs, method):
                setattr(theirs, method, _awaited(getattr(theirs, method), ours, method))
        for method in ("run_sync", "request_sync"):
            if hasattr(theirs, method):
                setattr(theirs, method, _called(getattr(theirs, method), ours, method))
    reset = getattr(module, "reset", None)
    if reset is not None and reset is not ipybox_tools.reset:
        module.reset = _reset(reset)  # type: ignore[attr-defined]


def _is_ours(host: object, port: object) -> bool:
    return (host, port) == DEFAULT and not any(name in os.environ for name in VARIABLES)


def _twin(their: Any, ours: Method) -> Any:
    """Of one of their objects; None: it belongs to another tool server."""
    if not _is_ours(getattr(their, "host", None), getattr(their, "port", None)):
        return None
    params = getattr(their, "server_params", None)
    return ours(their.server_name) if params is None else ours(their.server_name, params)


def _awaited(stock: Callable[..., Awaitable[Any]], ours: Method, name: str) -> Method:
    @functools.wraps(stock)
    async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        twin = _twin(self, ours)
        if twin is None:
            return await stock(self, *args, **kwargs)
        with _their_errors(stock):
            return await getattr(twin, name)(*args, **kwargs)

    return method


def _called(stock: Method, ours: Method, name: str) -> Method:
    @functools.wraps(stock)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        twin = _twin(self, ours)
        if twin is None:
            return stock(self, *args, **kwargs)
        with _their_errors(stock):
            return getattr(twin, name)(*args, **kwargs)

    return method


def _reset(stock: Callable[..., Awaitable[Any]]) -> Method:
    @functools.wraps(stock)
    async def reset(host: str = DEFAULT[0], port: int = DEFAULT[1]) -> None:
        if not _is_ours(host, port):
            await stock(host, port)
            return
        with _their_errors(stock):
            await ipybox_tools.reset()

    return reset


@contextmanager
def _their_errors(stock: Any) -> Iterator[None]:
    """Raise the class of theirs that an error of ours stands for; code catches that one."""
    try:
        yield
    except ToolRunnerError as error:
        names = (kind.__name__ for kind in type(error).__mro__)
        found = (stock.__globals__.get(name) for name in names)
        kind = next((each for each in found if isinstance(each, type)), None)
        if kind is None or not issubclass(kind, Exception):
            raise
        raise kind(str(error)) from None
