"""What a kernel remembers of its cells: their texts, for ``In`` and ``%history``, and few results.

Limits:  the texts of the latest cells of INPUTS_MAX characters together; of older ones ``In`` has
         an empty text. ``Out`` has the OUTPUTS_KEPT latest results, those that ``_``, ``__`` and
         ``___`` name. What was printed and raised is not kept: only %notebook would use it.
"""

from __future__ import annotations

import re
import tokenize
from contextlib import nullcontext
from io import StringIO
from typing import Any

from ipybox_kernel.once import Cell

INPUTS_MAX = 8 << 20
OUTPUTS_KEPT = 3

_NOTHING_MORE = re.compile(r"(?:\s|#[^\n]*)*")
_NO_CODE = (tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)


def _ends_quietly(code: str) -> bool:
    """Whether its last token is ``;``."""
    tokens = list(tokenize.generate_tokens(StringIO(code).readline))
    return next(token.string for token in reversed(tokens) if token.type not in _NO_CODE) == ";"


class _Forgetful(dict[int, list[Any]]):
    """What is appended to an entry that is not there is gone; so is what is set."""

    def __missing__(self, key: int) -> list[Any]:
        return []

    def __setitem__(self, key: int, value: object) -> None:
        """Nothing."""


class History:
    """One per shell."""

    def __init__(self, shell: Any, cell: Cell) -> None:
        self._shell = shell
        self._cell = cell
        self._kept = 0  # characters of inputs
        self._seen = 1  # inputs whose characters are counted
        self._first = 1  # the oldest input that is kept
        manager = shell.history_manager
        manager.outputs, manager.exceptions = _Forgetful(), _Forgetful()
        # No public names; should they go, more is kept and nothing else happens.
        shell._tee = lambda channel: nullcontext()
        shell._format_exception_for_storage = lambda *args, **kwargs: {}
        shell.displayhook.quiet = self.quiet

    def quiet(self) -> bool:
        """Whether the value of a cell's last expression is not to be shown: it ends with ``;``.

        IPython asks the text that was stored last, and takes it apart for each value.
        """
        text = self._cell.latest
        _, found, rest = text.rpartition(";")
        return bool(found) and _NOTHING_MORE.fullmatch(rest) is not None and _ends_quietly(text)

    def forget(self) -> None:
        """Drop what is too old. Called after each cell."""
        manager = self._shell.history_manager
        manager.db_input_cache.clear()
        raw, parsed = manager.input_hist_raw, manager.input_hist_parsed
        names = self._shell.user_ns
        if len(raw) < self._seen:  # %reset
            self._kept, self._seen, self._first = 0, 1, 1
        while self._seen < len(raw):
            self._kept += len(raw[self._seen])
            self._seen += 1
        while self._kept > INPUTS_MAX and self._first < self._seen:
            self._kept -= len(raw[self._first])
            raw[self._first] = parsed[self._first] = ""
            names.pop(f"_i{self._first}", None)
            self._first += 1
        results = names.get("_oh")
        while isinstance(results, dict) and len(results) > OUTPUTS_KEPT:
            oldest = next(iter(results))
            del results[oldest]
            names.pop(f"_{oldest}", None)
            manager.output_hist_reprs.pop(oldest, None)
