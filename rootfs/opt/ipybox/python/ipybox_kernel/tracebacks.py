"""Tracebacks that end where the user's code ends."""

from __future__ import annotations

import os
from typing import TypeVar

Error = TypeVar("Error", bound=BaseException)

_OURS = os.path.dirname(__file__) + os.sep


def ending_outside(error: Error) -> Error:
    """`error`, made such that IPython shows no frames below the last one outside this package."""

    def render() -> list[str]:
        from IPython.core.getipython import get_ipython

        frame = error.__traceback__
        last = None
        while frame is not None:
            if not frame.tb_frame.f_code.co_filename.startswith(_OURS):
                last = frame
            frame = frame.tb_next
        if last is not None:
            last.tb_next = None
        shell = get_ipython()
        assert shell is not None
        lines: list[str] = shell.InteractiveTB.structured_traceback(
            type(error), error, error.__traceback__
        )
        return lines

    error._render_traceback_ = render  # type: ignore[attr-defined]
    return error
