"""Tracebacks that a reader can take in, made in a time that does not depend on what was raised.

Form:    IPython's. A frame has two lines before and after its own; frames of libraries, and what
         repeats, are folded (frames.py). The exceptions of a group stand before it, with
         MEMBER_FRAMES frames and a line of source each; those of one class and one place are
         folded, too. Where something was left out, ``Tracebacks.whole`` has all of it.
Limits:  FRAMES_SHOWN frames of an exception, CHAIN_SHOWN exceptions of a chain, MEMBERS_SHOWN of
         groups, LINE_MAX characters of a source line, VALUE_MAX of an exception's text and
         MEMBER_TEXT of that of a group's member; errors.py has those of the whole.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from textwrap import indent
from typing import Any, TypeVar

from ipybox_kernel.errors import VALUE_MAX, Group, Kind, chain, kinds, shortened, text_of, whole
from ipybox_kernel.frames import (
    Line,
    Place,
    Run,
    abridged,
    arguments,
    function,
    library_line,
    places,
    runs,
    source,
    without_repetitions,
)

Error = TypeVar("Error", bound=BaseException)

FRAMES_SHOWN = 20
CHAIN_SHOWN = 6
MEMBERS_SHOWN = 8
MEMBER_FRAMES = 4
MEMBER_TEXT = 400
OTHERS_SHOWN = 3  # texts of exceptions that are like the one above them
DEPTH_SHOWN = 3  # of groups in groups
CONTEXTS_MAX = 100  # exceptions that were being handled, for IPython

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


class _Nowhere:
    """The frame of a line that stands for many."""

    f_locals: Mapping[str, Any] = {}


class Record:
    """What IPython takes for a frame: its text, and what else is asked of one."""

    _sd = None

    def __init__(self, text: str, frame: object = _Nowhere, filename: str = "", line: int = 1):
        self.text = text
        self.frame = frame
        self.filename = filename
        self.lineno = line


def _brief(error: BaseException) -> str:
    return shortened(text_of(error), MEMBER_TEXT)


def _is_not_for_ipython(error: BaseException | None) -> bool:
    """Whether IPython would print it: a group, or what came of one; or would fail, which asks for
    that by one call for each exception that was handled."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, BaseExceptionGroup) or len(seen) > CONTEXTS_MAX:
            return True
        seen.add(id(error))
        error = error.__context__
    return False


class Tracebacks:
    """Takes the place of those parts of a shell that find and format frames. One per shell."""

    def __init__(self, shell: Any) -> None:
        self.whole: str | None = None  # of the cell's last error, where frames were left out
        self._shell = shell
        self._stock = stock = shell.InteractiveTB
        self._structured: Callable[..., list[str]] = stock.structured_traceback
        self._records = stock.get_records
        self._record: Callable[[Any], str] = stock.format_record
        self._exception: Callable[..., list[str]] = stock.format_exception
        self._parts = stock.get_parts_of_chained_exception
        self._one: Callable[..., list[list[str]]] = stock.format_exception_as_a_whole
        self._show = shell._showtraceback
        self._show_current: Callable[..., None] = shell.showtraceback
        self._cut = False
        self._links = 0  # of a chain, still to be shown
        self._members = 0  # of groups, likewise
        stock.structured_traceback = self.structured_traceback
        stock.get_records = self.get_records
        stock.format_record = self.format_record
        stock.format_exception = self.format_exception
        stock.get_parts_of_chained_exception = self.get_parts
        stock.format_exception_as_a_whole = self.format_one
        shell._showtraceback = self.show
        shell.showtraceback = self.show_current

    def forget(self) -> None:
        """A cell begins. ipykernel forgets the last one's error only if it awaits nothing."""
        self.whole = self._shell._last_traceback = None

    def structured_traceback(
        self, etype: Any = None, value: Any = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        """As IPython's."""
        self._cut, self._links, self._members = False, CHAIN_SHOWN - 1, MEMBERS_SHOWN
        lines = self._structured(etype, value, *args, **kwargs)
        if self._cut and isinstance(value, BaseException):
            self.whole = whole(value)
        return lines

    def get_records(self, etb: Any, context: int, tb_offset: int) -> list[Any]:
        """The frames that are shown, and lines for others."""
        if self._stock.include_vars:  # %xmode Verbose
            records: list[Any] = self._records(etb, context, tb_offset)
            return records
        return self._frames(etb, context, FRAMES_SHOWN)

    def _frames(self, tb: Any, context: int, most: int) -> list[Record]:
        first, ignored, last = places(tb)
        found = runs(first) + ([Line(f"    … {ignored} more frames\n", ignored)] if ignored else [])
        shown = abridged(without_repetitions(found + runs(last)), most)
        return [self._made(part, context) for part in shown]

    def format_record(self, record: Any) -> str:
        """The text of one of them."""
        return record.text if isinstance(record, Record) else self._record(record)

    def _made(self, part: Run | Line, context: int) -> Record:
        if isinstance(part, list) and part[0].library is None:
            place = part[0]
            return Record(
                self._text(place, context), place.frame, place.code.co_filename, place.line
            )
        self._cut = True
        line = part if isinstance(part, Line) else library_line(part)
        return Record(line.text)

    def format_exception(self, etype: Any, value: Any) -> list[str]:
        """What an exception says, and its notes."""
        return [shortened(text, VALUE_MAX) for text in self._exception(etype, value)]

    def format_one(self, etype: Any, value: Any, *args: Any, **kwargs: Any) -> list[list[str]]:
        """An exception of a chain; before a group's frames its exceptions."""
        parts = self._one(etype, value, *args, **kwargs)
        if isinstance(value, BaseExceptionGroup):
            parts[0][1:1] = self._group(value, 1)
        return parts

    def _group(self, group: Group, depth: int) -> list[str]:
        found, left_out = kinds(group)
        texts = []
        for kind in found:
            if self._members > 0 and depth <= DEPTH_SHOWN:
                self._members -= 1
                text = indent(self._kind(kind, depth), "    ")
                texts.append(f"{kind.number} of {len(group.exceptions)}:\n{text}")
            else:
                left_out += 1 + len(kind.others)
        if left_out:
            self._cut = True
            texts.append(f"… {left_out} more sub-exceptions\n")
        return texts

    def _kind(self, kind: Kind, depth: int) -> str:
        error = kind.first
        inner = self._group(error, depth + 1) if isinstance(error, BaseExceptionGroup) else []
        frames = [record.text for record in self._frames(error.__traceback__, 1, MEMBER_FRAMES)]
        lines = [f"{_brief(each)}\nwhich led to:\n" for each in islice(chain(error), 1, 3)]
        self._cut |= bool(lines)
        lines += [*inner, *frames, _brief(error) + "\n"]
        lines += [f"    … and there {_brief(each)}\n" for each in kind.others[:OTHERS_SHOWN]]
        more = len(kind.others) - OTHERS_SHOWN
        if more > 0:
            self._cut = True
            lines.append(f"    … {more} more there, the last: {_brief(kind.others[-1])}\n")
        return "".join(lines)

    def get_parts(self, value: Any) -> Any:
        """The exception before this one; of a long chain the first and the last are shown."""
        self._links -= 1
        if self._links == 1 and isinstance(value, BaseException):
            rest = list(islice(chain(value), 10_000))
            if len(rest) > 3:
                self._cut = True
                return type(rest[-1]), rest[-1], rest[-1].__traceback__
        return self._parts(value) if self._links >= 0 else None

    def show_current(
        self, exc_tuple: Any = None, filename: Any = None, tb_offset: Any = None, **kwargs: Any
    ) -> None:
        """As InteractiveShell.showtraceback, for what that cannot show."""
        value = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if kwargs.get("exception_only") or not _is_not_for_ipython(value):
            self._show_current(exc_tuple, filename, tb_offset, **kwargs)
            return
        error = self._shell._get_exc_info(exc_tuple)  # and %debug and %tb know it
        lines = self.structured_traceback(*error, tb_offset=tb_offset)
        if self._stock.mode not in ("Context", "Verbose"):  # they have no groups
            self.whole = whole(error[1])
        self.show(error[0], error[1], lines)
        if self._shell.call_pdb:
            self._shell.debugger(force=True)

    def show(self, etype: Any, value: Any, lines: list[str]) -> None:
        """Send the error. Its text is asked for once more, by ipykernel."""
        self._show(etype, text_of(value).partition(": ")[2], lines)

    def _text(self, place: Place, context: int) -> str:
        code = place.code
        label = self._shell.compile.format_code_name(code.co_filename)
        if label is None:
            home = os.path.expanduser("~") + os.sep
            path = code.co_filename
            path = "~/" + path.removeprefix(home) if path.startswith(home) else path
            where = f"File {path}:{place.line}"
        else:
            where = f"{' '.join(label)}, line {place.line}"
        if code.co_name != "<module>":
            where += f", in {function(code)}{arguments(code)}"
        after = (context - 1) // 2
        return f"{where}\n{''.join(source(place, context - 1 - after, after))}"
