"""Frames of a traceback as lines that a reader can take in.

A run of frames of libraries, of Python's own modules and of the tools' runtime is one line; what
repeats is there once, and counted; of many frames the first and the last are there; a frame has
lines of its source, of LINE_MAX characters.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple

LINE_MAX = 200
PERIOD_MAX = 12  # frames that are recognized when they repeat as a group
READ_MAX = 20_000  # frames that are looked at: of more, as many of the first as of the last
NAMES_SHOWN = 4

_MACHINERY = {"IPython", "ipykernel", "ipybox_kernel"}  # what runs a cell is nobody's error
_RUNTIME = {"ipybox_tools", "mcptools"}
_PYTHON = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})


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
        return f"{path}:{self.line} in {function(self.code)}"


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


def function(code: CodeType) -> str:
    """Its name, with that of what it is defined in."""
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


def abridged(found: list[Run | Line], most: int) -> list[Run | Line]:
    """At most `most`: the first and the last."""
    if len(found) <= most:
        return found
    first = most // 2 - 1
    last = most - 1 - first
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


def arguments(code: CodeType) -> str:
    """The names of its parameters, in parentheses."""
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    for flag, stars in ((0x04, "*"), (0x08, "**")):  # CO_VARARGS, CO_VARKEYWORDS
        if code.co_flags & flag:
            names.append(stars + code.co_varnames[count])
            count += 1
    return f"({', '.join(names)})"
