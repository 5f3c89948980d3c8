"""What a call can fail with."""

from __future__ import annotations

from typing import Any

OLD_PYDANTIC = (
    "the packages of mcptools need pydantic 2, and an older one is installed: "
    "install_package('pydantic>=2'), then reset"
)


class ToolRunnerError(Exception):
    """A tool call failed: in the tool, in its server, or on the way there."""


class ApprovalRejectedError(ToolRunnerError):
    """A human or a rule has rejected the call."""


class ApprovalTimeoutError(ToolRunnerError):
    """Nobody has decided about the call in time; it was not made."""


_KINDS = {"rejected": ApprovalRejectedError, "timeout": ApprovalTimeoutError}


def error_of(result: dict[str, Any]) -> ToolRunnerError:
    """The exception for an answer ``{"error", "type"}``."""
    return _KINDS.get(result.get("type", ""), ToolRunnerError)(result["error"])
