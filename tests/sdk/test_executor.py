# SPDX-License-Identifier: Apache-2.0
"""CodeExecutor on both backends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, PLACE, SERVER, containers_of, left_in, until

import ipybox
import ipybox.sync
from ipybox import (
    ApprovalRequest,
    CodeExecutionChunk,
    CodeExecutionError,
    CodeExecutionResult,
    CodeExecutor,
    generate_mcp_sources,
)
from ipybox.errors import HttpError

SEARCH = """
from mcptools.brave_search.brave_image_search import Params, Result, run
result: Result = run(Params(query="neural topic models", count=3))
print(f"num results = {len(result.items)}")
"""
ENDLESS = "import time\nx = 1\nopen('running', 'w').close()\ntime.sleep(300)"
PLOT = "from IPython.display import Image, display\ndisplay(Image(data={data!r}, format='png'))"
UPDATES = """
from IPython.display import Image, clear_output, display
display(Image(data={data!r} + b"0", format="png"))
clear_output()
handle = display(Image(data={data!r} + b"1", format="png"), display_id=True)
handle.update(Image(data={data!r} + b"2", format="png"))
"""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000000000500"
    "01a5f645400000000049454e44ae426082"
)


async def the_cell_runs() -> None:
    """ENDLESS has come to its last line."""
    await asyncio.to_thread(until, Path("running").exists)


@pytest.mark.gate
def test_output_state_and_errors(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            assert await executor.execute("print('hello world')") == CodeExecutionResult(
                "hello world", []
            )
            assert (await executor.execute("x = 42")).text is None
            assert (await executor.execute("x")).text == "42"
            with pytest.raises(CodeExecutionError) as error:
                await executor.execute("1/0")
            assert str(error.value).startswith("ZeroDivisionError: division by zero\n")
            assert "Cell In" in str(error.value)
            await executor.reset()
            with pytest.raises(CodeExecutionError, match="NameError"):
                await executor.execute("x")

    asyncio.run(main())


@pytest.mark.gate
def test_chunks(backend: str) -> None:
    """The cell goes on when its first chunk has come."""
    code = """
import os, time
print('chunk 1')
while not os.path.exists('seen'): time.sleep(0.05)
print('chunk 2')
'last'
"""

    async def main() -> list[Any]:
        items = []
        async with CodeExecutor() as executor:
            async for item in executor.stream(code, chunks=True):
                Path("seen").touch()
                items.append(item)
        return items

    *chunks, result = asyncio.run(main())
    assert "".join(chunk.text for chunk in chunks) == "chunk 1\nchunk 2\n'last'"
    assert all(isinstance(chunk, CodeExecutionChunk) for chunk in chunks) and len(chunks) >= 3
    assert result.text == "chunk 1\nchunk 2\n'last'"


@pytest.mark.gate
def test_working_directory_and_environment(backend: str, folder: Path) -> None:
    async def main() -> None:
        os.environ["NOT_FOR_KERNELS"] = "1"
        async with CodeExecutor(kernel_env={"TEST_VAR": "test_val"}) as executor:
            code = "import os; print(os.getcwd(), os.environ['TEST_VAR'], 'NOT_FOR_KERNELS' in os.environ)"
            assert (await executor.execute(code)).text == f"{folder} test_val False"

    asyncio.run(main())


@pytest.mark.gate
def test_a_given_working_directory_is_gone_back_to(backend: str, folder: Path) -> None:
    async def main() -> None:
        async with CodeExecutor(working_dir=folder) as executor:
            left = await executor.execute("import os\nos.chdir('/')")
            assert left.text == f"[ipybox] cwd reset to {folder}"
            await executor.reset()
            code = (
                "import os; os.chdir('/'); print(os.getcwd(), 'IPYBOX_RESTORE_CWD' in os.environ)"
            )
            assert (await executor.execute(code)).text == f"/ False\n{left.text}"
            assert (await executor.execute("print(os.getcwd())")).text == str(folder)
        async with CodeExecutor() as executor:
            await executor.execute("import os\nos.chdir('/')")
            assert (await executor.execute("print(os.getcwd())")).text == "/"

    asyncio.run(main())


@pytest.mark.gate
def test_approvals(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        names = await generate_mcp_sources("brave_search", search, Path("mcptools"))
        assert sorted(names) == ["brave_image_search", "key", "pid"]
        async with CodeExecutor() as executor:
            items = []
            async for item in executor.stream(SEARCH):
                items.append(item)
                if isinstance(item, ApprovalRequest):
                    assert (item.server_name, item.tool_name) == (
                        "brave_search",
                        "brave_image_search",
                    )
                    assert item.tool_args == {"query": "neural topic models", "count": 3}
                    text = "brave_search.brave_image_search(query='neural topic models', count=3)"
                    assert f"{item}" == text
                    await item.accept()
                    assert await item.response()
            assert items[1:] == [CodeExecutionResult("num results = 3")]
            with pytest.raises(CodeExecutionError, match="brave_image_search rejected"):
                async for item in executor.stream(SEARCH):
                    if isinstance(item, ApprovalRequest):
                        await item.reject()
            assert (await executor.execute(SEARCH)).text == "num results = 3"

    asyncio.run(main())


@pytest.mark.gate
def test_what_somebody_else_decided_is_told(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        await generate_mcp_sources("brave_search", search, Path("mcptools"))
        async with CodeExecutor() as executor:
            requests = []
            async for item in executor.stream(SEARCH):
                if isinstance(item, ApprovalRequest):
                    requests.append(item)
                    [waiting] = await executor.client.approvals()
                    await executor.client.decide(waiting["id"], True)
            assert await requests[0].response() is True
            assert requests[0].outcome == "accepted"
            await requests[0].reject()  # too late: without effect
            with pytest.raises(CodeExecutionError, match="rejected"):
                async for item in executor.stream(SEARCH):
                    if isinstance(item, ApprovalRequest):
                        requests.append(item)
                        await item.reject()
            assert requests[1].outcome == "rejected" and not await requests[1].response()

    asyncio.run(main())


@pytest.mark.gate
def test_an_approval_that_nobody_gives_expires(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        await generate_mcp_sources("brave_search", search, Path("mcptools"))
        async with CodeExecutor(approval_timeout=0.5) as executor:
            begun = time.monotonic()
            with pytest.raises(CodeExecutionError, match="expired"):
                async for _ in executor.stream(SEARCH):
                    pass
            assert time.monotonic() - begun > 0.4

    asyncio.run(main())


@pytest.mark.gate
def test_an_approval_has_a_minute_by_default(backend: str, search: dict[str, Any]) -> None:
    """What the appliance says is left, so that nobody waits for it."""

    async def main() -> None:
        await generate_mcp_sources("brave_search", search, Path("mcptools"))
        async with CodeExecutor() as executor:
            async for item in executor.stream(SEARCH):
                if isinstance(item, ApprovalRequest):
                    [asked] = await executor.client.approvals()
                    assert 0 < asked["expires_in_ms"] <= 60_000
                    await item.accept()
            assert item == CodeExecutionResult("num results = 3")

    asyncio.run(main())


@pytest.mark.gate
def test_without_approvals_calls_are_made(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        await generate_mcp_sources("brave_search", search, Path("mcptools"))
        async with CodeExecutor(approve_tool_calls=False) as executor:
            items = [item async for item in executor.stream(SEARCH)]
            assert items == [CodeExecutionResult("num results = 3")]

    asyncio.run(main())


@pytest.mark.gate
def test_an_executor_that_runs_learns_of_new_packages(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            await generate_mcp_sources("brave_search", search, Path("mcptools"))
            assert (await executor.execute(SEARCH)).text == "num results = 3"

    asyncio.run(main())


@pytest.mark.gate
def test_packages_of_an_earlier_process(backend: str, search: dict[str, Any]) -> None:
    code = f"""
import asyncio, pathlib, ipybox
asyncio.run(ipybox.generate_mcp_sources("brave_search", {search!r}, pathlib.Path("mcptools")))
"""
    subprocess.run([sys.executable, "-c", code], check=True)

    async def main() -> None:
        async with CodeExecutor() as executor:
            before = Path("mcptools/brave_search/pid.py").stat().st_mtime_ns
            assert (await executor.execute(SEARCH)).text == "num results = 3"
            assert Path("mcptools/brave_search/pid.py").stat().st_mtime_ns == before

    asyncio.run(main())


@pytest.mark.gate
@pytest.mark.parametrize("version", ["0.7.1", "0.9.2"])
def test_packages_of_earlier_versions(version: str, backend: str, search: dict[str, Any]) -> None:
    """tests/golden/adopt has what PyPI's versions generate; the server here has such tools, too."""
    texts = json.loads((PLACE / "adopt" / f"{version}.json").read_text())
    package = Path("mcptools/brave_search")
    package.mkdir(parents=True)
    init = texts["mcptools/demo/__init__.py"].replace("demo", "brave_search")
    params = (
        "{'command': 'python3', 'args': ['/tools/tool_server.py'], 'env': {'GIVEN': '${SECRET}'}}"
    )
    assert params in init
    (package / "__init__.py").write_text(init.replace(params, repr(search)))
    module = texts["mcptools/demo/echo.py"].replace('"echo"', '"key"')
    (package / "key.py").write_text(module)
    code = "from mcptools.brave_search.key import Params, run\nprint(run(Params(text='')))"

    async def main() -> None:
        assert ipybox.adopt_mcp_sources(Path("mcptools")) == ["brave_search"]
        async with CodeExecutor() as executor:
            requests = []
            async for item in executor.stream(code):
                if isinstance(item, ApprovalRequest):
                    requests.append(item)
                    await item.accept()
            assert [str(request) for request in requests] == ["brave_search.key(text='')"]
            expected = os.environ["HOME"] if backend == "native" else "None"
            assert isinstance(item, CodeExecutionResult) and item.text == expected

    asyncio.run(main())


@pytest.mark.gate
def test_packages_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What PYTHONPATH of the kernel leads to can be called, too. Natively: a container has the
    working directory alone."""
    monkeypatch.setenv("IPYBOX_BACKEND", "native")
    search = {"command": sys.executable, "args": [str(SERVER)]}
    elsewhere = folder / "elsewhere"
    (folder / "work").mkdir()
    os.chdir(folder / "work")

    async def main() -> None:
        await generate_mcp_sources("brave_search", search, elsewhere / "mcptools")
        for environment, works in (({"PYTHONPATH": str(elsewhere)}, True), ({}, False)):
            async with CodeExecutor(kernel_env=environment) as executor:
                if works:
                    assert (await executor.execute(SEARCH)).text == "num results = 3"
                    continue
                with pytest.raises(CodeExecutionError, match="ModuleNotFoundError"):
                    await executor.execute(SEARCH)

    asyncio.run(main())


@pytest.mark.gate
def test_reset_stops_servers(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        await generate_mcp_sources("brave_search", search, Path("mcptools"))
        code = "from mcptools.brave_search.pid import Params, run\nprint(run(Params()))"
        async with CodeExecutor() as executor:
            first = (await executor.execute(code)).text
            assert (await executor.execute(code)).text == first
            await executor.reset()
            assert (await executor.execute(code)).text != first

    asyncio.run(main())


@pytest.mark.gate
def test_forks_begin_with_what_is_in_memory(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            await executor.execute("data = [1, 2]")
            first, second = await executor.fork(2)
            async with first, second:
                await first.execute("data.append(3)")
                await executor.execute("data.clear()")
                assert (await first.execute("len(data)")).text == "3"
                assert (await second.execute("len(data)")).text == "2"
                assert len(await executor.client.sessions()) == 3
            assert len(await executor.client.sessions()) == 1
            await executor.execute("import socket\ns = socket.socket()")
            with pytest.raises(HttpError, match="a socket"):
                await executor.fork()
            (forced,) = await executor.fork(force=True)
            assert (await forced.execute("len(data)")).text == "0"
            await forced.stop()

    asyncio.run(main())
    with ipybox.sync.CodeExecutor() as executor:
        executor.execute("import random; random.seed(1); x = 5")
        (branch,) = executor.fork(keep_random=True)
        with branch:
            assert branch.execute("x").text == "5"
            assert branch.execute("random.random()").text == "0.13436424411240122"


@pytest.mark.gate
def test_timeout_interrupts(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            await executor.execute("x = 1")
            with pytest.raises(TimeoutError):
                await executor.execute("import time\nwhile True: time.sleep(0.1)", timeout=0.5)
            assert (await executor.execute("x", timeout=PATIENCE)).text == "1"

    asyncio.run(main())


@pytest.mark.gate
def test_timeout_counts_the_wait_for_an_approval(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        await generate_mcp_sources("brave_search", search, Path("mcptools"))
        async with CodeExecutor() as executor:
            with pytest.raises(TimeoutError):
                async for _ in executor.stream(SEARCH, timeout=1):
                    pass
            assert (await executor.execute("1")).text == "1"

    asyncio.run(main())


@pytest.mark.gate
def test_cancel_ends_without_an_error(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            task = asyncio.create_task(executor.execute(ENDLESS))
            await the_cell_runs()
            executor.cancel()
            assert await task == CodeExecutionResult(None, [])
            assert (await executor.execute("x")).text == "1"

    asyncio.run(main())


@pytest.mark.gate
def test_cancel_before_the_cell_has_begun(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            stream = executor.stream("import time; time.sleep(300)")
            first = asyncio.ensure_future(anext(stream, None))
            await asyncio.sleep(0)
            executor.cancel()
            assert await asyncio.wait_for(first, PATIENCE) is None

    asyncio.run(main())


@pytest.mark.gate
def test_a_cancelled_task_interrupts(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            task = asyncio.create_task(executor.execute(ENDLESS))
            await the_cell_runs()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await executor.execute("x", timeout=PATIENCE)).text == "1"

    asyncio.run(main())


@pytest.mark.gate
def test_images(backend: str, folder: Path) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            [image] = (await executor.execute(PLOT.format(data=PNG))).images
            assert image.parent == Path("images") and image.read_bytes() == PNG
        elsewhere = Path(f"{folder}-elsewhere")
        async with CodeExecutor(images_dir=elsewhere) as executor:
            [image] = (await executor.execute(PLOT.format(data=PNG))).images
            assert image.parent == elsewhere and image.read_bytes() == PNG
            with pytest.raises(CodeExecutionError):
                await executor.execute(
                    PLOT.format(data=PNG) + "; import os; os.listdir('images')[1]"
                )
            assert len(list(Path("images").iterdir())) == 1, "code saw no second one either"
            [last] = (await executor.execute(UPDATES.format(data=PNG))).images
            assert last.read_bytes() == PNG + b"2"
            assert len(list(elsewhere.iterdir())) == 3, "what was replaced is gone"
            large = (
                PLOT.format(data=PNG)
                + f" if False else display(Image(data={PNG!r} + bytes(9 << 20), format='png'))"
            )
            [image] = (await executor.execute(large)).images
            assert image.parent == elsewhere and image.stat().st_size > 9 << 20
            assert len(list(Path("images").iterdir())) == 1, "what no event holds was moved"

    asyncio.run(main())


@pytest.mark.gate
def test_not_a_byte_of_long_output_is_lost(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            text = (await executor.execute("for i in range(150_000): print(f'{i:0100}')")).text
            assert text == "\n".join(f"{i:0100}" for i in range(150_000))
            half = (await executor.execute("print('y' * 200_000)")).text
            assert half == "y" * 200_000

    asyncio.run(main())


@pytest.mark.gate
def test_sandbox(backend: str) -> None:
    async def main() -> None:
        Path(".env").write_text("SECRET=1")
        code = """
import requests
try:
    requests.get('https://example.org')
except Exception as e:
    print(e)
try:
    open('.env').read()
except OSError as e:
    print(e)
open('file', 'w').write('x')
"""
        async with CodeExecutor(sandbox=True) as executor:
            text = (await executor.execute(code)).text or ""
            assert "Failed to resolve 'example.org'" in text and "Operation not permitted" in text
            assert (await executor.client.livez())["sandbox"]["level"] == "full"
        assert Path("file").read_text() == "x"

    asyncio.run(main())


def test_install_package(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            assert "Successfully installed" in await executor.install_package("cowsay==6.1")
            where = (await executor.execute("import cowsay; print(cowsay.__file__)")).text or ""
            if backend == "native":
                assert where.startswith(f"{Path.cwd()}/.ipybox/python/"), where
            with pytest.raises(CodeExecutionError, match="No matching distribution"):
                await executor.install_package("there-is-no-such-package-ipybox")

    asyncio.run(main())


@pytest.mark.gate
def test_two_executors_at_once(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as one, CodeExecutor() as two:
            await asyncio.gather(one.execute("x = 1"), two.execute("x = 2"))
            assert (await one.execute("x")).text == "1" and (await two.execute("x")).text == "2"

    asyncio.run(main())


@pytest.mark.gate
def test_attached_to_an_appliance(backend: str, search: dict[str, Any]) -> None:
    async def main() -> None:
        await generate_mcp_sources("brave_search", search, Path("mcptools"))
        async with CodeExecutor() as server:
            await server.execute("x = 'theirs'")
            assert server.url
            async with CodeExecutor(url=server.url, token=server._token) as executor:
                with pytest.raises(CodeExecutionError, match="NameError"):
                    await executor.execute("x")
                requests = []
                async for item in executor.stream(SEARCH):
                    if isinstance(item, ApprovalRequest):
                        requests.append(item)
                        await item.accept()
                assert len(requests) == 1
            assert [each["id"] for each in await server.client.sessions()] == ["default"]

    asyncio.run(main())


@pytest.mark.gate
def test_a_sandbox_for_one_session_alone(backend: str) -> None:
    """Of an appliance that was started without --sandbox."""
    code = """
try:
    print(open('.env').read())
except OSError as e:
    print(e.strerror)
import socket
try:
    socket.create_connection(('192.0.2.1', 9), 0.2)
except OSError as e:
    print(type(e).__name__)
"""

    async def main() -> None:
        Path(".env").write_text("SECRET=1")
        settings = Path("settings.json").absolute()
        settings.write_text(
            '{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem":'
            ' {"denyRead": [], "allowWrite": [], "denyWrite": []}}'
        )
        async with CodeExecutor() as server:
            where: dict[str, Any] = {"url": server.url, "token": server._token}
            async with (
                CodeExecutor(sandbox=True, **where) as held,
                CodeExecutor(**where) as free,
                CodeExecutor(sandbox=True, sandbox_config=settings, **where) as own,
            ):
                text = (await held.execute(code)).text or ""
                assert text.startswith("Operation not permitted\n") and "Timeout" not in text
                assert "SECRET=1" in ((await free.execute(code)).text or "")
                assert "SECRET=1" in ((await own.execute(code)).text or "")
                with pytest.raises(CodeExecutionError, match=r"not permitted|Permission denied"):
                    await own.execute("open('file', 'w')")
                await held.execute("open('file', 'w').write('x')")
                await held.reset()
                assert "Operation not permitted" in ((await held.execute(code)).text or "")
                level = (await server.client.livez())["sandbox"]
                assert level["level"] == "full" and level["kernels"] is False

    asyncio.run(main())


@pytest.mark.gate
@pytest.mark.parametrize("word", ["FIRST_WORD", 'b""'])
def test_a_killed_parent_leaves_nothing(word: str, backend: str, folder: Path) -> None:
    """Also one that dies before the appliance has heard a word from it."""
    code = (
        f"import ipybox.backend as b; from ipybox.backend import FIRST_WORD; b.FIRST_WORD = {word}"
    )
    code += """
import asyncio, ipybox
async def main():
    async with ipybox.CodeExecutor() as executor:
        await executor.execute("1")
        print("ready", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert parent.stdout and parent.stdout.readline() == b"ready\n"
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until(lambda: not left_in(folder), lambda: left_in(folder))
    until(lambda: not containers_of(parent.pid), lambda: containers_of(parent.pid))


@pytest.mark.gate
def test_without_asyncio(backend: str, search: dict[str, Any]) -> None:
    ipybox.sync.generate_mcp_sources("brave_search", search, Path("mcptools"))
    with ipybox.sync.CodeExecutor() as executor:
        assert executor.execute("print('hello world')").text == "hello world"
        for item in executor.stream(SEARCH):
            if isinstance(item, ipybox.sync.ApprovalRequest):
                item.accept()
            else:
                assert isinstance(item, CodeExecutionResult) and item.text == "num results = 3"


@pytest.mark.gate
def test_files_of_the_workspace(backend: str) -> None:
    async def main() -> None:
        async with CodeExecutor() as executor:
            client = executor.client
            await client.write_file("in/a b.txt", b"\0\xff" * 100_000)
            assert await client.read_file("in/a b.txt") == b"\0\xff" * 100_000
            await client.move_file("in/a b.txt", "in/c")
            assert [entry["name"] for entry in await client.list_files("in")] == ["c"]
            archive = await client.read_archive("in")
            await client.write_archive(archive, "out")
            assert Path("out/c").stat().st_size == 200_000
            await client.delete_file("in", recursive=True)
            assert not Path("in").exists()

    asyncio.run(main())


@pytest.mark.measure
def test_speed(backend: str) -> None:
    """A cell through the SDK costs at most a millisecond more than over the HTTP API; natively an
    executor starts and answers within the 0.6 seconds of the goal: the quickest of ten starts, as
    other tests run beside this one."""

    async def main() -> None:
        starts, ours, bare = [], [], []
        for _ in range(10):
            begun = time.perf_counter()
            async with CodeExecutor() as executor:
                await executor.execute("1")
                starts.append(time.perf_counter() - begun)
                for _ in range(30):
                    begun = time.perf_counter()
                    await executor.execute("print(1)")
                    middle = time.perf_counter()
                    await executor.client.execute("print(1)")
                    bare.append(time.perf_counter() - middle)
                    ours.append(middle - begun)
        more = sorted(ours)[150] - sorted(bare)[150]
        print(f"{backend}: first answer {min(starts):.3f} s, a cell +{more * 1000:.2f} ms")
        assert more < 0.001
        assert min(starts) < (0.6 if backend == "native" else 3)

    asyncio.run(main())
