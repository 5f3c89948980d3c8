"""Changes to modules of others, made when a user imports them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# What packages of earlier systems call their tools with: mcpygen, and before it ipybox itself. They
# are on PyPI, too, and may be installed here for what else they have.
CALLERS = (
    "mcpygen.tool_exec.client",
    "mcpygen.tool_exec.approval.client",
    "ipybox.tool_exec.client",
)


def install() -> None:
    """Have CALLERS reach this server's tools, where a user has installed them."""
    if "IPYBOX_TOOL_SOCKET" not in os.environ:
        return
    sys.meta_path.insert(0, _Finder())
    for name in CALLERS:
        if name in sys.modules:
            _redirect(sys.modules[name])


class _Finder:
    """Finds CALLERS where they are found without it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As importlib.abc.MetaPathFinder has it."""
        if name not in CALLERS:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _redirect(module)

            loader.exec_module = exec_module
        return spec


def _redirect(module: ModuleType) -> None:
    from ipybox_tools.redirect import redirect

    redirect(module)
