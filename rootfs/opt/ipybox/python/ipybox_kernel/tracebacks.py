"""Tracebacks that a reader can take in, made in a time that does not depend on what was raised.

Form:    IPython's. A frame has two lines before and after its own, a run of frames of libraries,
         of Python's own modules and of the tools' runtime is one line, and what repeats is shown
         once and counted. Where frames were left out, ``Tracebacks.whole`` has them all.
Limits:  FRAMES_SHOWN frames of an exception, CHAIN_SHOWN exceptions of a chain, LINE_MAX characters
         of a source line, VALUE_MAX of an exception's text; WHOLE_FRAMES frames in the whole.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, TypeVar

Error = TypeVar("Error", bound=BaseException)

FRAMES_SHOWN = 20
CHAIN_SHOWN = 6
LINE_MAX = 200
VALUE_MAX = 1_000_000
WHOLE_FRAMES = 1000
WHOLE_CHAIN = 50
PERIOD_MAX = 12  # frames that are recognized when they repeat as a group
READ_MAX = 20_000  # frames that are looked at: of more, as many of the first as of the last
NAMES_SHOWN = 4

_OURS = os.path.dirname(__file__) + os.sep
_MACHINERY = {"IPython", "ipykernel", "ipybox_kernel"}  # what runs a cell is nobody's error
_RUNTIME = {"ipybox_tools", "mcptools"}
_PYTHON = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})


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


def shortened(text: str, most: int) -> str:
    """`text`; of a longer one the beginning and the end, at most about `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"


class Place(NamedTuple):
    """A frame of a traceback."""

    frame: FrameType
    line: int

    @property
    def code(self) -> CodeType:
        return self.frame.f_code

    @property
    def root(self) -> str:
        """The name of the package that it belongs to."""
        return str(self.frame.f_globals.get("__name__", "")).partition(".")[0]

    @property
    def library(self) -> str | None:
        """The library that it belongs to, or None: it is code of the user."""
        if self.root in _RUNTIME:
            return self.root
        path = self.code.co_filename
        if not path.startswith(("/", "<")):  # of a compiled module, relative to its sources
            path = getattr(sys.modules.get(self.root), "__file__", None) or path
        return _library(path)

    def brief(self) -> str:
        """File, line and function in a few words."""
        path = self.code.co_filename
        for mark in ("-packages/", "/mcptools/", "/ipybox_tools/", *_PYTHON):
            _, found, rest = path.rpartition(mark)
            if found:
                path = rest if mark.endswith("-packages/") or mark in _PYTHON else mark[1:] + rest
                break
        return f"{path}:{self.line} in {_function(self.code)}"


class Line(NamedTuple):
    """What stands for frames that are not shown, and how many they are."""

    text: str
    frames: int


Run = list[Place]  # frames of libraries that follow one another, or one frame of the user


@lru_cache(maxsize=4096)
def _library(filename: str) -> str | None:
    for folder in ("/site-packages/", "/dist-packages/"):
        _, found, rest = filename.rpartition(folder)
        if found:
            return rest.partition("/")[0].removesuffix(".py")
    if filename.startswith((*_PYTHON, "<frozen ")):
        return "Python"
    return None


def _function(code: CodeType) -> str:
    return str(getattr(code, "co_qualname", code.co_name))


def places(tb: TracebackType | None) -> tuple[list[Place], int, list[Place]]:
    """The frames of a traceback without those that run every cell: the first of them, how many
    were not looked at, and the last."""
    links = []
    while tb is not None:
        links.append(tb)
        tb = tb.tb_next
    ignored = max(0, len(links) - READ_MAX)
    rest = links[READ_MAX // 2 + ignored :] if ignored else []
    return (
        _without_machinery(links[: READ_MAX // 2] if ignored else links),
        ignored,
        (_without_machinery(rest)),
    )


def _without_machinery(links: Sequence[TracebackType]) -> list[Place]:
    found = (Place(link.tb_frame, link.tb_lineno) for link in links)
    return [place for place in found if place.root not in _MACHINERY]


def runs(found: Sequence[Place]) -> list[Run | Line]:
    """Consecutive frames of libraries together."""
    made: list[Run | Line] = []
    inside: Run | None = None
    for place in found:
        if place.library is None:
            made.append([place])
            inside = None
        elif inside is None:
            inside = [place]
            made.append(inside)
        else:
            inside.append(place)
    return made


def _count(parts: Sequence[Run | Line]) -> int:
    return sum(part.frames if isinstance(part, Line) else len(part) for part in parts)


def _repetition(keys: Sequence[object], at: int) -> tuple[int, int]:
    """(period, times) of what begins there; times is 1 where nothing repeats."""
    for period in range(1, PERIOD_MAX + 1):
        group = keys[at : at + period]
        times = 1
        while keys[at + times * period : at + (times + 1) * period] == group:
            times += 1
        if times > 2:
            return period, times
    return 1, 1


def without_repetitions(found: Sequence[Run | Line]) -> list[Run | Line]:
    """What repeats is there once, and then a line that says how often."""
    known: dict[object, int] = {}
    keys = []
    for part in found:
        key = part if isinstance(part, Line) else tuple((p.code, p.line) for p in part)
        keys.append(known.setdefault(key, len(known)))
    made: list[Run | Line] = []
    at = 0
    while at < len(keys):
        period, times = _repetition(keys, at)
        made += found[at : at + period]
        if times > 1:
            count = _count(found[at + period : at + period * times])
            what = "the same frame" if period == 1 else f"the {period} frames above"
            made.append(Line(f"    … {count} more: {what} again\n", count))
        at += period * times
    return made


def abridged(found: list[Run | Line]) -> list[Run | Line]:
    """At most FRAMES_SHOWN: the first and the last."""
    if len(found) <= FRAMES_SHOWN:
        return found
    first = FRAMES_SHOWN // 2 - 1
    last = FRAMES_SHOWN - 1 - first
    count = _count(found[first:-last])
    return [*found[:first], Line(f"    … {count} more frames\n", count), *found[-last:]]


def library_line(run: Run) -> Line:
    """Frames of libraries in a line."""
    if len(run) == 1:
        return Line(f"    … {run[0].brief()}\n", 1)
    names = list(dict.fromkeys(str(place.library) for place in run))
    more = ", …" if len(names) > NAMES_SHOWN else ""
    text = f"    … {len(run)} frames of {', '.join(names[:NAMES_SHOWN])}{more}: "
    return Line(f"{text}{run[0].brief()} … {run[-1].brief()}\n", len(run))


def _last_line(code: CodeType) -> int:
    return max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)


def source(place: Place, before: int, after: int) -> Iterator[str]:
    """The line of a frame, with an arrow, and lines of its function around it."""
    code = place.code
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, place.frame.f_globals)
    first, last = 1, len(lines)
    if code.co_name != "<module>":
        first, last = code.co_firstlineno, min(last, _last_line(code))
    full = [n for n in range(max(first, place.line - 20), place.line) if lines[n - 1 : n] != ["\n"]]
    shown = full[-before:] if before else []
    shown.append(place.line)
    below = range(place.line + 1, min(last, place.line + 20) + 1)
    shown += islice((n for n in below if lines[n - 1].strip()), after)
    texts = {n: lines[n - 1].rstrip().expandtabs() for n in shown if n <= len(lines)}
    margin = min((len(t) - len(t.lstrip()) for t in texts.values() if t.strip()), default=0)
    for number, text in texts.items():
        cut = text[margin:]
        if len(cut) > LINE_MAX:
            cut = cut[: LINE_MAX - 1] + "…"
        arrow = f"{'-' * (5 - len(str(number)))}> {number}"
        yield f"{arrow if number == place.line else format(number, '7d')} {cut}\n"


def _arguments(code: CodeType) -> str:
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    for flag, stars in ((0x04, "*"), (0x08, "**")):  # CO_VARARGS, CO_VARKEYWORDS
        if code.co_flags & flag:
            names.append(stars + code.co_varnames[count])
            count += 1
    return f"({', '.join(names)})"


def _listed(place: Place) -> str:
    line = linecache.getline(place.code.co_filename, place.line, place.frame.f_globals).strip()
    head = f'  File "{place.code.co_filename}", line {place.line}, in {_function(place.code)}\n'
    return f"{head}    {line[:LINE_MAX]}\n" if line else head


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and those that led to it, the newest first."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        error = following
        following = error.__cause__
        if following is None and not error.__suppress_context__:
            following = error.__context__


def text_of(error: BaseException) -> str:
    """Its class and what it says."""
    try:
        return f"{type(error).__name__}: {shortened(str(error), VALUE_MAX)}"
    except Exception as another:
        return f"{type(error).__name__}: <its __str__ raised {type(another).__name__}>"


def whole(error: BaseException) -> str:
    """Every frame, as Python lists them."""
    parts = []
    for each in islice(chain(error), WHOLE_CHAIN):
        first, ignored, last = places(each.__traceback__)
        ignored += max(0, len(first) + len(last) - WHOLE_FRAMES)
        found = first + last
        listed = [_listed(place) for place in found[: WHOLE_FRAMES // 2]]
        if ignored:
            listed.append(f"  … {ignored} more frames\n")
        rest = found[max(WHOLE_FRAMES // 2, len(found) - WHOLE_FRAMES // 2) :]
        listed += [_listed(place) for place in rest]
        parts.append("".join(listed) + text_of(each))
    return "\n\nwhich led to:\n\n".join(reversed(parts))


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
        self._show = shell._showtraceback
        self._cut = False
        self._links = 0  # of a chain, still to be shown
        stock.structured_traceback = self.structured_traceback
        stock.get_records = self.get_records
        stock.format_record = self.format_record
        stock.format_exception = self.format_exception
        stock.get_parts_of_chained_exception = self.get_parts
        shell._showtraceback = self.show

    def forget(self) -> None:
        """A cell begins. ipykernel forgets the last one's error only if it awaits nothing."""
        self.whole = self._shell._last_traceback = None

    def structured_traceback(
        self, etype: Any = None, value: Any = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        """As IPython's."""
        self._cut, self._links = False, CHAIN_SHOWN - 1
        lines = self._structured(etype, value, *args, **kwargs)
        if self._cut and isinstance(value, BaseException):
            self.whole = whole(value)
        return lines

    def get_records(self, etb: Any, context: int, tb_offset: int) -> list[Any]:
        """The frames that are shown, and lines for others."""
        if self._stock.include_vars:  # %xmode Verbose
            records: list[Any] = self._records(etb, context, tb_offset)
            return records
        first, ignored, last = places(etb)
        found = runs(first) + ([Line(f"    … {ignored} more frames\n", ignored)] if ignored else [])
        return [
            self._made(part, context) for part in abridged(without_repetitions(found + runs(last)))
        ]

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

    def get_parts(self, value: Any) -> Any:
        """The exception before this one; of a long chain the first and the last are shown."""
        self._links -= 1
        if self._links == 1 and isinstance(value, BaseException):
            rest = list(islice(chain(value), 10_000))
            if len(rest) > 3:
                self._cut = True
                return type(rest[-1]), rest[-1], rest[-1].__traceback__
        return self._parts(value) if self._links >= 0 else None

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
            where += f", in {_function(code)}{_arguments(code)}"
        after = (context - 1) // 2
        return f"{where}\n{''.join(source(place, context - 1 - after, after))}"
