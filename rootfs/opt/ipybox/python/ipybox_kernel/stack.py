"""The modules that a kernel is made of come from the image, whatever users have installed.

A user may install an IPython, a traitlets or a tornado that this kernel cannot run with; packages
that ask for such versions do it for them. Cells get the kernel's, and no kernel breaks by it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# Of the kernel alone: imported by it, early or late, and by others only to talk to it.
OWN = frozenset(
    (
        "IPython",
        "asttokens",
        "comm",
        "executing",
        "ipybox_kernel",
        "ipybox_tools",
        "ipykernel",
        "ipykernel_launcher",
        "ipython_pygments_lexers",
        "jedi",
        "jupyter_client",
        "jupyter_core",
        "matplotlib_inline",
        "nest_asyncio",
        "nest_asyncio2",
        "parso",
        "pexpect",
        "prompt_toolkit",
        "ptyprocess",
        "pure_eval",
        "stack_data",
        "tornado",
        "traitlets",
        "wcwidth",
        "zmq",
    )
)

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
    """Comes before all others. `places`: sys.path, before anything of users is in it."""

    places: tuple[str, ...] = ()

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where one of OWN is; None for all others, and for what is not in the image."""
        if path is not None or name not in OWN:
            return None
        return PathFinder.find_spec(name, list(cls.places), target)


def keep() -> None:
    """Begin. What is on sys.path now is the image's."""
    if Finder in sys.meta_path:
        return
    Finder.places = tuple(entry for entry in sys.path if os.path.isabs(entry))
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
