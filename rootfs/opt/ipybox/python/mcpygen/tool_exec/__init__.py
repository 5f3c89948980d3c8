"""See mcpygen."""

from mcpygen.tool_exec.client import (
    ApprovalRejectedError,
    ApprovalTimeoutError,
    ToolRunner,
    ToolRunnerError,
)

__all__ = ["ApprovalRejectedError", "ApprovalTimeoutError", "ToolRunner", "ToolRunnerError"]
