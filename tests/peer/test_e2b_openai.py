# SPDX-License-Identifier: Apache-2.0
"""The E2B sandbox of OpenAI's agents SDK."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions
from box import Box
from e2b import Sandbox, SandboxException
from e2b_box import environment, serving


async def use_session() -> None:
    client = E2BSandboxClient()
    options = E2BSandboxClientOptions("e2b_code_interpreter", timeout=600, on_timeout="kill")
    session = await client.create(options=options)
    await session.start()
    ran = await session.exec("pwd; echo err >&2; exit 3")
    assert (ran.exit_code, ran.stderr) == (3, b"err\n")
    await session.write(Path("a.bin"), io.BytesIO(b"\x00\xff"))
    assert (await session.read(Path("a.bin"))).read() == b"\x00\xff"
    assert await session.running()
    await session.stop()
    await session.shutdown()
    await client.delete(session)


async def ask_for_a_pause() -> None:
    await E2BSandboxClient().create(options=E2BSandboxClientOptions("e2b", on_timeout="pause"))


def test_session(shared_box: Box) -> None:
    with serving(shared_box.workspace) as url, environment(url):
        asyncio.run(use_session())
        with pytest.raises(SandboxException, match="pausing is not served"):
            asyncio.run(ask_for_a_pause())
        assert not Sandbox.list().next_items()
