# SPDX-License-Identifier: Apache-2.0
"""Agent frameworks on E2B's SDK: deepagents with langchain-e2b, and smolagents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from box import Box
from e2b import Sandbox
from e2b_box import environment, serving
from langchain_e2b import E2BSandbox
from smolagents.monitoring import AgentLogger
from smolagents.remote_executors import E2BExecutor
from smolagents.utils import AgentError


@pytest.fixture(scope="module")
def service(shared_box: Box) -> Iterator[None]:
    with serving(shared_box.workspace) as url, environment(url):
        yield


def test_deepagents_with_langchain_e2b(service: None) -> None:
    sandbox = Sandbox.create(timeout=600)
    backend: Any = E2BSandbox(sandbox=sandbox)
    ran = backend.execute("pwd; echo err >&2; exit 3")
    assert (ran.exit_code, ran.output) == (3, "/app/workspace\n\nerr\n")
    assert backend.execute("setsid --wait sh -c 'exit 4'").exit_code == 4
    folder = "/home/user/deep"
    file = f"{folder}/a.txt"
    assert backend.write(file, "one\ntwo\n").error is None
    assert backend.edit(file, "two", "three").error is None
    assert backend.read(file).file_data["content"] == "one\nthree"
    assert [entry["path"] for entry in backend.ls(folder).entries] == [file]
    assert [found["line"] for found in backend.grep("three", folder).matches] == [2]
    assert backend.upload_files([(f"{folder}/b", b"\x00\xff")])[0].error is None
    assert backend.download_files([f"{folder}/b"])[0].content == b"\x00\xff"
    assert sandbox.kill()


def test_smolagents(service: None) -> None:
    executor = E2BExecutor([], AgentLogger())
    ran = executor("x = 6 * 7\nprint('hi')\nx")
    assert (ran.output, ran.logs) == ("42", "hi\n")
    executor.send_variables({"y": 5})
    assert executor("x + y").output == "47"
    with pytest.raises(AgentError, match="ZeroDivisionError"):
        executor("1 / 0")
    executor.cleanup()
    assert not Sandbox.list().next_items()
