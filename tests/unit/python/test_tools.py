"""Calls of tools from code: values, content, errors, connections."""

from __future__ import annotations

import asyncio
import base64
import datetime
import decimal
import enum
import importlib.util
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import types
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ipybox_tools
import pytest
from box import WAIT
from ipybox_tools import (
    ApprovalRejectedError,
    ApprovalRequestor,
    ApprovalTimeoutError,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    OtherContent,
    ResourceLink,
    TextContent,
    ToolData,
    ToolOutput,
    ToolRunner,
    ToolRunnerError,
)
from ipybox_tools.simple import simplify
from tool_server import ToolServer

CLIENT = ToolRunner(server_name="x")
PNG = b"\x89PNG\r\n\x1a\n rest"
IMAGE = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolServer]:
    with ToolServer() as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


def call(tool: str, arguments: dict[str, Any]) -> Any:
    return CLIENT.run_sync(tool_name=tool, tool_args=arguments)


def answer(result: Any, *content: Any) -> Any:
    return call("answer", {"result": result} | ({"content": content} if content else {}))


# Values


def test_structured_results_are_dicts(server: ToolServer) -> None:
    assert call("echo", {"a": [1, {"b": None}]}) == {"a": [1, {"b": None}]}
    assert answer([1, 2]) == [1, 2]


def test_numbers_are_exact(server: ToolServer) -> None:
    value = {"big": 2**200 + 1, "float": 0.1 + 0.2, "tiny": 5e-324, "id": 9007199254740993}
    assert call("echo", value) == value


def test_texts_are_strings(server: ToolServer) -> None:
    text = answer("two\nlines")
    assert text == "two\nlines"
    assert isinstance(text, ToolOutput)
    assert text.content == (TextContent("two\nlines"),)
    assert pickle.loads(pickle.dumps(text)).content == text.content


def test_nothing_is_none(server: ToolServer) -> None:
    assert answer(None) is None


def test_blocks_that_are_no_text_are_kept(server: ToolServer) -> None:
    text = answer("see", {"type": "text", "text": "see"}, IMAGE)
    assert text == "see"
    assert text.content == (TextContent("see"), ImageContent(PNG, "image/png"))
    assert answer(None, IMAGE) == ""
    data = answer({"n": 1}, IMAGE)
    assert data == {"n": 1}
    assert isinstance(data, ToolData)
    assert data.content == (ImageContent(PNG, "image/png"),)


def test_every_kind_of_block(server: ToolServer) -> None:
    odd = {"type": "hologram", "size": 3}
    broken = {"type": "image", "data": "A", "mimeType": "a/b"}
    link = {"type": "resource_link", "uri": "file:///p", "name": "p", "mimeType": "a/b", "size": 12}
    blob = {"uri": "u:2", "blob": base64.b64encode(b"\0").decode()}
    output = answer(
        None,
        {"type": "audio", "data": "AAE=", "mimeType": "audio/wav"},
        link,
        {"type": "resource", "resource": {"uri": "u:1", "mimeType": "text/x", "text": "t"}},
        {"type": "resource", "resource": blob},
        odd,
        broken,
    )
    assert output.content == (
        AudioContent(b"\0\1", "audio/wav"),
        ResourceLink("file:///p", "p", None, None, "a/b", 12),
        EmbeddedResource("u:1", "text/x", "t"),
        EmbeddedResource("u:2", None, None, b"\0"),
        OtherContent(odd),
        OtherContent(broken),
    )


def test_ipython_shows_images(server: ToolServer) -> None:
    image = ImageContent(PNG, "image/png")
    assert image._repr_png_() == PNG
    assert image._repr_mimebundle_()["image/png"] == IMAGE["data"]
    bundle = answer("t", IMAGE)._repr_mimebundle_()
    assert bundle == {"image/png": IMAGE["data"], "text/plain": "'t'"}
    assert answer("t")._repr_mimebundle_() is None


# Arguments


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    where: pathlib.Path


ODD = {
    "when": datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC),
    "naive": datetime.datetime(2026, 1, 2),
    "day": datetime.date(2026, 1, 2),
    "long": datetime.timedelta(days=1, seconds=30, microseconds=500000),
    "id": uuid.UUID(int=5),
    "bytes": b"b",
    "colour": Colour.RED,
    "set": {3},
    "tuple": (1, 2),
    "point": Point(1, pathlib.Path("/a")),
    "money": decimal.Decimal("1.50"),
}
PLAIN = {
    "when": "2026-01-02T03:04:05.000006Z",
    "naive": "2026-01-02T00:00:00",
    "day": "2026-01-02",
    "long": "P1DT30.5S",
    "id": "00000000-0000-0000-0000-000000000005",
    "bytes": "b",
    "colour": "red",
    "set": [3],
    "tuple": [1, 2],
    "point": {"x": 1, "where": "/a"},
    "money": "1.50",
}


def test_arguments_of_other_types(server: ToolServer) -> None:
    assert call("echo", ODD) == PLAIN
    assert simplify(ODD) == PLAIN


def test_pydantic_core_is_used_when_it_is_there(
    server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("pydantic_core")
    module.to_jsonable_python = lambda value: value | {"tool_args": {"by": "it"}}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pydantic_core", module)
    assert call("echo", {"a": 1}) == {"by": "it"}


def test_the_stand_in_agrees_with_pydantic_core() -> None:
    if importlib.util.find_spec("pydantic_core"):  # in the full image alone
        from pydantic_core import to_jsonable_python

        assert to_jsonable_python(ODD) == PLAIN


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_json_cannot_say(server: ToolServer, value: object) -> None:
    with pytest.raises(ValueError):
        call("echo", {"a": value})
    assert server.requests == []


def test_text_of_any_kind(server: ToolServer) -> None:
    for text in ("line\nfeed\u2028", "\0", "é漢😀"):
        assert call("echo", {"a": text}) == {"a": text}


def test_half_a_surrogate_pair_is_refused_before_it_is_sent(server: ToolServer) -> None:
    with pytest.raises(ValueError, match=r"half of a surrogate pair .* '\\ud83d'"):
        call("echo", {"a": "half \ud83d"})
    assert server.requests == []


def test_long_arguments_and_results(server: ToolServer) -> None:
    text = "x" * (8 << 20)
    assert call("echo", {"a": text}) == {"a": text}
    with pytest.raises(ToolRunnerError, match="too long"):
        call("echo", {"a": "x" * (64 << 20)})


def test_parameters_of_the_server_are_sent_when_they_are_there(server: ToolServer) -> None:
    ToolRunner("y", {"command": "c"}, host="h", port=1).run_sync("t", {})
    call("t", {})
    assert [request for _, request in server.requests] == [
        {"server_name": "y", "tool_name": "t", "tool_args": {}, "server_params": {"command": "c"}},
        {"server_name": "x", "tool_name": "t", "tool_args": {}},
    ]


# Errors


def test_errors(server: ToolServer) -> None:
    for kind, expected in (
        ({}, ToolRunnerError),
        ({"type": "rejected"}, ApprovalRejectedError),
        ({"type": "timeout"}, ApprovalTimeoutError),
        ({"type": "new"}, ToolRunnerError),
    ):
        with pytest.raises(ToolRunnerError, match=r"^said so$") as caught:
            call("fails", {"why": "said so"} | kind)
        assert type(caught.value) is expected


def test_outside_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IPYBOX_TOOL_SOCKET", raising=False)
    with pytest.raises(ToolRunnerError, match=r"IPYBOX_TOOL_SOCKET is not set\. Run this code in"):
        call("echo", {})
    monkeypatch.setenv("IPYBOX_TOOL_SOCKET", "/nowhere")
    monkeypatch.setenv("IPYBOX_TOOL_TOKEN", "t")
    with pytest.raises(ToolRunnerError, match="does not answer at /nowhere"):
        call("echo", {})
    with pytest.raises(ToolRunnerError, match="does not answer at /nowhere"):
        asyncio.run(CLIENT.run("echo", {}))


def test_wrong_token(server: ToolServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYBOX_TOOL_TOKEN", "wrong")
    with pytest.raises(ToolRunnerError, match="wrong token"):
        call("echo", {})
    with pytest.raises(ToolRunnerError, match="wrong token"):
        asyncio.run(CLIENT.run("echo", {}))


def test_approval(server: ToolServer) -> None:
    ApprovalRequestor("ipybox", "h", 1).request_sync("shell", {"cmd": "ls"})
    asyncio.run(ApprovalRequestor("ipybox").request("shell", {"cmd": "ls"}))
    request = {"server_name": "ipybox", "tool_name": "shell", "tool_args": {"cmd": "ls"}}
    assert server.requests == [("approve", request)] * 2
    server.answer = lambda *_: {"approved": False, "error": "no", "type": "rejected"}
    with pytest.raises(ApprovalRejectedError, match="no"):
        ApprovalRequestor("ipybox").request_sync("shell", {"cmd": "ls"})
    server.answer = lambda *_: {}
    with pytest.raises(ToolRunnerError, match="not given"):
        ApprovalRequestor("ipybox").request_sync("shell", {"cmd": "ls"})


def test_reset(server: ToolServer) -> None:
    asyncio.run(CLIENT.reset())
    ipybox_tools.reset_sync()
    assert server.requests == [("reset", {})] * 2


# Connections that block


def test_a_connection_is_kept(server: ToolServer) -> None:
    for _ in range(20):
        call("echo", {})
    assert server.connections == 1


def test_a_closed_connection_is_replaced(server: ToolServer) -> None:
    call("echo", {})
    server.drop()
    server.wait_for(lambda: server.closed == 1)
    assert call("echo", {"a": 1}) == {"a": 1}
    assert server.connections == 2


def test_a_connection_that_is_lost_in_a_call(server: ToolServer) -> None:
    def lose(method: str, params: dict[str, Any]) -> None:
        server.drop()

    server.answer = lose
    with pytest.raises(ToolRunnerError, match="may or may not be done"):
        call("echo", {})
    assert len(server.requests) == 1


def test_threads_do_not_wait_for_each_other(server: ToolServer) -> None:
    barrier = threading.Barrier(20)

    def together(method: str, params: dict[str, Any]) -> dict[str, Any]:
        barrier.wait(WAIT)
        return {"result": params["tool_args"]}

    server.answer = together
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda i=i: results.append(call("echo", {"i": i})["i"]))
        for i in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(20))


def test_interrupt(server: ToolServer) -> None:
    def interrupt() -> None:
        server.wait_for(lambda: len(server.requests) == 1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call("never", {})
    thread.join()
    server.wait_for(lambda: server.closed == 1)
    assert call("echo", {"a": 1}) == {"a": 1}


def test_fork(server: ToolServer) -> None:
    call("echo", {})
    child = os.fork()
    if not child:
        os._exit(0 if call("echo", {"a": 1}) == {"a": 1} else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert call("echo", {"a": 2}) == {"a": 2}
    assert server.connections == 2


# Connections of event loops


def test_many_at_a_time_on_one_connection(server: ToolServer) -> None:
    async def main() -> list[Any]:
        return await asyncio.gather(*(CLIENT.run("echo", {"i": i}) for i in range(2000)))

    assert [result["i"] for result in asyncio.run(main())] == list(range(2000))
    assert server.connections == 1
    asyncio.run(main())
    assert server.connections == 2
    server.wait_for(lambda: server.closed == 1)


def test_cancelled_task(server: ToolServer) -> None:
    async def main() -> None:
        task = asyncio.create_task(CLIENT.run("never", {}))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await CLIENT.run("echo", {"a": 1}) == {"a": 1}

    asyncio.run(main())
    assert server.cancelled == [1]
    assert server.connections == 1


def test_lost_and_replaced_in_a_loop(server: ToolServer) -> None:
    async def main() -> None:
        task = asyncio.create_task(CLIENT.run("never", {}))
        while not server.requests:
            await asyncio.sleep(0.01)
        server.drop()
        with pytest.raises(ToolRunnerError, match="lost"):
            await task
        assert await CLIENT.run("echo", {"a": 1}) == {"a": 1}

    asyncio.run(main())


def test_long_values_in_a_loop(server: ToolServer) -> None:
    text = "x" * (8 << 20)
    assert asyncio.run(CLIENT.run("echo", {"a": text})) == {"a": text}


def test_fork_with_an_event_loop(server: ToolServer) -> None:
    async def main() -> int:
        await CLIENT.run("echo", {})
        child = os.fork()
        if not child:
            os._exit(0 if call("echo", {"a": 1}) == {"a": 1} else 1)
        status = os.waitpid(child, 0)[1]
        assert await CLIENT.run("echo", {"a": 2}) == {"a": 2}
        return status

    assert asyncio.run(main()) == 0


# Imports


def test_import_starts_nothing() -> None:
    code = (
        "import sys, threading, ipybox_tools; assert threading.active_count() == 1;"
        "assert not {'asyncio', 'pydantic_core'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_that_generated_packages_import() -> None:
    code = (
        "from mcpygen.tool_exec.client import ToolRunner, ToolRunnerError, ApprovalRejectedError,"
        " ApprovalTimeoutError, reset\n"
        "from mcpygen import ApprovalRequestor\n"
        "from ipybox.tool_exec.client import ToolRunner as Older\n"
        "from ipybox.mcp.run import run_sync\n"
        "import ipybox_tools\n"
        "assert ToolRunner is Older is ipybox_tools.ToolRunner"
    )
    kernel = {**os.environ, "IPYBOX_TOOL_SOCKET": "/x"}  # elsewhere it is the SDK's
    subprocess.run([sys.executable, "-c", code], check=True, env=kernel)


def test_package_of_the_oldest_kind(server: ToolServer, tmp_path: pathlib.Path) -> None:
    package = tmp_path / "fetch"
    package.mkdir()
    (package / "__init__.py").write_text("SERVER_PARAMS = {'command': 'c'}\n")
    (package / "get.py").write_text(
        "from ipybox.mcp.run import run_sync\nfrom . import SERVER_PARAMS\n"
        "def get():\n    return run_sync('get', {'a': 1}, SERVER_PARAMS)\n"
    )
    code = "import sys; sys.path.insert(0, '.'); from fetch.get import get; print(get())"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=-1, check=True)
    assert run.stdout == b"{'a': 1}\n"
    assert server.requests[0][1]["server_name"] == "fetch"


def test_an_installed_package_comes_first(tmp_path: pathlib.Path) -> None:
    """As in a user's site-packages, which are before ours on the path."""
    package = tmp_path / "mcpygen"
    package.mkdir()
    (package / "__init__.py").write_text("real = True\n")
    ours = os.path.dirname(os.path.dirname(ipybox_tools.__file__))
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {ours!r}]; import mcpygen; mcpygen.real"
    subprocess.run([sys.executable, "-c", code], check=True)
