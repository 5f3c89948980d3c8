# SPDX-License-Identifier: Apache-2.0
"""As test_serve_sdk1.py, with the SDK of both eras: here a question may be a call's result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import pytest
from box import GUARD
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import ElicitRequestParams, ElicitResult
from sdk2_cells import VERSIONS, cell
from serve_box import ADMIN, EXECUTOR, Human, serving_approvals

pytestmark = pytest.mark.anyio


@pytest.fixture
def url() -> Iterator[str]:
    with serving_approvals() as url:
        yield url


@asynccontextmanager
async def connected(url: str, token: str, mode: str, asked: list[str]) -> AsyncIterator[Client]:
    async def elicit(_: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"decision": "approve"})

    async with (
        create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http,
        Client(
            streamable_http_client(f"{url}/mcp", http_client=http),
            mode=mode,
            elicitation_callback=elicit,
        ) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", list(VERSIONS))
async def test_a_client_with_the_role_is_asked_while_nobody_looks(url: str, mode: str) -> None:
    asked: list[str] = []
    with anyio.fail_after(GUARD):
        async with connected(url, ADMIN, mode, asked) as client:
            assert await cell(client, "!echo approved") == "approved"
    assert len(asked) == 1
    assert "echo approved" in asked[0]


@pytest.mark.parametrize("mode", list(VERSIONS))
async def test_a_client_without_the_role_is_not_asked(url: str, mode: str) -> None:
    asked: list[str] = []
    human = Human(url)

    def decide() -> None:
        with human.watching() as events:
            human.accept(next(events)["id"])

    with anyio.fail_after(GUARD):
        async with (
            connected(url, EXECUTOR, mode, asked) as client,
            anyio.create_task_group() as group,
        ):
            group.start_soon(anyio.to_thread.run_sync, decide)
            assert await cell(client, "!echo approved") == "approved"
    assert asked == []
