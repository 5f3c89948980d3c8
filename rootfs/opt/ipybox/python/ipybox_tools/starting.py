"""MCP servers whose start is under way: their states, and imports that wait for their packages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pkgutil import extend_path
from types import ModuleType
from typing import Any

from ipybox_tools import blocking
from ipybox_tools.errors import ToolRunnerError


def states() -> list[dict[str, Any]]:
    """What the server knows of each: name, state, tools, and the error of one that failed; nothing
    outside of a kernel."""
    try:
        return list(blocking.call("servers", {})["servers"])
    except ToolRunnerError:
        return []


def watch(package: str) -> None:
    """From now on an import of a package that is not there yet waits for its server's start."""
    if not any(isinstance(f, _Awaited) and f.package == package for f in sys.meta_path):
        sys.meta_path.append(_Awaited(package))


def look_again(package: str) -> list[str]:
    """The folders of `package`, those among them that were made after its import."""
    module = sys.modules.get(package)
    path = getattr(module, "__path__", None)
    if module is None or path is None:
        return []
    module.__path__ = extend_path(list(path), package)
    return list(module.__path__)


class _Awaited:
    # The last finder: it is asked for what no other has found.
    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, server = name.rpartition(".")
        if root != self.package or not server.isidentifier():
            return None
        try:
            answer = blocking.call("await", {"server_name": server})
        except ToolRunnerError:
            return None
        if "error" in answer:
            raise ImportError(answer["error"], name=name)
        importlib.invalidate_caches()
        return PathFinder.find_spec(name, look_again(root), target)
