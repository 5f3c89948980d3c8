"""What ipykernel and IPython would both do with the text of a cell, done once.

ipykernel transforms and compiles a cell to learn whether it awaits something; for one that does
not, IPython transforms and compiles it again for the same reason. Both are a function of the text.
"""

from __future__ import annotations

import inspect
from typing import Any


class Cell:
    """One per shell, made before its first cell. Threads may run cells side by side: what was
    learnt of one text is right for an equal one."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._transform = shell.transform_cell
        self._should_run_async = shell.should_run_async
        self._parse = shell.compile.ast_parse
        shell.compile.ast_parse = self.parse
        shell.transform_cell = self.transform
        shell.should_run_async = self.should_run_async
        run_cell = type(shell).run_cell_async
        run_cell.__signature__ = inspect.signature(run_cell)  # asked for by ipykernel, each time
        self.latest = ""  # the text that runs, in Python's syntax
        self.forget()

    def forget(self) -> None:
        """A cell has ended: a later one may have the same text and mean something else."""
        self._transformed: tuple[str, str] | None = None
        self._awaits: tuple[tuple[object, ...], bool] | None = None

    def transform(self, raw_cell: str) -> str:
        """IPython's syntax as Python's."""
        known, self._transformed = self._transformed, None
        if known is not None and known[0] == raw_cell:
            self.latest = known[1]
            return known[1]
        transformed: str = self._transform(raw_cell)
        self._transformed = raw_cell, transformed
        self.latest = transformed
        return transformed

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """The syntax tree of a cell. Raises SyntaxError where Python raises RecursionError, which
        IPython takes for a fault of its own."""
        try:
            return self._parse(*args, **kwargs)
        except RecursionError as error:
            raise SyntaxError(
                "the code is nested too deeply for Python, as a sum of thousands of terms is; "
                f"split it ({error})"
            ) from None

    def should_run_async(
        self,
        raw_cell: str,
        *,
        transformed_cell: str | None = None,
        preprocessing_exc_tuple: object = None,
    ) -> bool:
        """Whether it has a top-level await."""
        asked = (transformed_cell, preprocessing_exc_tuple, self._shell.autoawait)
        known, self._awaits = self._awaits, None
        if known is not None and known[0] == asked:
            return known[1]
        try:
            awaits: bool = self._should_run_async(
                raw_cell,
                transformed_cell=transformed_cell,
                preprocessing_exc_tuple=preprocessing_exc_tuple,
            )
        except RecursionError:  # parse() tells it
            awaits = False
        self._awaits = asked, awaits
        return awaits
