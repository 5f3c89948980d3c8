"""ToolServer: a tool server of an appliance's own, for applications that call tools by ToolRunner
and decide on them by ApprovalClient, without running code."""

from __future__ import annotations

import secrets
from typing import Self

from ipybox.backend import choose
from ipybox.listening import ListeningServer
from ipybox.tool_exec import tokens
from ipybox.utils import seconds

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ToolServer(ListeningServer):
    """Listens on `host`:`port` as docs/tool-server.md says.

    `approval_required`: whether calls wait for the ApprovalClient. `approval_timeout` and
    `connect_timeout` are in seconds. `log_to_stderr` has no effect: the log goes there anyway.
    Natively, on loopback and without `application_token` and `approver_token`, programs of this
    user call and approve without a token, and code in kernels cannot (--tool-server-open). With
    tokens, and in Docker, clients bring them; random ones, where none are given, are found by the
    clients of this process.
    """

    def __init__(
        self,
        host: str = "localhost",
        port: int = 8900,
        approval_required: bool = False,
        approval_timeout: float | None = 60,
        connect_timeout: float = 30,
        log_to_stderr: bool = False,
        log_level: str = "INFO",
        *,
        application_token: str | None = None,
        approver_token: str | None = None,
        backend: str | None = None,
    ) -> None:
        is_open = _is_open(host, backend) and not (application_token or approver_token)
        own = tokens.Tokens(
            application_token or secrets.token_hex(16), approver_token or secrets.token_hex(16)
        )
        options = ["--tool-server-host", _listen(host, backend), "--tool-server-port", str(port)]
        options += ["--approval-timeout", seconds(approval_timeout), "--log-level", log_level]
        options += ["--connect-timeout", seconds(connect_timeout), "--spare-kernels", "0"]
        if approval_required:
            options.append("--approve-tool-calls")
        if is_open:
            options.append("--tool-server-open")
        variables = {
            "IPYBOX_TOOL_SERVER_TOKEN": own.application,
            "IPYBOX_APPROVER_TOKEN": own.approver,
        }
        super().__init__(host, port, options, variables, own, "/status", backend)

    async def __aenter__(self) -> Self:
        await self.start()
        return self


def _is_open(host: str, backend: str | None) -> bool:
    return choose(backend) == "native" and host in LOOPBACK


def _listen(host: str, backend: str | None) -> str:
    """In a container every address: which of the host's it is reached by, docker's -p says."""
    return host if choose(backend) == "native" else "0.0.0.0"
