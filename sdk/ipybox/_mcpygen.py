"""Applications may make packages with the generator of mcpygen, from PyPI, as those on ipybox 0.8
and 0.9 do: executors know the servers of these packages, as of those of generate_mcp_sources().

Imports little, as all of `ipybox` imports it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

GENERATOR = "mcpygen.apigen"


def install() -> None:
    """Notice the generator, which may have been imported, or is imported later. Not in a kernel:
    its code does not choose what executors start."""
    if "IPYBOX_TOOL_SOCKET" in os.environ:
        return
    sys.meta_path.insert(0, _Finder())
    if GENERATOR in sys.modules:
        _notice(sys.modules[GENERATOR])


class _Finder:
    """Finds the generator where it is found without this."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != GENERATOR:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _notice(module)

            loader.exec_module = exec_module
        return spec


def _notice(module: ModuleType) -> None:
    """Have its generate_mcp_sources() tell what it has made."""
    import functools
    import inspect

    theirs = module.generate_mcp_sources

    @functools.wraps(theirs)
    async def generate_mcp_sources(*args: Any, **kwargs: Any) -> Any:
        from ipybox import mcp_apigen

        made = await theirs(*args, **kwargs)
        given = inspect.signature(theirs).bind(*args, **kwargs).arguments
        await mcp_apigen.remember(
            given["server_name"], given["server_params"], given["root_dir"], must=False
        )
        return made

    module.generate_mcp_sources = generate_mcp_sources  # type: ignore[attr-defined]
    package = sys.modules.get(module.__name__.partition(".")[0])
    if getattr(package, "generate_mcp_sources", None) is theirs:
        package.generate_mcp_sources = generate_mcp_sources  # type: ignore[union-attr]
