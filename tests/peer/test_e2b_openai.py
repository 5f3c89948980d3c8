# SPDX-License-Identifier: Apache-2.0
"""The E2B sandbox of OpenAI's agents SDK."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions
from box import Box
from e2b import Sandbox
from e2b_box import environment, serving


async def use_session() -> None:
    client = E2BSandboxClient()
    options = E2BSandboxClientOptions("e2b_code_interpreter", timeout=600)
    session = await client.create(options=options)
    await session.start()
    ran = await session.exec("pwd; echo err >&2; exit 3")
    assert (ran.exit_code, ran.stderr) == (3, b"err\n")
    await session.write(Path("a.bin"), io.BytesIO(b"\x00\xff"))
    assert (await session.read(Path("a.bin"))).read() == b"\x00\xff"
    assert await session.running()
    (listed,) = Sandbox.list().next_items()
    Sandbox.pause(listed.sandbox_id)
    assert not await session.running()
    Sandbox.connect(listed.sandbox_id)
    assert (await session.exec("echo on")).stdout == b"on\n"
    await session.stop()
    await session.shutdown()
    await client.delete(session)


def test_session(shared_box: Box) -> None:
    with serving(shared_box.workspace) as url, environment(url):
        asyncio.run(use_session())
        assert not Sandbox.list().next_items()
