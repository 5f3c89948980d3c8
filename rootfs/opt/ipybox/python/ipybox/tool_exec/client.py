"""See ipybox."""

from ipybox_tools import (
    ApprovalRejectedError,
    ApprovalTimeoutError,
    ToolRunner,
    ToolRunnerError,
    reset,
)

__all__ = [
    "ApprovalRejectedError",
    "ApprovalTimeoutError",
    "ToolRunner",
    "ToolRunnerError",
    "reset",
]
