"""Errors that several modules raise."""

from __future__ import annotations

from typing import Any


class ServerError(RuntimeError):
    """The appliance did not start, or has ended. The text says why and what to do."""


class HttpError(RuntimeError):
    """An answer of the HTTP API other than expected.

    `status` is the HTTP status, `problem` the problem document (RFC 9457), {} where there is none.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        detail = problem.get("detail") or problem.get("title") or "no problem document"
        super().__init__(f"HTTP {status}: {detail}")
