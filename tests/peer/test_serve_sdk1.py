# SPDX-License-Identifier: Apache-2.0
"""Who approves under `ipybox serve`: the MCP client while nobody looks, and only with the role."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import pytest
from box import GUARD
from mcp import ClientSession, types
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from serve_box import ADMIN, EXECUTOR, Human, serving_approvals

pytestmark = pytest.mark.anyio

APPROVE = types.ElicitResult(action="accept", content={"decision": "approve"})


@pytest.fixture
def url() -> Iterator[str]:
    with serving_approvals() as url:  # for each test: a look at it lasts a minute
        yield url


@asynccontextmanager
async def connected(url: str, token: str, elicit: ElicitationFnT) -> AsyncIterator[ClientSession]:
    async with (
        create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as (read, write, _),
        ClientSession(read, write, elicitation_callback=elicit) as session,
    ):
        await session.initialize()
        yield session


async def echo(session: ClientSession) -> None:
    result = await session.call_tool("execute_ipython_cell", {"code": "!echo approved"})
    assert not result.isError, result
    assert [block.text for block in result.content if block.type == "text"] == ["approved"]


async def test_a_client_with_the_role_is_asked_while_nobody_looks(url: str) -> None:
    asked: list[str] = []

    async def elicit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return APPROVE

    with anyio.fail_after(GUARD):
        async with connected(url, ADMIN, elicit) as session:
            await echo(session)
    assert len(asked) == 1
    assert "echo approved" in asked[0]


async def test_a_client_without_the_role_is_not_asked(url: str) -> None:
    """Its call waits for who has the approver's token."""
    asked: list[str] = []

    async def elicit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return APPROVE

    human = Human(url)

    def decide() -> None:
        with human.watching() as events:
            question = next(events)
            assert question["mine"] is True
            human.accept(question["id"])

    with anyio.fail_after(GUARD):
        async with connected(url, EXECUTOR, elicit) as session, anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, decide)
            await echo(session)
    assert asked == []


async def test_who_looks_is_asked_before_a_client(url: str) -> None:
    asked: list[str] = []

    async def elicit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return APPROVE

    human = Human(url)
    assert human.waiting() == []

    def decide() -> None:
        with human.watching() as events:
            human.accept(next(events)["id"])

    with anyio.fail_after(GUARD):
        async with connected(url, ADMIN, elicit) as session, anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, decide)
            await echo(session)
    assert asked == []


async def test_who_comes_to_look_takes_over_from_a_client(url: str) -> None:
    """Whose answer, which comes too late, changes nothing."""
    shown, decided = anyio.Event(), anyio.Event()

    async def elicit(_: Any, __: types.ElicitRequestParams) -> types.ElicitResult:
        shown.set()
        await decided.wait()
        return types.ElicitResult(action="decline")

    human = Human(url)
    with anyio.fail_after(GUARD):
        async with connected(url, ADMIN, elicit) as session, anyio.create_task_group() as group:
            group.start_soon(echo, session)
            await shown.wait()
            [question] = await anyio.to_thread.run_sync(human.waiting)
            assert question["mine"] is True
            await anyio.to_thread.run_sync(human.accept, question["id"])
            decided.set()
