"""Tokens of the tool servers and gateways that this process has started, by their addresses: so
ToolRunner(host, port) and the like find them. Elsewhere the variables of the server are read."""

from __future__ import annotations

import os
from typing import NamedTuple


class Tokens(NamedTuple):
    """Of one server: for who calls tools, for who approves, for who runs code in its gateway."""

    application: str = ""
    approver: str = ""
    gateway: str = ""


_started: dict[tuple[str, int], Tokens] = {}


def remember(host: str, port: int, tokens: Tokens) -> None:
    """Of a server that has come up."""
    _started[_key(host, port)] = tokens


def forget(host: str, port: int) -> None:
    """It has ended."""
    _started.pop(_key(host, port), None)


def application(host: str, port: int) -> str:
    """The token with which tools are called, or ""."""
    return _of(host, port).application or os.environ.get("IPYBOX_TOOL_SERVER_TOKEN", "")


def approver(host: str, port: int) -> str:
    """The token with which calls are approved, or ""."""
    return _of(host, port).approver or os.environ.get("IPYBOX_APPROVER_TOKEN", "")


def gateway(host: str, port: int) -> str:
    """The token of a kernel gateway, or ""."""
    return _of(host, port).gateway or os.environ.get("IPYBOX_KERNEL_GATEWAY_TOKEN", "")


def headers(token: str) -> dict[str, str]:
    """As a request brings it."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def _of(host: str, port: int) -> Tokens:
    return _started.get(_key(host, port), Tokens())


def _key(host: str, port: int) -> tuple[str, int]:
    return ("localhost" if host in ("127.0.0.1", "::1") else host, port)
