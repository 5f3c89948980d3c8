"""import mcptools: search, servers, tools as attributes."""

from __future__ import annotations

import importlib
import pathlib
import pydoc
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

ROOT = """from pkgutil import extend_path

from ipybox_tools import lazy_root

__path__ = extend_path(__path__, __name__)
__getattr__, __dir__ = lazy_root(__name__)
"""
PACKAGE = '''"""
{n} tools of an MCP server.

{lines}
"""
from ipybox_tools import ToolRunner, lazy_package

CLIENT = ToolRunner(server_name="x")
__getattr__, __dir__ = lazy_package(__name__)
'''
TOOLS = {
    "github": [
        "create_issue(owner: str, title: str) -> Result: Creates a new issue in a repository.",
        "list_issues(owner: str, state: str = None) -> Result: Lists the issues of a repository.",
        "issueReadComments(n: int) -> str: Reads comments.",
    ],
    "files": ["write_file(path: str, text: str) -> str: Create a file or replace it."],
}


@pytest.fixture
def mcptools(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    root = tmp_path / "mcptools"
    for server, lines in TOOLS.items():
        (root / server).mkdir(parents=True)
        (root / server / "__init__.py").write_text(
            PACKAGE.format(n=len(lines), lines="\n".join(lines))
        )
        for line in lines:
            name = line.partition("(")[0]
            (root / server / f"{name}.py").write_text(
                "def run(**arguments):\n    return arguments\n"
            )
    (root / "__init__.py").write_text(ROOT)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("mcptools")
    for name in [name for name in sys.modules if name.split(".")[0] == "mcptools"]:
        del sys.modules[name]


def test_search_has_the_best_first_and_imports_nothing(mcptools: ModuleType) -> None:
    found = mcptools.search("creating issues")
    assert found[0] == f"github.{TOOLS['github'][0]}"
    assert mcptools.search("write file")[0].startswith("files.write_file(")
    assert mcptools.search("read comment", limit=1)[0].startswith("github.issueReadComments(")
    assert str(found) == repr(found) == "\n".join(found)
    assert repr(mcptools.search("zzz")) == "nothing found"
    assert not [name for name in sys.modules if name.startswith("mcptools.")]


def test_servers(mcptools: ModuleType) -> None:
    assert mcptools.servers() == ["files: 1 tool", "github: 3 tools"]


def test_tools_are_attributes_and_can_be_called(mcptools: ModuleType) -> None:
    assert mcptools.github.create_issue.run(a=1) == {"a": 1}
    assert mcptools.github.create_issue(a=1) == {"a": 1}
    from mcptools.files import write_file  # type: ignore[import-not-found]

    assert write_file(path="x") == {"path": "x"}


def test_dir_lists_what_is_there(mcptools: ModuleType) -> None:
    assert {"search", "servers", "github", "files"} <= set(dir(mcptools))
    assert {"create_issue", "list_issues"} <= set(dir(mcptools.github))


def test_what_is_not_there_names_what_is(mcptools: ModuleType) -> None:
    with pytest.raises(AttributeError, match=r"no server 'gitlab'. Registered: files, github"):
        _ = mcptools.gitlab
    with pytest.raises(AttributeError, match=r"no tool 'issue_create'. The nearest: create_issue"):
        _ = mcptools.github.issue_create


def test_help_has_a_line_a_tool(mcptools: ModuleType) -> None:
    text = pydoc.plain(pydoc.render_doc(mcptools.github))
    for line in TOOLS["github"]:
        assert line in text


MODULE = '''# A tool of an MCP server.
from __future__ import annotations

from typing import Annotated, Any


class Params:
    model_config = {}
    repo: str
    since: Annotated[str | None, "nullable"] = None
    """From when on%s"""


def run(params: Params | None = None, **arguments: Any) -> str:
    """Shows the commits%s"""
    return ""
'''


def test_help_of_a_tool_has_its_arguments_and_is_short(mcptools: ModuleType) -> None:
    folder = pathlib.Path(mcptools.__path__[0]) / "github"
    (folder / "log.py").write_text(MODULE % ("", ""))
    (folder / "long_log.py").write_text(MODULE % (" x" * 3000, " y" * 3000))
    text = pydoc.plain(pydoc.render_doc(mcptools.github.log))
    assert "log.run(NAME=VALUE, …) calls it, await log.arun(…) too. Shows the commits" in text
    assert "    repo: str\n" in text
    assert "    since: str | None = None\n" in text
    assert "model_config" not in text
    assert "# returns str" in text
    for name in ("log", "long_log"):
        text = pydoc.plain(pydoc.render_doc(getattr(mcptools.github, name)))
        assert len(text) <= 1500
    assert f"# The whole: {folder}/long_log.py" in text
