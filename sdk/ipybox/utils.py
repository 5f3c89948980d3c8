"""Small helpers that the documents' examples use."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def arun(func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Await `func(*args, **kwargs)`, which runs in a thread: input() for example."""
    return await asyncio.get_running_loop().run_in_executor(None, partial(func, *args, **kwargs))


def find_free_port(host: str = "127.0.0.1") -> int:
    """A TCP port of `host` that nobody listens on now. Another program may take it meanwhile."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def seconds(value: float | None) -> str:
    """As the options have it; 0 waits forever."""
    if value is None:
        return "0"
    if value <= 0:
        raise ValueError("a timeout of more than 0 seconds is needed, or None")
    return f"{value:.3f}".rstrip("0").rstrip(".") if value >= 0.001 else "0.001"
