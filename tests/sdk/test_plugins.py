# SPDX-License-Identifier: Apache-2.0
"""The plugins in the real Claude Code, their workflow, and the listings, each by its own checker."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import jsonschema  # type: ignore[import-untyped]
import pytest
from conftest import PLACE
from test_command import BIN, McpServer

NODE = PLACE / "node" / "node_modules" / ".bin"
PLUGINS = ("codeact-default", "codeact-sandbox", "codeact-docker")
LISTINGS = PLACE / "plugins" / "listings"

PARSER = """
from pydantic import BaseModel


class Repository(BaseModel):
    name: str
    stargazers_count: int


class ParseResult(BaseModel):
    repositories: list[Repository]


def run_parsed(params: Params) -> ParseResult:
    from mcpparse.github.search_repositories import parse

    return parse(run(params))
"""
PARSE = """
import json


def parse(text):
    from mcptools.github.search_repositories import ParseResult

    return ParseResult(repositories=json.loads(text)["items"])
"""
FIRST = """
import json
from mcptools.github import search_repositories, list_commits

repos_result = search_repositories.run(search_repositories.Params(
    query="user:torvalds",
    sort=search_repositories.Sort.stars,
    order=search_repositories.Order.desc,
    perPage=10,
    minimal_output=False
))
repos_data = json.loads(repos_result)
print(f"Found {repos_data['total_count']} repos")
top_repos = repos_data['items'][:3]
for repo in top_repos:
    print(f"- {repo['name']}: {repo['stargazers_count']} stars")
"""
SECOND = """
for repo in top_repos:
    commits = json.loads(list_commits.run(list_commits.Params(owner="torvalds", repo=repo['name'], perPage=5)))
    print(repo['name'], len(commits), commits[0]['commit']['message'].split('\\n')[0])
"""
CHAINED = """
import json
from mcptools.github import search_repositories, list_commits

found = search_repositories.run_parsed(search_repositories.Params(
    query="user:torvalds", sort=search_repositories.Sort.stars, order=search_repositories.Order.desc, perPage=3))
for repo in found.repositories[:3]:
    commits = json.loads(list_commits.run(list_commits.Params(owner="torvalds", repo=repo.name, perPage=5)))
    print(repo.name, repo.stargazers_count, commits[0]["sha"][:7])
"""
API = """
from pydantic import BaseModel


class Repository(BaseModel):
    name: str
    stars: int
    messages: list[str]


def run(username: str, top_n_repos: int = 3, last_n_commits: int = 5) -> list[Repository]:
    from .impl import run as work

    return work(username, top_n_repos, last_n_commits)
"""
IMPL = """
import json

from mcptools.github import list_commits, search_repositories

from .api import Repository


def run(username, top_n_repos, last_n_commits):
    params = search_repositories.Params(query=f"user:{username}", perPage=top_n_repos)
    found = []
    for repo in search_repositories.run_parsed(params).repositories:
        commits = json.loads(
            list_commits.run(list_commits.Params(owner=username, repo=repo.name, perPage=last_n_commits))
        )
        messages = [commit["commit"]["message"].split("\\n")[0] for commit in commits]
        found.append(Repository(name=repo.name, stars=repo.stargazers_count, messages=messages))
    return found
"""
SAVED = """
from gentools.github.commits_of_top_repos import run
for repo in run(username="torvalds", top_n_repos=3, last_n_commits=2):
    print(repo.name, repo.stars, repo.messages)
"""


def claude(*words: str) -> str:
    """The output of the command; it must succeed."""
    done = subprocess.run([NODE / "claude", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_directory_takes_it(plugin: str) -> None:
    said = claude(
        "plugin", "validate", str(PLACE / "plugins" / plugin), "--strict", "--profile", "directory"
    )
    assert "Validation passed" in said and "nothing to report" in said


def test_the_marketplace_is_valid() -> None:
    assert "Validation passed" in claude("plugin", "validate", str(PLACE), "--strict")


def test_copies_are_the_same() -> None:
    subprocess.run([sys.executable, PLACE / "plugins" / "make", "--check"], check=True)


def test_installed_from_the_marketplace_all_three_connect(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`uvx ipybox` takes the wheel of dist/, and `docker run … ipybox` the image of the tests."""
    image = os.environ["IPYBOX_IMAGE"]
    if image != "ipybox":
        pytest.fail("the plugins name the image ipybox: run the tests with it")
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
    monkeypatch.setenv("UV_FIND_LINKS", f"{PLACE / 'dist'},{PLACE / 'packages'}")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_PYTHON", sys.executable)
    monkeypatch.setenv("UV_CACHE_DIR", str(PLACE / "uv"))
    monkeypatch.setenv("MCP_TIMEOUT", "60000")
    claude("plugin", "marketplace", "add", str(PLACE))
    for plugin in PLUGINS:
        claude("plugin", "install", f"{plugin}@ipybox")
        listed = claude("mcp", "list")
        assert re.search(rf"plugin:{plugin}:ipybox: .* ✔ Connected", listed), listed
        claude("plugin", "disable", f"{plugin}@ipybox")


@pytest.fixture
def github() -> Iterator[str]:
    """The address of a server like GitHub's."""
    server = subprocess.Popen(
        [sys.executable, Path(__file__).parent / "github_server.py"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout
    yield f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp/"
    server.kill()
    server.wait()
    server.stdout.close()


def test_the_workflow_of_the_skill(folder: Path, github: str) -> None:
    """Register, use, parse, chain, save; and all of it again in another process. Natively code could
    have changed the registration meanwhile, so a human is asked once: the client here says yes."""
    Path(".env").write_text("GITHUB_API_KEY=ghp_test\n")
    headers = {"Authorization": "Bearer ${GITHUB_API_KEY}"}
    registration = {"server_name": "github", "server_params": {"url": github, "headers": headers}}
    server = McpServer(str(BIN / "ipybox"), "--workspace", str(folder))
    server.call("tools/call", {"name": "register_mcp_server", "arguments": registration})
    assert (
        server.cell(FIRST)
        == "Found 12 repos\n- repo0: 1000 stars\n- repo1: 999 stars\n- repo2: 998 stars"
    )
    assert server.cell(SECOND) == "repo0 5 change 0\nrepo1 5 change 0\nrepo2 5 change 0"

    module = Path("mcptools/github/search_repositories.py")
    assert "-> str" in module.read_text() and "ghp_test" not in module.read_text()
    module.write_text(module.read_text() + PARSER)
    Path("mcpparse/github").mkdir(parents=True)
    for empty in ("mcpparse", "mcpparse/github"):
        Path(empty, "__init__.py").write_text("")
    Path("mcpparse/github/search_repositories.py").write_text(PARSE)
    server.call("tools/call", {"name": "reset", "arguments": {}})
    chained = "repo0 1000 0000000\nrepo1 999 0000000\nrepo2 998 0000000"
    assert server.cell(CHAINED) == chained

    saved = Path("gentools/github/commits_of_top_repos")
    saved.mkdir(parents=True)
    for empty in ("gentools", "gentools/github"):
        Path(empty, "__init__.py").write_text("")
    (saved / "__init__.py").write_text("from .api import Repository, run\n")
    (saved / "api.py").write_text(API)
    (saved / "impl.py").write_text(IMPL)
    expected = "\n".join(f"repo{i} {1000 - i} ['change 0', 'change 1']" for i in range(3))
    assert server.cell(SAVED) == expected
    assert server.end() == 0

    again = McpServer(str(BIN / "ipybox"), "--workspace", str(folder))
    assert again.cell(SAVED) == expected
    assert len(again.asked) == 1 and "github" in again.asked[0]
    assert again.cell(CHAINED) == chained
    again.call("tools/call", {"name": "register_mcp_server", "arguments": registration})
    again.call("tools/call", {"name": "reset", "arguments": {}})
    assert again.cell(CHAINED) == chained, "a new registration keeps what was added"
    assert again.end() == 0


def test_server_json_fits_the_registrys_schema() -> None:
    schema = json.loads((PLACE / "registry" / "2025-12-11.json").read_text())
    server = json.loads((LISTINGS / "server.json").read_text())
    jsonschema.validate(server, schema)
    image = os.environ["IPYBOX_IMAGE"]
    form = '{{index .Config.Labels "io.modelcontextprotocol.server.name"}}'
    label = subprocess.check_output(["docker", "image", "inspect", "-f", form, image], text=True)
    assert label.strip() == server["name"]
    for readme in (PLACE / "README.md", PLACE / "sdk-README.md"):
        assert f"mcp-name: {server['name']}" in readme.read_text()


def test_the_bundle_is_valid(folder: Path) -> None:
    subprocess.run([NODE / "mcpb", "validate", LISTINGS / "mcpb" / "manifest.json"], check=True)
    subprocess.run([NODE / "mcpb", "pack", LISTINGS / "mcpb", folder / "ipybox.mcpb"], check=True)


def test_links_say_what_the_files_say() -> None:
    """VS Code's and Cursor's links in the README of plugins/, decoded."""
    text = (PLACE / "plugins" / "README.md").read_text()
    [code] = re.findall(r"vscode:mcp/install\?([^)\s]+)", text)
    [cursor] = re.findall(r"cursor://[^)\s]*config=([^)\s]+)", text)
    wanted = json.loads((LISTINGS / "vscode" / "mcp.json").read_text())["servers"]["ipybox"]
    assert json.loads(unquote(code)) == {"name": "ipybox", **wanted}
    decoded = json.loads(base64.b64decode(unquote(cursor)))
    assert decoded == {"command": "uvx", "args": ["ipybox", "--workspace", ".", "--sandbox"]}


def test_settings_of_other_clients_can_be_read() -> None:
    codex = tomllib.loads((LISTINGS / "codex" / "config.toml").read_text())
    gemini = json.loads((LISTINGS / "ipybox" / "gemini-extension.json").read_text())
    words = gemini["mcpServers"]["ipybox"]
    server = codex["mcp_servers"]["ipybox"]
    assert (server["command"], server["args"]) == (words["command"], words["args"])
    assert (
        gemini["name"] == "ipybox" and (LISTINGS / "ipybox" / gemini["contextFileName"]).is_file()
    )
