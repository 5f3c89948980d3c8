"""ipybox: run Python code in stateful IPython kernels, with typed functions for MCP tools.

    CodeExecutor           starts an appliance (or attaches to one) and runs code in a kernel of it
    ApprovalRequest        a tool call that waits for a decision
    CodeExecutionChunk     output while the code runs
    CodeExecutionResult    all of it, at the end
    CodeExecutionError     the code raised an error; the text has the traceback
    generate_mcp_sources   makes a package of typed functions for the tools of an MCP server

    ipybox.client          every route of the HTTP API of a running appliance
    ipybox.sync            CodeExecutor and generate_mcp_sources for programs without asyncio

Names are imported when they are first used: kernels import parts of this package, too, and need
none of what the rest imports.
"""

from __future__ import annotations

from ipybox import _mcpygen

TYPE_CHECKING = False  # typing would take longer to import than all else here
if TYPE_CHECKING:
    from ipybox.code_exec import (
        CodeExecutionChunk,
        CodeExecutionError,
        CodeExecutionResult,
        CodeExecutor,
    )
    from ipybox.mcp_apigen import adopt_mcp_sources, generate_mcp_sources
    from ipybox.tool_exec.approval.client import ApprovalRequest

__all__ = [
    "ApprovalRequest",
    "CodeExecutionChunk",
    "CodeExecutionError",
    "CodeExecutionResult",
    "CodeExecutor",
    "adopt_mcp_sources",
    "generate_mcp_sources",
]

_MODULES = {
    "ApprovalRequest": "ipybox.tool_exec.approval.client",
    "CodeExecutionChunk": "ipybox.code_exec",
    "CodeExecutionError": "ipybox.code_exec",
    "CodeExecutionResult": "ipybox.code_exec",
    "CodeExecutor": "ipybox.code_exec",
    "adopt_mcp_sources": "ipybox.mcp_apigen",
    "generate_mcp_sources": "ipybox.mcp_apigen",
}


_mcpygen.install()


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'ipybox' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
