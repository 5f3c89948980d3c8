# SPDX-License-Identifier: Apache-2.0
"""The control plane of E2B's SDK for Python, unchanged but for the URL.

tests/peer/run starts it with each of the SDK's versions in docs/works-with.md.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from box import Box, docker, raises, until
from e2b import (
    AuthenticationException,
    Sandbox,
    SandboxException,
    SandboxQuery,
    TimeoutException,
)
from e2b_box import container_of, environment, serving


@pytest.fixture(scope="module", autouse=True)
def server(shared_box: Box) -> Iterator[str]:
    with serving(shared_box.workspace) as url, environment(url):
        yield url


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Any]:
    made = Sandbox.create(timeout=600, metadata={"a b": "c&d=é"})
    yield made
    assert made.kill()


def pages(paginator: Any) -> list[list[Any]]:
    found = []
    while paginator.has_next:
        found.append(paginator.next_items())
    return found


@pytest.mark.gate
def test_info(sandbox: Any) -> None:
    info = sandbox.get_info()
    assert info.sandbox_id == sandbox.sandbox_id
    assert info.metadata == {"a b": "c&d=é"}
    assert info.template_id == "base"
    assert 590 < (info.end_at - info.started_at).total_seconds() <= 601
    assert sandbox.is_running()


def test_list_filters_and_pages(sandbox: Any) -> None:
    name = uuid.uuid4().hex
    made = [Sandbox.create(metadata={"name": name}) for _ in range(3)]
    both = SandboxQuery(metadata={"name": name})
    found = pages(Sandbox.list(query=both, limit=2))
    assert [len(page) for page in found] == [2, 1]
    ids = {item.sandbox_id for page in found for item in page}
    assert ids == {s.sandbox_id for s in made}
    assert pages(Sandbox.list(query=SandboxQuery(metadata={"name": "other"}))) == [[]]
    assert sandbox.sandbox_id in {i.sandbox_id for page in pages(Sandbox.list()) for i in page}
    assert all(s.kill() for s in made)
    assert pages(Sandbox.list(query=both)) == [[]]


@pytest.mark.gate
def test_connect(sandbox: Any) -> None:
    again = Sandbox.connect(sandbox.sandbox_id, timeout=5)
    assert again.sandbox_id == sandbox.sandbox_id
    assert again.is_running()
    left = again.get_info().end_at.timestamp() - time.time()
    assert left > 60  # a shorter timeout than what is left changes nothing


def test_a_timeout_ends_it() -> None:
    made = Sandbox.create(timeout=60)
    made.set_timeout(1)
    until(lambda: not made.is_running())
    assert not made.kill()


@pytest.mark.gate
def test_what_is_not_there(server: str) -> None:
    with raises(SandboxException, "not found"):
        Sandbox.connect("nosuchsandbox")
    with raises(AuthenticationException, "401"):
        Sandbox.create(api_key="e2b_ffff")
    with raises(AuthenticationException, "401"):
        Sandbox.list(api_key="e2b_ffff").next_items()


def pause(sandbox: Any) -> Any:
    return (getattr(sandbox, "pause", None) or sandbox.beta_pause)()


def states_of(container: str, words: str) -> set[str]:
    """Of the shells whose command lines have the words: "T" is stopped."""
    listed = docker("top", container, "-eo", "pid,stat,args").splitlines()
    rows = [row.split(None, 2)[1:] for row in listed]
    return {state[0] for state, args in rows if args.startswith("/bin/bash") and words in args}


@pytest.mark.gate
def test_a_pause(server: str, sandbox: Any, shared_box: Box) -> None:
    go = shared_box.workspace / f"go-{uuid.uuid4().hex}"
    made = Sandbox.create(timeout=600)
    command = f"echo 1; until [ -e {go.name} ]; do sleep 0.01; done; echo 2"
    handle = made.commands.run(command, background=True)
    pause(made)
    assert not made.is_running()
    states = {i.sandbox_id: i.state.value for page in pages(Sandbox.list()) for i in page}
    assert (states[made.sandbox_id], states[sandbox.sandbox_id]) == ("paused", "running")
    with raises(TimeoutException, "paused"):
        made.commands.run("true")
    until(lambda: states_of(container_of(server), go.name) == {"T"})
    again = Sandbox.connect(made.sandbox_id)
    assert again.is_running()
    assert any(process.pid == handle.pid for process in again.commands.list())
    go.touch()
    assert handle.wait().stdout == "1\n2\n"
    assert again.kill()
