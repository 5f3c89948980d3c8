"""Finding tools: what ``import mcptools`` offers besides the packages of the servers.

    mcptools.search("create issue")    the best matches of all servers, a line each
    mcptools.servers()                 the servers and how many tools each has
    mcptools.github                    its docstring has a line a tool; help(), dir() and tab work

A line is ``github.create_issue(owner: str, repo: str, …) -> Result: Creates an issue.`` It comes
from the docstring of the server's package, so that nothing is imported to be searched.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, NamedTuple

INIT_MAX = 8 << 20  # bytes of an __init__.py; a larger one is not looked into
NULLABLE = re.compile(r'Annotated\[([^,\n]*), "nullable"\]')
HELP_MAX = 1100  # characters; pydoc adds some 150 and the indentation
DESCRIPTION_MAX = 400
WORD = re.compile(r"[a-z]+|[0-9]+")
HUMP = re.compile(r"([a-z0-9])([A-Z])")
ENDINGS = ("ies", "ing", "ed", "es", "s", "e")  # the first that fits is dropped
NAME_WEIGHT = 4.0  # a word of the tool's name, beside one of its sentence
SERVER_WEIGHT = 2.0
ARGUMENT_WEIGHT = 0.5


class Lines(list[str]):
    """A list of lines that is shown as such."""

    def __repr__(self) -> str:
        return "\n".join(self) if self else "nothing found"

    __str__ = __repr__


class _Tool(NamedTuple):
    line: str
    words: dict[str, float]  # and how much each counts


class _ToolModule(ModuleType):
    # The module of a tool: calling it is calling its run(). help() shows its arguments alone.
    __all__: tuple[str, ...] = ()

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return _tool_help(self)

    def __call__(self, *args: Any, **arguments: Any) -> Any:
        return self.run(*args, **arguments)


def search(query: str, limit: int = 10, package: str = "mcptools") -> Lines:
    """The `limit` tools that fit `query` best, the best first, over all registered servers.

    `query` is words in any order, such as "create issue". A line is the tool with its server, its
    arguments and the first sentence of its description; nothing is found where no word fits.
    """
    tools = _all_tools(package)
    known = Counter(word for tool in tools for word in tool.words)
    wanted = {word for word in _words(query) if word in known}
    rare = {word: math.log(1 + len(tools) / known[word]) for word in wanted}
    scores = [sum(tool.words.get(w, 0.0) * rare[w] for w in wanted) for tool in tools]
    best = sorted((-score, i) for i, score in enumerate(scores) if score > 0)[: max(limit, 0)]
    return Lines(tools[i].line for _, i in best)


def servers(package: str = "mcptools") -> Lines:
    """The registered servers, a line each, with the number of their tools."""
    found = []
    for path in _roots(package):
        for name in _packages(path):
            n = len(_summaries(*_init_of(path, name)))
            found.append(f"{name}: {n} tool{'' if n == 1 else 's'}")
    return Lines(found)


def lazy_package(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of the package of a server: a tool is imported when it is
    first asked for, and all are listed."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name not in _modules(package):
            hint = search_in(package, name)
            raise AttributeError(
                f"module {package!r} has no tool {name!r}."
                + (f" The nearest: {', '.join(hint)}" if hint else "")
            )
        return as_tool(importlib.import_module(f"{package}.{name}"))

    def listed() -> list[str]:
        return sorted({"CLIENT", "ToolOutput", *_modules(package)})

    return get, listed


def as_tool(module: ModuleType) -> ModuleType:
    """`module`, which can be called from now on."""
    if type(module) is ModuleType and hasattr(module, "run"):
        module.__class__ = _ToolModule
    return module


def _tool_help(module: ModuleType) -> str:
    """How a tool is called, what it does, and the classes of its arguments and its result."""
    name = module.__name__.rpartition(".")[2]
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
    head, run, rest = text.partition("\n\n\ndef run(")
    classes = head[head.find("\n\n\nclass ") :].strip() if "\n\n\nclass " in head else ""
    lines = [line for line in classes.splitlines() if line and "model_config = " not in line]
    result = rest.partition(") -> ")[2].partition(":")[0] if run else "Any"
    return NULLABLE.sub(r"\1", "\n".join([*lines, f"# returns {result}"]))


def search_in(package: str, name: str, limit: int = 3) -> list[str]:
    """Tools of `package` whose names share most words with `name`."""
    wanted = set(_words(name))
    ranked = sorted((-len(wanted & set(_words(m))), m) for m in _modules(package))
    return [module for shared, module in ranked[:limit] if shared]


def lazy_root(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of ``mcptools`` itself: search(), servers() and the servers'
    packages."""
    offered: dict[str, Any] = {"search": partial(search, package=package)}
    offered["servers"] = partial(servers, package=package)

    def names() -> list[str]:
        return sorted({name for path in _roots(package) for name in _packages(path)})

    def get(name: str) -> Any:
        known = [] if name.startswith("__") else names()
        if name in known:
            return importlib.import_module(f"{package}.{name}")
        if name in offered:
            return offered[name]
        raise AttributeError(
            f"module {package!r} has no server {name!r}. Registered: {', '.join(known) or 'none'}"
        )

    def listed() -> list[str]:
        return sorted({*offered, *names()})

    return get, listed


# --- what there is ---


def _roots(package: str) -> Sequence[str]:
    module = sys.modules.get(package)
    return list(getattr(module, "__path__", ())) if module else []


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
    words: dict[str, float] = {}
    parts = ((name, NAME_WEIGHT), (server, SERVER_WEIGHT), (text.partition(": ")[2], 1.0))
    for part, weight in (*parts, (arguments, ARGUMENT_WEIGHT)):
        for word in _words(part):
            words[word] = max(words.get(word, 0.0), weight)
    length = 1 + 0.02 * len(_words(name))  # of two tools that fit, the plainer
    return _Tool(f"{server}.{line}", {w: weight / length for w, weight in words.items()})


def _words(text: str) -> list[str]:
    """Words in lower case and without their endings."""
    return [_stem(word) for word in WORD.findall(HUMP.sub(r"\1 \2", text).lower())]


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word
