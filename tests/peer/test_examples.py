# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/, as their readers start them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from box import GUARD, IMAGE, PNG, docker

EXAMPLES = Path(__file__).parents[2] / "examples"
SCIENCE = os.environ.get("IPYBOX_TEST_SCIENCE_IMAGE", "ipybox:science")


def run(
    *command: str, words: str = "", folder: Path | None = None, env: dict[str, str] | None = None
) -> str:
    """What it has printed; it must end with status 0."""
    environment = (
        os.environ | {"IPYBOX_IMAGE": IMAGE, "IPYBOX_SCIENCE_IMAGE": SCIENCE} | (env or {})
    )
    done = subprocess.run(
        command,
        input=words,
        stdout=subprocess.PIPE,
        text=True,
        timeout=5 * GUARD,  # it waits for many things
        env=environment,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def example(
    name: str, words: str = "", folder: Path | None = None, env: dict[str, str] | None = None
) -> str:
    return run(sys.executable, str(EXAMPLES / name), words=words, folder=folder, env=env)


def test_every_example_is_tried_and_listed() -> None:
    """A new one is added to the tests below, to the README and to the commands of its docstring."""
    programs = {str(p.relative_to(EXAMPLES)) for p in EXAMPLES.rglob("*.py")}
    read = (EXAMPLES / "README.md").read_text()
    tests = Path(__file__).read_text()
    for name in programs - {"approvals/notes.py", "sidecar/app.py"}:
        assert f'"{name}"' in tests, name
        assert f"({name})" in read and f"python examples/{name}`" in read, name
        assert f"python examples/{name}\n" in (EXAMPLES / name).read_text(), name


def test_an_agents_loop() -> None:
    printed = example("agent_loop.py")
    assert "NameError: name 'primes' is not defined" in printed
    assert printed.endswith("9592 primes; the largest is 99991.\n")


@pytest.mark.parametrize(
    ("name", "seen", "last"),
    [
        ("pydantic_ai_agent.py", "338350", "The sum is 338350."),
        ("langgraph_agent.py", "'text': 'Thursday'", "It was a Thursday."),
        ("openai_agent.py", "3", "The last cell printed 3."),
    ],
)
def test_an_agent_of_a_framework(name: str, seen: str, last: str) -> None:
    printed = example(name)
    assert printed.strip().endswith(last)
    assert seen in printed
    assert "Error" not in printed


def search(env: dict[str, str] | None = None) -> float:
    """How many times faster branches are, as the example prints it."""
    printed = example("tree_search.py", env=env)
    assert printed.count("-> 12 of 12 tests") == 2
    ratio = re.search(r"All 12 tests pass. Branches are ([0-9.]+) times faster.", printed)
    assert ratio, printed
    return float(ratio[1])


def test_a_search_in_branches_and_the_same_in_new_sessions() -> None:
    assert search({"TRY_MS": "3000"})


@pytest.mark.measure
def test_a_search_in_branches_is_faster() -> None:
    assert search() > 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [("y", "buy milk"), ("n", "refused: Approval request for notes.add rejected")],
)
def test_a_policy_allows_asks_and_denies(answer: str, said: str) -> None:
    printed = example("approvals/approvals.py", f"{answer}\n")
    assert 'call notes.add({"text": "buy milk"})' in printed
    lines = printed.splitlines()
    assert said in lines
    assert "refused: Approval request for notes.delete rejected" in lines
    assert "notes.list" not in printed.replace("notes.list.run", "")


def test_data_becomes_a_picture(tmp_path: Path) -> None:
    printed = example("data_analysis.py", folder=tmp_path)
    assert "112.5" in printed  # the mean
    picture = (tmp_path / "sales.png").read_bytes()
    assert picture[:8] == PNG[:8]
    assert len(picture) > 2000


def test_a_sidecar(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "sidecar", tmp_path / "sidecar")
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    program = ["docker", "compose"] if plugin.returncode == 0 else ["docker-compose"]
    project = f"ipybox-example-{os.getpid()}"
    compose = [*program, "-p", project, "-f", str(tmp_path / "sidecar" / "compose.yaml")]
    try:
        printed = run(*compose, "up", "--abort-on-container-exit", "--exit-code-from", "app")
    finally:
        run(*compose, "down", "-v")
    assert "ada ok ADA" in printed
    assert "bob ok BOB" in printed
    assert "the network: error URLError" in printed
    assert docker("ps", "-aq", "--filter", f"label=com.docker.compose.project={project}") == ""
