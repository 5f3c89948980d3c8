# SPDX-License-Identifier: Apache-2.0
"""mcpygen 0.1.4 against the container's tool server.

ToolRunner, ApprovalClient and ApprovalRequestor have no place for a token but the host, which they
put into a URL: user:TOKEN@host.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import websockets
from box import GUARD, HERE, INSIDE, Box, own_port, raises
from mcpygen.tool_exec.approval.client import ApprovalClient, ApprovalRequest, ApprovalRequestor
from mcpygen.tool_exec.client import (
    ApprovalRejectedError,
    ApprovalTimeoutError,
    ToolRunner,
    ToolRunnerError,
)
from pydantic import BaseModel
from tool_box import ToolBox, install, tool_box, wait_for_port

pytestmark = pytest.mark.anyio

STDIO = {
    "command": "python3",
    "args": ["/peer/demo_server.py"],
    "env": {"PYTHONPATH": f"{INSIDE}/site"},
}

TOGETHER = 5  # calls: asyncio.to_thread has as many threads on one processor

Call = Callable[[ToolRunner, str, Any], Awaitable[Any]]


@pytest.fixture(scope="module", autouse=True)
def packages(shared_box: Box) -> None:
    install(shared_box, "mcp==1.30.0")


@pytest.fixture(scope="module")
def tools(shared_box: Box, packages: None) -> Iterator[ToolBox]:
    """Calls are approved by themselves."""
    with tool_box(shared_box) as it:
        yield it


@pytest.fixture(scope="module")
def strict(shared_box: Box, packages: None) -> Iterator[ToolBox]:
    """Every call is asked for."""
    with tool_box(shared_box, "--approve-tool-calls", "--approval-timeout", str(GUARD)) as it:
        yield it


@pytest.fixture(scope="module")
def hasty(shared_box: Box, packages: None) -> Iterator[ToolBox]:
    """Every call is asked for, and waits for the answer for a second."""
    with tool_box(shared_box, "--approve-tool-calls", "--approval-timeout", "1") as it:
        yield it


@pytest.fixture(params=["async", "sync"])
def call(request: pytest.FixtureRequest) -> Call:
    async def in_loop(runner: ToolRunner, tool: str, args: Any) -> Any:
        return await runner.run(tool, args)

    async def in_thread(runner: ToolRunner, tool: str, args: Any) -> Any:
        return await asyncio.to_thread(runner.run_sync, tool, args)

    return in_loop if request.param == "async" else in_thread


def runner(it: ToolBox, name: str = "demo", params: Any = None) -> ToolRunner:
    return ToolRunner(name, params or STDIO, host=it.as_application, port=it.port)


@contextmanager
def http_server(kind: str) -> Iterator[dict[str, Any]]:
    """demo_server.py on the host."""
    port = own_port()
    path = {"http": "mcp", "sse": "sse"}[kind]
    program = [sys.executable, str(HERE / "demo_server.py"), kind, str(port)]
    with subprocess.Popen(program) as process:
        try:
            wait_for_port(port)
            yield {"url": f"http://127.0.0.1:{port}/{path}"}
        finally:
            process.terminate()


@asynccontextmanager
async def approver(
    it: ToolBox, decide: Callable[[ApprovalRequest], Awaitable[None]]
) -> AsyncIterator[ApprovalClient]:
    async with ApprovalClient(callback=decide, host=it.as_approver, port=it.port) as client:
        yield client


async def accept(request: ApprovalRequest) -> None:
    await request.accept()


async def reject(request: ApprovalRequest) -> None:
    await request.reject()


async def ignore(request: ApprovalRequest) -> None:
    pass


# --- calls ---


@pytest.mark.gate
async def test_a_text_comes_back(tools: ToolBox, call: Call) -> None:
    assert await call(runner(tools), "shout-it", {"text": "hé"}) == "HÉ"


@pytest.mark.gate
async def test_structured_output_comes_back_as_a_dictionary(tools: ToolBox, call: Call) -> None:
    result = await call(runner(tools), "report", {"title": "t", "cities": ["Rome", "Ulm"]})
    places = [{"city": "Rome", "altitude": 4.0}, {"city": "Ulm", "altitude": 3.0}]
    assert result == {"title": "t", "places": places}


async def test_a_picture_alone_is_nothing_on_the_old_wire(tools: ToolBox, call: Call) -> None:
    assert await call(runner(tools), "picture", {}) is None


async def test_calls_run_side_by_side(tools: ToolBox, call: Call) -> None:
    """Each waits in the server until all have come."""
    it = runner(tools)
    calls = (call(it, "meet", {"text": str(i), "of": TOGETHER}) for i in range(TOGETHER))
    met = await asyncio.wait_for(asyncio.gather(*calls), GUARD)
    assert met == [str(i) for i in range(TOGETHER)]


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_servers_on_http(tools: ToolBox, call: Call, kind: str) -> None:
    with http_server(kind) as params:
        it = runner(tools, f"on_{kind}_{call.__name__}", params)
        assert await call(it, "shout-it", {"text": kind}) == kind.upper()
        assert (await call(it, "report", {"title": kind, "cities": []}))["title"] == kind


@pytest.mark.parametrize(
    ("tool", "args"),
    [("no_such_tool", {}), ("report", {"wrong": 1}), ("report", {"title": "t"})],
)
@pytest.mark.gate
async def test_failures_of_the_server_are_errors(
    tools: ToolBox, call: Call, tool: str, args: dict[str, Any]
) -> None:
    with raises(ToolRunnerError, "."):
        await call(runner(tools), tool, args)


async def test_arguments_are_made_plain(tools: ToolBox, call: Call) -> None:
    class Args(BaseModel):
        title: str
        cities: list[str]

    when = datetime(2024, 1, 15, 10, 30)
    assert await call(runner(tools), "shout-it", {"text": when}) == "2024-01-15T10:30:00"
    assert (await call(runner(tools), "report", Args(title="m", cities=[])))["title"] == "m"


@pytest.mark.gate
async def test_reset_stops_the_servers_and_the_next_call_starts_them(
    tools: ToolBox, call: Call
) -> None:
    it = runner(tools)
    assert await call(it, "shout-it", {"text": "a"}) == "A"
    await it.reset()
    assert await call(it, "shout-it", {"text": "b"}) == "B"


async def test_a_server_that_cannot_start_is_an_error(tools: ToolBox, call: Call) -> None:
    params = {"command": "no-such-program"}
    with raises(ToolRunnerError, "no-such-program"):
        await call(runner(tools, f"broken_{call.__name__}", params), "x", {})


# --- approval ---


@pytest.mark.gate
async def test_accepted(strict: ToolBox, call: Call) -> None:
    seen: list[ApprovalRequest] = []

    async def look(request: ApprovalRequest) -> None:
        seen.append(request)
        await request.accept()

    async with approver(strict, look):
        assert await call(runner(strict), "shout-it", {"text": "yes"}) == "YES"
    (request,) = seen
    assert (request.server_name, request.tool_name) == ("demo", "shout-it")
    assert request.tool_args == {"text": "yes"}


@pytest.mark.gate
async def test_rejected(strict: ToolBox, call: Call) -> None:
    async with approver(strict, reject):
        with raises(ApprovalRejectedError, "Approval request for demo.shout-it rejected"):
            await call(runner(strict), "shout-it", {"text": "no"})


async def test_no_answer_in_time(hasty: ToolBox, call: Call) -> None:
    async with approver(hasty, ignore):
        with raises(ApprovalTimeoutError, "Approval request for demo.shout-it expired"):
            await call(runner(hasty), "shout-it", {"text": "late"})


async def test_nobody_to_ask(strict: ToolBox, call: Call) -> None:
    with raises(ToolRunnerError, "failed: Approval channel not connected"):
        await call(runner(strict), "shout-it", {"text": "x"})


@pytest.mark.gate
async def test_the_approver_leaves(strict: ToolBox, call: Call) -> None:
    asked = asyncio.Event()

    async def wait(request: ApprovalRequest) -> None:
        asked.set()

    async with approver(strict, wait) as client:
        asking = call(runner(strict), "shout-it", {"text": "x"})
        pending: asyncio.Future[Any] = asyncio.ensure_future(asking)
        await asked.wait()
        await client.disconnect()
        with raises(ToolRunnerError, "failed: Approval channel disconnected"):
            await pending


async def test_decisions_of_many_at_once(strict: ToolBox, call: Call) -> None:
    async def every_other(request: ApprovalRequest) -> None:
        if int(request.tool_args["text"]) % 2:
            await request.reject()
        else:
            await request.accept()

    async with approver(strict, every_other):
        calls = (call(runner(strict), "shout-it", {"text": str(i)}) for i in range(6))
        results = await asyncio.gather(*calls, return_exceptions=True)
    assert [r for r in results if isinstance(r, str)] == ["0", "2", "4"]
    assert sum(isinstance(r, ApprovalRejectedError) for r in results) == 3


@pytest.mark.parametrize("way", ["async", "sync"])
async def test_approval_without_a_call(strict: ToolBox, way: str) -> None:
    requestor = ApprovalRequestor("shell", host=strict.as_application, port=strict.port)

    async def request() -> None:
        if way == "async":
            await requestor.request("run", {"cmd": "ls"})
        else:
            await asyncio.to_thread(requestor.request_sync, "run", {"cmd": "ls"})

    async with approver(strict, accept):
        await request()
    async with approver(strict, reject):
        with raises(ApprovalRejectedError, "Approval request for shell.run rejected"):
            await request()
    with raises(ToolRunnerError, "failed: Approval channel not connected"):
        await request()


async def test_one_approver_at_a_time(strict: ToolBox) -> None:
    uri = f"ws://{strict.as_approver}:{strict.port}/approval"
    async with approver(strict, accept):
        with raises(websockets.InvalidStatus, "403"):
            await websockets.connect(uri, open_timeout=GUARD)


async def test_junk_closes_the_socket_that_sent_it_and_nothing_else(strict: ToolBox) -> None:
    uri = f"ws://{strict.as_approver}:{strict.port}/approval"
    for junk in ("{", "[]", '"x"', '{"id": 5}', '{"jsonrpc": "2.0", "result": true}', b"\xff\x00"):
        async with websockets.connect(uri) as socket:
            await socket.send(junk)
            with raises(websockets.ConnectionClosed):
                await asyncio.wait_for(socket.recv(), GUARD)
    async with approver(strict, accept):
        assert await runner(strict).run("shout-it", {"text": "on"}) == "ON"


# --- what the wire says ---


async def test_bodies(tools: ToolBox) -> None:
    assert tools.http("GET", "/status") == (200, {"status": "ok"})
    token = tools.application
    assert tools.http("PUT", "/reset", token=token) == (200, {"reset": "success"})
    status, body = tools.http("POST", "/run", {"server_name": "x"}, token)
    assert status == 422
    missing = {tuple(problem["loc"]) for problem in body["detail"]}
    assert missing == {("body", "server_params"), ("body", "tool_name"), ("body", "tool_args")}
    assert tools.http("GET", "/run", token=token)[0] == 405
    assert tools.http("GET", "/nothing")[0] == 404


async def test_packages_that_mcpygen_generated_work_in_a_kernel(
    tools: ToolBox, shared_box: Box, tmp_path: Path
) -> None:
    """Old generated code imports mcpygen and names host and port: it gets our runtime."""
    from mcpygen.apigen import (
        generate_function_definition,
        generate_init_definition,
        generate_input_model_code,
    )

    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    package = shared_box.workspace / "oldtools" / "demo"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(generate_init_definition("demo", STDIO))
    function = generate_function_definition("shout-it", "Say it louder.", False)
    (package / "shout_it.py").write_text(f"{generate_input_model_code(schema)}\n\n{function}")
    await runner(tools).run("shout-it", {"text": "registered"})
    code = "from oldtools.demo import shout_it as s; print(s.run(s.Params(text='old')))"
    assert tools.cell(code) == "OLD"
