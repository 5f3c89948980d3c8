"""Finding tools: what ``import mcptools`` offers besides the packages of the servers.

    mcptools.search("create issue")    the best matches of all servers, a line each
    mcptools.servers()                 the servers: how many tools each has, and its state
    mcptools.github                    its docstring has a line a tool; help(), dir() and tab work

A line is ``github.create_issue(owner: str, repo: str, …) -> Result: Creates an issue.`` It comes
from the docstring of the server's package, so that nothing is imported to be searched. A name
whose words lower case has run together is shown with them, and so is found: ``create_issue`` is the
module ``createissue`` of a tool ``createIssue``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, NamedTuple

from ipybox_tools import ranking, starting
from ipybox_tools.errors import OLD_PYDANTIC

INIT_MAX = 8 << 20  # bytes of an __init__.py; a larger one is not looked into
CALL = re.compile(r"\n\n\n(?:run, arun = CLIENT\.functions|def run)\(")
NULLABLE = re.compile(r'Annotated\[([^,\n]*), "nullable"\]')
HELP_MAX = 1100  # characters; pydoc adds some 150 and the indentation
DESCRIPTION_MAX = 400


class Lines(list[str]):
    """A list of lines that is shown as such."""

    def __repr__(self) -> str:
        return "\n".join(self) if self else "nothing found"

    __str__ = __repr__


class _Tool(NamedTuple):
    line: str
    words: ranking.Tool


class _ToolModule(ModuleType):
    # The module of a tool: calling it is calling its run(). help() shows its arguments alone.
    __all__: tuple[str, ...] = ()

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return _tool_help(self)

    def __call__(self, *args: Any, **arguments: Any) -> Any:
        return self.run(*args, **arguments)


def search(query: str, limit: int = 5, package: str = "mcptools") -> Lines:
    """The `limit` tools that fit `query` best, the best first, over all registered servers.

    `query` is words in any order, such as "create issue". A line is the tool with its server, its
    arguments and the first sentence of its description; nothing is found where no word fits.
    """
    tools = _all_tools(package)
    scores = ranking.score([tool.words for tool in tools], query)
    best = sorted((-score, i) for i, score in enumerate(scores) if score > 0)[: max(limit, 0)]
    return Lines(tools[i].line for _, i in best)


def servers(package: str = "mcptools") -> Lines:
    """The registered servers, a line each: the number of their tools, and their state.

    "running"; "stopped" and "not started" servers start at their first call; a call waits for one
    that is "starting"; "failed: …" has the reason.
    """
    states = {server["name"]: server for server in starting.states()}
    found = {}
    for path in _roots(package):
        for name in _packages(path):
            known = states.get(name, {"state": "not started"})
            n = known.get("tools") or len(_summaries(*_init_of(path, name)))
            found[name] = f"{n} tool{'' if n == 1 else 's'}, {_state(known)}"
    found |= {name: _state(known) for name, known in states.items() if name not in found}
    return Lines(f"{name}: {text}" for name, text in sorted(found.items()))


def _state(server: dict[str, Any]) -> str:
    error = server.get("error")
    return f"{server['state']}: {error}" if error else str(server["state"])


def lazy_package(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of the package of a server: a tool is imported when it is
    first asked for, and all are listed."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = _module_named(package, name)
        if not module:
            hint = search_in(package, name)
            raise AttributeError(
                f"module {package!r} has no tool {name!r}."
                + (f" The nearest: {', '.join(hint)}" if hint else "")
            )
        return as_tool(_imported(f"{package}.{module}"))

    def listed() -> list[str]:
        return sorted({"CLIENT", "ToolOutput", *_shown(package)})

    return get, listed


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, TypeError):
        pydantic = sys.modules.get("pydantic")
        if getattr(pydantic, "VERSION", "2").startswith("1."):
            raise ImportError(OLD_PYDANTIC) from None
        raise


def as_tool(module: ModuleType) -> ModuleType:
    """`module`, which can be called from now on."""
    if type(module) is ModuleType and hasattr(module, "run"):
        module.__class__ = _ToolModule
    return module


def _tool_help(module: ModuleType) -> str:
    """How a tool is called, what it does, and the classes of its arguments and its result."""
    package, _, plain = module.__name__.rpartition(".")
    name = next((n for n in _shown(package) if _squash(n) == _squash(plain)), plain)
    doc = inspect.getdoc(module.run) or ""
    if len(doc) > DESCRIPTION_MAX:
        doc = doc[: DESCRIPTION_MAX - 1] + "…"
    text = f"{name}.run(NAME=VALUE, …) calls it, await {name}.arun(…) too. {doc}\n\n"
    text += _classes(module)
    if len(text) > HELP_MAX:
        text = text[: HELP_MAX - 40] + f"…\n# The whole: {module.__file__}"
    return text


def _classes(module: ModuleType) -> str:
    """What stands between the imports of a generated module and run(), and what run() returns."""
    try:
        with open(module.__file__ or "", encoding="utf-8") as source:
            text = source.read(INIT_MAX)
    except (OSError, ValueError):
        return ""
    head = CALL.split(text, maxsplit=1)[0]
    classes = head[head.find("\n\n\nclass ") :].strip() if "\n\n\nclass " in head else ""
    lines = [line for line in classes.splitlines() if line and "model_config = " not in line]
    result = "Result" if hasattr(module, "Result") else "str"
    return NULLABLE.sub(r"\1", "\n".join([*lines, f"# returns {result}"]))


def search_in(package: str, name: str, limit: int = 3) -> list[str]:
    """Tools of `package` whose names share most words with `name`."""
    wanted = set(ranking.words(name))
    ranked = sorted((-len(wanted & set(ranking.words(m))), m) for m in _shown(package))
    return [module for shared, module in ranked[:limit] if shared]


def lazy_root(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of ``mcptools`` itself: search(), servers() and the servers'
    packages."""
    offered: dict[str, Any] = {"search": partial(search, package=package)}
    offered["servers"] = partial(servers, package=package)
    starting.watch(package)

    def names() -> list[str]:
        return sorted({name for path in _roots(package) for name in _packages(path)})

    def get(name: str) -> Any:
        if name in offered:
            return offered[name]
        if not name.startswith("__"):
            try:
                return importlib.import_module(f"{package}.{name}")
            except ImportError as error:
                if error.name != f"{package}.{name}":
                    raise
                if not isinstance(error, ModuleNotFoundError):  # its start has failed
                    raise AttributeError(str(error)) from None
        known = [] if name.startswith("__") else names()
        raise AttributeError(
            f"module {package!r} has no server {name!r}. Registered: {', '.join(known) or 'none'}"
        )

    def listed() -> list[str]:
        return sorted({*offered, *names()})

    return get, listed


# --- what there is ---


def _roots(package: str) -> Sequence[str]:
    return starting.look_again(package)


def _packages(path: str) -> list[str]:
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return []
    return [n for n in names if n.isidentifier() and os.path.isfile(f"{path}/{n}/__init__.py")]


def _init_of(path: str, name: str) -> tuple[str, int, int]:
    """Where its __init__.py is, and what changes when it does."""
    file = f"{path}/{name}/__init__.py"
    try:
        status = os.stat(file)
    except OSError:
        return file, 0, 0
    return file, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=256)
def _summaries(file: str, changed: int, size: int) -> tuple[str, ...]:
    """The lines of tools in the docstring of a package; of packages without them, the modules."""
    lines: list[str] = []
    if 0 < size <= INIT_MAX:
        try:
            with open(file, encoding="utf-8") as source:
                doc = ast.get_docstring(ast.parse(source.read())) or ""
            lines = [line for line in doc.splitlines() if re.match(r"\w+\(.*\) -> ", line)]
        except (OSError, SyntaxError, ValueError):
            pass
    return tuple(lines) or tuple(_files(os.path.dirname(file)))


def _files(folder: str) -> Iterable[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [n[:-3] for n in names if n.endswith(".py") and n[:-3].isidentifier() and n[0] != "_"]


def _modules(package: str) -> set[str]:
    paths = getattr(sys.modules.get(package), "__path__", ())
    return {name for path in paths for name in _files(path)}


def _shown(package: str) -> list[str]:
    """The names of its tools as its lines have them; modules without a line by their own."""
    shown = set()
    for path in getattr(sys.modules.get(package), "__path__", ()):
        root, _, name = path.rpartition("/")
        shown |= {line.partition("(")[0] for line in _summaries(*_init_of(root, name))}
    modules = _modules(package)
    words = {_squash(name): name for name in shown - modules}
    return sorted(m if m in shown else words.get(_squash(m), m) for m in modules)


def _module_named(package: str, name: str) -> str | None:
    """The module `name`, or the only one that differs from it in underscores and case alone."""
    modules = _modules(package)
    if name in modules:
        return name
    same = [module for module in modules if _squash(module) == _squash(name)]
    return same[0] if len(same) == 1 else None


def _squash(name: str) -> str:
    return name.replace("_", "").lower()


def _all_tools(package: str) -> list[_Tool]:
    return [
        tool
        for path in _roots(package)
        for name in _packages(path)
        for tool in _tools_of(name, *_init_of(path, name))
    ]


@lru_cache(maxsize=256)
def _tools_of(server: str, file: str, changed: int, size: int) -> tuple[_Tool, ...]:
    return tuple(_tool(server, line) for line in _summaries(file, changed, size))


def _tool(server: str, line: str) -> _Tool:
    name, _, rest = line.partition("(")
    arguments, _, text = rest.partition(") -> ")
    names = " ".join(one.partition(":")[0] for one in arguments.split(", "))
    return _Tool(f"{server}.{line}", ranking.tool(server, name, text.partition(": ")[2], names))
