"""import mcptools: search, servers, tools as attributes."""

from __future__ import annotations

import importlib
import pathlib
import pydoc
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from ipybox_tools import blocking

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
    assert mcptools.servers() == ["files: 1 tool, not started", "github: 3 tools, not started"]


def test_servers_have_the_states_that_the_server_tells(
    mcptools: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [
        {"name": "github", "state": "running", "tools": 3},
        {"name": "slow", "state": "starting", "tools": 0},
        {"name": "broken", "state": "failed", "tools": 0, "error": "it ended with status 3"},
    ]
    monkeypatch.setattr(blocking, "call", lambda method, params: {"servers": told})
    assert mcptools.servers() == [
        "broken: failed: it ended with status 3",
        "files: 1 tool, not started",
        "github: 3 tools, running",
        "slow: starting",
    ]


def test_an_import_waits_for_the_start_of_its_server(
    mcptools: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pathlib.Path(mcptools.__path__[0])

    def call(method: str, params: dict[str, str]) -> dict[str, object]:
        assert method == "await"
        if params["server_name"] == "broken":
            return {"started": False, "error": "it ended with status 3"}
        if params["server_name"] == "slow":
            (folder / "slow").mkdir()
            (folder / "slow" / "__init__.py").write_text("HERE = 1")
        return {"started": True}

    monkeypatch.setattr(blocking, "call", call)
    assert mcptools.slow.HERE == 1
    with pytest.raises(ImportError, match="it ended with status 3"):
        importlib.import_module("mcptools.broken.tool")
    with pytest.raises(AttributeError, match="it ended with status 3"):
        _ = mcptools.broken
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mcptools.other")


def test_a_root_that_is_made_later_is_found(
    mcptools: ModuleType, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = tmp_path / "later" / "mcptools" / "new"
    monkeypatch.syspath_prepend(tmp_path / "later")
    later.mkdir(parents=True)
    for folder in (later, later.parent):
        (folder / "__init__.py").write_text("HERE = 2")
    importlib.invalidate_caches()
    assert "new: 0 tools, not started" in mcptools.servers()


def test_names_that_lower_case_has_run_together_are_found_by_their_words(
    mcptools: ModuleType,
) -> None:
    folder = pathlib.Path(mcptools.__path__[0]) / "k8s"
    folder.mkdir()
    line = "create_apps_v1_deployment(body: Deployment) -> Result: create a Deployment"
    (folder / "__init__.py").write_text(PACKAGE.format(n=1, lines=line))
    (folder / "createappsv1deployment.py").write_text(
        "def run(**arguments):\n    return arguments\n"
    )
    assert mcptools.search("create deployment")[0] == f"k8s.{line}"
    assert mcptools.k8s.create_apps_v1_deployment(a=1) == {"a": 1}
    assert mcptools.k8s.createAppsV1Deployment is mcptools.k8s.createappsv1deployment
    assert "create_apps_v1_deployment" in dir(mcptools.k8s)
    assert "createappsv1deployment" not in dir(mcptools.k8s)
    assert "create_apps_v1_deployment.run(" in pydoc.render_doc(mcptools.k8s.createAppsV1Deployment)


def test_tools_are_attributes_and_can_be_called(mcptools: ModuleType) -> None:
    assert mcptools.github.create_issue.run(a=1) == {"a": 1}
    assert mcptools.github.create_issue(a=1) == {"a": 1}
    from mcptools.files import write_file  # type: ignore[import-not-found,import-untyped,unused-ignore]

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
"""Shows the commits%s"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel

from . import CLIENT


class Params(BaseModel):
    repo: str
    since: Annotated[str | None, "nullable"] = None
    """From when on%s"""


run, arun = CLIENT.functions("log", Params, str, __doc__)
'''


def test_help_of_a_tool_has_its_arguments_and_is_short(mcptools: ModuleType) -> None:
    folder = pathlib.Path(mcptools.__path__[0]) / "github"
    (folder / "log.py").write_text(MODULE % ("", ""))
    (folder / "long_log.py").write_text(MODULE % (" x" * 3000, " y" * 3000))
    text = pydoc.plain(pydoc.render_doc(mcptools.github.log))
    assert "log.run(NAME=VALUE, …) calls it, await log.arun(…) too. Shows the commits" in text
    assert "    repo: str\n" in text
    assert "    since: str | None = None\n" in text
    assert "# returns str" in text
    for name in ("log", "long_log"):
        text = pydoc.plain(pydoc.render_doc(getattr(mcptools.github, name)))
        assert len(text) <= 1500
    assert f"# The whole: {folder}/long_log.py" in text
