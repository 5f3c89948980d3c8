# SPDX-License-Identifier: Apache-2.0
"""freeact_agent.py SCENARIO... - freeact's agent on this SDK, with a model that says what it is told.

test_freeact.py runs it in an environment with freeact, in which packages come from mcpygen. The
agent's code is unmodified. What it calls of ipybox: CodeExecutor(kernel_env, sandbox,
sandbox_config, images_dir, approval_timeout, log_level), start(), stop(), stream(code, timeout,
chunks=True), reset(), cancel(); ApprovalRequest, CodeExecutionChunk, CodeExecutionResult in
patterns; utils.arun. Of mcpygen: generate_mcp_sources().
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from freeact.agent import Agent, ApprovalRequest, Cancelled, CodeExecutionOutput
from freeact.agent.config import Config
from freeact.tools.pytools.apigen import generate_mcp_sources
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

import ipybox

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parent / "search_server.py")]}
SEARCH = """
from mcptools.search.brave_image_search import Params, run
print(len(run(Params(query="q", count=3)).items))
"""
ENDLESS = "import time\nx = 1\nopen('running', 'w').close()\ntime.sleep(300)"

Decide = Callable[[ApprovalRequest], Any]


class Script:
    """Calls one tool of each turn's list, and says "done" at its end."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def say(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        if not self.calls:
            yield "done"
            return
        name, arguments = self.calls.pop(0)
        yield {0: DeltaToolCall(name, json.dumps(arguments))}

    def cells(self, *codes: str) -> None:
        self.calls += [("ipybox_execute_ipython_cell", {"code": code}) for code in codes]


@asynccontextmanager
async def agent(**settings: Any) -> AsyncIterator[tuple[Agent, Script]]:
    """One that runs, with the tools of SERVER as a package."""
    script = Script()
    config = Config(
        model=FunctionModel(stream_function=script.say),
        model_settings={},
        mcp_servers={"filesystem": SERVER, "pytools": SERVER},  # in place of those from npm
        ptc_servers={"search": SERVER},
        enable_persistence=False,
        **settings,
    )
    config.generated_dir.mkdir(parents=True)
    await generate_mcp_sources(config.ptc_servers, config.generated_dir)
    async with Agent(config=config) as running:
        yield running, script


async def accept(request: ApprovalRequest) -> None:
    request.approve(True)


async def turn(running: Agent, decide: Decide = accept) -> tuple[list[Any], list[str]]:
    """All events of one turn, and what was asked by code."""
    events, asked = [], []
    async for event in running.stream("do it"):
        events.append(event)
        if isinstance(event, ApprovalRequest):
            if event.ptc:
                asked.append(event.tool_name)
                await decide(event)
            else:
                event.approve(True)
    return events, asked


def texts(events: list[Any]) -> list[str | None]:
    return [event.text for event in events if isinstance(event, CodeExecutionOutput)]


async def tools_by_code() -> None:
    async with agent() as (running, script):
        script.cells("x = 41", SEARCH, "x + 1")
        events, asked = await turn(running)
        assert texts(events) == ["", "3", "42"], texts(events)
        assert asked == ["search_brave_image_search"], asked


async def a_rejection() -> None:
    async def reject(request: ApprovalRequest) -> None:
        request.approve(False)

    async with agent() as (running, script):
        script.cells(SEARCH, "1")
        events, _ = await turn(running, reject)
        assert len(texts(events)) == 1 and "ApprovalRejectedError:" in str(texts(events)[0])
        script.calls.clear()
        script.cells("2")
        assert texts((await turn(running))[0]) == ["2"]


async def a_late_answer() -> None:
    """The clock stands while somebody thinks: longer than a cell may run. The call before it has
    imported and started what takes its time."""

    async def think(request: ApprovalRequest) -> None:
        await asyncio.sleep(6)
        request.approve(True)

    async with agent() as (running, script):
        script.cells(SEARCH)
        await turn(running)
        running._execution_timeout = 5
        script.cells(SEARCH)
        events, _ = await turn(running, think)
        assert texts(events) == ["3"], texts(events)


async def an_answer_after_its_time() -> None:
    async def never_in_time(request: ApprovalRequest) -> None:
        await asyncio.sleep(3)
        request.approve(True)

    async with agent(approval_timeout=1) as (running, script):
        script.cells(SEARCH)
        events, _ = await turn(running, never_in_time)
        assert "ApprovalTimeoutError" in str(texts(events)[0]), texts(events)


async def a_timeout() -> None:
    async with agent() as (running, script):
        script.cells("x = 5")
        await turn(running)
        running._execution_timeout = 2
        script.cells("while True: pass")
        events, _ = await turn(running)
        assert "longer than 2" in str(texts(events)[-1]), texts(events)
        running._execution_timeout = None
        script.cells("x")
        assert texts((await turn(running))[0]) == ["5"]


async def a_reset() -> None:
    async with agent() as (running, script):
        script.cells("x = 1")
        script.calls.append(("ipybox_reset", {}))
        script.cells("x", SEARCH)
        events, _ = await turn(running)
        assert "NameError" in str(texts(events)[1]) and texts(events)[2] == "3", texts(events)


async def a_cancel() -> None:
    async with agent() as (running, script):
        script.cells(ENDLESS)
        task = asyncio.create_task(turn(running))
        while not Path("running").exists():
            await asyncio.sleep(0.05)
        running.cancel()
        events, _ = await task
        assert isinstance(events[-1], Cancelled), events
        script.cells("x")
        assert texts((await turn(running))[0]) == ["1"]


async def a_cancel_while_it_is_asked() -> None:
    async with agent() as (running, script):
        script.cells(SEARCH)

        async def cancel(request: ApprovalRequest) -> None:
            running.cancel()
            request.approve(False)

        events, _ = await turn(running, cancel)
        assert isinstance(events[-1], Cancelled), events
        script.cells("7")
        assert texts((await turn(running))[0]) == ["7"]


def tried(name: str) -> str:
    """ "well", or what has failed; in a folder of its own."""
    place = Path(name)
    place.mkdir()
    os.chdir(place)
    try:
        asyncio.run(globals()[name]())
    except BaseException:
        return traceback.format_exc()
    finally:
        os.chdir("..")
    return "well"


if __name__ == "__main__":
    assert hasattr(ipybox, "adopt_mcp_sources"), "the other ipybox"
    print(json.dumps({name: tried(name) for name in sys.argv[1:]}))
