"""The modules that a kernel is made of come from the image, whatever users have installed.

A user may install an IPython, a traitlets or a tornado that this kernel cannot run with; packages
that ask for such versions do it for them. Cells get the kernel's, and no kernel breaks by it. Other
processes (`!jupyter …`) have what the user has installed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

OURS = frozenset(("ipybox_kernel", "ipybox_tools"))
ROOT = "ipykernel"  # what it requires, and what that requires, is the kernel's
NO_MODULES = frozenset(("__pycache__", "docs", "examples", "test", "tests"))  # of the stack
TOP = re.compile(r"^([^/,\n]+)([/,])", re.MULTILINE)  # of a line in RECORD
REQUIREMENT = re.compile(r"^Requires-Dist:\s*([\w.-]+)[^;\n]*(.*)$", re.MULTILINE)
OTHERS = re.compile(r"\bextra\b|implementation")  # in a marker: an option, or PyPy

# It imports these too, but they are everybody's: cells get the user's, where there is one.
SHARED = frozenset(
    (
        "annotated_types",
        "dateutil",
        "decorator",
        "packaging",
        "platformdirs",
        "psutil",
        "pygments",
        "six",
        "typing_extensions",
        "typing_inspection",
    )
)


class Finder:
    """Comes before all others. `places`: sys.path, before anything of users is in it; `own`: the
    modules that are found there alone."""

    places: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where one of `own` is; None for all others, and for what is not in the image."""
        if path is not None or name not in cls.own:
            return None
        return PathFinder.find_spec(name, list(cls.places), target)


def keep() -> None:
    """Begin. What is on sys.path now is the image's."""
    if Finder in sys.meta_path:
        return
    Finder.places = tuple(entry for entry in sys.path if os.path.isabs(entry))
    Finder.own = OURS | set(modules_of(Finder.places))
    sys.meta_path.insert(0, Finder)


def give_way(directory: str) -> None:
    """Have the next import of what is in SHARED find the one in this directory. The kernel goes on
    with those that it has imported."""
    try:
        there = {name.removesuffix(".py") for name in os.listdir(directory)}
    except OSError:
        return
    wanted = SHARED & there
    if not wanted:
        return
    for name in [name for name in sys.modules if name.partition(".")[0] in wanted]:
        del sys.modules[name]


def modules_of(places: Sequence[str]) -> Iterator[str]:
    """What can be imported of ROOT and of all that it requires, less what is shared, as metadata in
    `places` say. At each start of a kernel: importlib.metadata would take ten times as long."""
    found = _distributions(places)
    left, seen = [ROOT], {ROOT}
    while left:
        directory = found.get(left.pop())
        tops = _top_modules(directory) if directory else set()
        if not tops or tops & SHARED:  # it is for another system, or everybody's
            continue
        yield from tops
        headers = _read(f"{directory}/METADATA").partition("\n\n")[0]
        for name, marker in REQUIREMENT.findall(headers):
            if not OTHERS.search(marker) and (name := _plain(name)) not in seen:
                seen.add(name)
                left.append(name)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _distributions(places: Sequence[str]) -> dict[str, str]:
    """Where the metadata of each are; the first on the path is the one that is imported."""
    found: dict[str, str] = {}
    for place in places:
        if place.endswith("-packages") and os.path.isdir(place):
            for entry in os.listdir(place):
                if entry.endswith(".dist-info"):
                    found.setdefault(_plain(entry.partition("-")[0]), f"{place}/{entry}")
    return found


def _top_modules(directory: str) -> set[str]:
    """Folders, and files of Python and of machine code."""
    tops = set(TOP.findall(_read(f"{directory}/RECORD")))
    names = {
        top if after == "/" else top.partition(".")[0]
        for top, after in tops
        if after == "/" or top.endswith((".py", ".so"))
    }
    return {name for name in names if name.isidentifier()} - NO_MODULES


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
