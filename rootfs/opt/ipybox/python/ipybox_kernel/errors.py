"""Exceptions and those that belong to them: chains, groups, and the whole of both as text.

Limits:  VALUE_MAX characters of an exception's text; in the whole WHOLE_FRAMES frames of an
         exception, WHOLE_CHAIN exceptions of a chain, WHOLE_ALL with those of groups, which are
         looked into DEPTH_MAX deep. Of a group's exceptions the first GROUP_READ are looked at.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from itertools import islice
from textwrap import indent
from typing import Any, NamedTuple

from ipybox_kernel.frames import LINE_MAX, Place, function, places

VALUE_MAX = 1_000_000
WHOLE_FRAMES = 1000
WHOLE_CHAIN = 50
WHOLE_ALL = 200
GROUP_READ = 1000
DEPTH_MAX = 10

Group = BaseExceptionGroup[Any]


def shortened(text: str, most: int) -> str:
    """`text`; of a longer one the beginning and the end, at most about `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"


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


class Kind(NamedTuple):
    """Exceptions of a group that have one class and were raised in one place."""

    number: int  # of the first, from 1 on
    first: BaseException
    others: list[BaseException]


def kinds(group: Group) -> tuple[list[Kind], int]:
    """The exceptions of a group, and how many were not looked at."""
    found: dict[object, Kind] = {}
    for number, error in enumerate(group.exceptions[:GROUP_READ], 1):
        first, _, last = places(error.__traceback__)
        key = type(error), tuple((place.code, place.line) for place in (first + last)[-50:])
        if key in found:
            found[key].others.append(error)
        else:
            found[key] = Kind(number, error, [])
    return list(found.values()), max(0, len(group.exceptions) - GROUP_READ)


def _listed(place: Place) -> str:
    line = linecache.getline(place.code.co_filename, place.line, place.frame.f_globals).strip()
    head = f'  File "{place.code.co_filename}", line {place.line}, in {function(place.code)}\n'
    return f"{head}    {line[:LINE_MAX]}\n" if line else head


class _Whole:
    """Puts together the text of an exception, of its chain and its group."""

    def __init__(self) -> None:
        self._left = WHOLE_ALL

    def chain(self, error: BaseException, depth: int) -> str:
        parts = []
        for each in islice(chain(error), WHOLE_CHAIN):
            if depth and self._left <= 0:
                break
            self._left -= 1
            parts.append(self._one(each, depth))
        return "\n\nwhich led to:\n\n".join(reversed(parts))

    def _one(self, error: BaseException, depth: int) -> str:
        members = self._members(error, depth) if isinstance(error, BaseExceptionGroup) else ""
        first, ignored, last = places(error.__traceback__)
        ignored += max(0, len(first) + len(last) - WHOLE_FRAMES)
        found = first + last
        listed = [_listed(place) for place in found[: WHOLE_FRAMES // 2]]
        if ignored:
            listed.append(f"  … {ignored} more frames\n")
        rest = found[max(WHOLE_FRAMES // 2, len(found) - WHOLE_FRAMES // 2) :]
        listed += [_listed(place) for place in rest]
        return members + "".join(listed) + text_of(error)

    def _members(self, group: Group, depth: int) -> str:
        parts = []
        for number, error in enumerate(group.exceptions, 1):
            if self._left <= 0 or depth >= DEPTH_MAX:
                parts.append(f"  … {len(group.exceptions) - number + 1} more sub-exceptions\n")
                break
            head = f"sub-exception {number} of {len(group.exceptions)}:\n"
            parts.append(head + indent(self.chain(error, depth + 1), "    ") + "\n")
        return "".join(parts)


def whole(error: BaseException) -> str:
    """Every frame, as Python lists them."""
    return _Whole().chain(error, 0)
