# SPDX-License-Identifier: Apache-2.0
"""The plugins in the real Claude Code, and the workflow of their skill."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PLACE, client
from skills_ref.validator import validate
from test_command import BIN, McpServer

PLUGINS = ("codeact-default", "codeact-sandbox", "codeact-docker")

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
    """What Claude Code says to a command; it must succeed."""
    return client("claude", *words)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_directory_takes_it(plugin: str) -> None:
    said = claude(
        "plugin", "validate", str(PLACE / "plugins" / plugin), "--strict", "--profile", "directory"
    )
    assert "Validation passed" in said and "nothing to report" in said


def test_the_marketplace_is_valid() -> None:
    assert "Validation passed" in claude("plugin", "validate", str(PLACE), "--strict")


def test_the_skill_is_valid() -> None:
    skills = [PLACE / "plugins" / "skill" / "codeact"]
    skills += [PLACE / "plugins" / plugin / "skills" / "codeact" for plugin in PLUGINS]
    for skill in skills:
        assert validate(skill) == []


def test_copies_are_the_same() -> None:
    subprocess.run([sys.executable, PLACE / "plugins" / "make", "--check"], check=True)


def test_installed_from_the_marketplace_all_three_connect(
    wheel_for_uvx: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`docker run … ipybox` takes the image of the tests."""
    image = os.environ["IPYBOX_IMAGE"]
    if image != "ipybox":
        pytest.fail("the plugins name the image ipybox: run the tests with it")
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
