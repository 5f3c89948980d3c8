# SPDX-License-Identifier: Apache-2.0
"""The MCP Python SDK 1.30: its ClientSession drives the container by handshake.

Beside the protocol these are the behaviours that the Python ipybox documented for its MCP server.
"""

from __future__ import annotations

import base64
import re
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from box import GUARD, INSIDE, OWNER, PNG, TOOLS, Box, make_wheel, old_config, raises, statuses
from cells import ENDLESS, FOREVER, INTERRUPTED, SEEN, UNSEEN, Held
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.anyio

DOTENV = """\
# read by the server at its start
API_KEY_1=for-servers-only
KERNEL_ENV_SECRET_1='from the file'
KERNEL_ENV_SECRET_2=overridden
"""


@asynccontextmanager
async def connected(
    box: Box, *options: str, status: Path | None = None
) -> AsyncIterator[ClientSession]:
    """With `status`, the container is started by ./unsignalled."""
    command, *args = box.command(*options) if status is None else box.unsignalled(status)
    parameters = StdioServerParameters(command=command, args=args)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@pytest.fixture(scope="module")
async def session(shared_box: Box) -> AsyncIterator[ClientSession]:
    (shared_box.workspace / ".env").write_text(DOTENV)
    make_wheel(shared_box.workspace / "wheels", "peerprobe", "1.0")
    make_wheel(shared_box.workspace / "wheels", "peerprobe", "1.1")
    make_wheel(shared_box.workspace / "wheels", "peerprobe", "2.0")
    offline = ["-e", "PIP_NO_INDEX=1", "-e", f"PIP_FIND_LINKS={INSIDE}/wheels"]
    async with connected(shared_box, *offline, "-e", "KERNEL_ENV_SECRET_2=given") as session:
        yield session


def texts(result: types.CallToolResult) -> list[str]:
    for block in result.content:
        assert isinstance(block, types.TextContent)
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


async def cell(session: ClientSession, code: str, **more: Any) -> str:
    """The one text of a cell that must succeed."""
    result = await session.call_tool("execute_ipython_cell", {"code": code, **more})
    assert not result.isError, result
    (text,) = texts(result)
    return text


async def failure(session: ClientSession, code: str, **more: Any) -> list[str]:
    result = await session.call_tool("execute_ipython_cell", {"code": code, **more})
    assert result.isError, result
    return texts(result)


async def give_up(session: ClientSession, code: str) -> int:
    """A call that is waited for until its cell has printed, and no longer; its id."""
    request_id: int = session._request_id  # of the next request; this SDK tells it in no other way
    arguments = {"code": code, "timeout": FOREVER}
    with anyio.fail_after(GUARD), anyio.CancelScope() as scope:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            scope.cancel()

        await session.call_tool("execute_ipython_cell", arguments, progress_callback=on_progress)
    assert scope.cancelled_caught
    return request_id


# --- the protocol ---


@pytest.mark.gate
async def test_initialize_names_server_and_newest_handshake_version(box: Box) -> None:
    parameters = StdioServerParameters(command="docker", args=box.args())
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        answer = await session.initialize()
    assert answer.protocolVersion == "2025-11-25"
    assert answer.serverInfo.name == "ipybox"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", answer.serverInfo.version)
    assert answer.capabilities.tools is not None
    assert answer.instructions


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
@pytest.mark.gate
async def test_every_handshake_version_is_served(
    box: Box, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(types, "LATEST_PROTOCOL_VERSION", version)
    parameters = StdioServerParameters(command="docker", args=box.args())
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        assert (await session.initialize()).protocolVersion == version
        assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS
        assert await cell(session, "6 * 7") == "42"


async def test_tools_have_the_names_arguments_and_defaults_of_old(session: ClientSession) -> None:
    tools = (await session.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    execute, install, register, reset = tools
    assert register.inputSchema["required"] == ["server_name", "server_params"]
    properties = register.inputSchema["properties"]
    assert (properties["server_name"]["type"], properties["server_params"]["type"]) == (
        "string",
        "object",
    )
    properties = execute.inputSchema["properties"]
    assert execute.inputSchema["required"] == ["code"]
    assert properties["code"]["type"] == "string"
    assert (properties["timeout"]["type"], properties["timeout"]["default"]) == ("number", 120)
    chars = properties["max_output_chars"]
    assert (chars["type"], chars["default"]) == ("integer", 5000)
    assert list(install.inputSchema["properties"]) == ["package_name"]
    assert install.inputSchema["required"] == ["package_name"]
    assert install.inputSchema["properties"]["package_name"]["type"] == "string"
    assert reset.inputSchema["properties"] == {}
    for tool in tools:
        assert tool.inputSchema["type"] == "object"
        assert tool.description
        assert tool.annotations is not None


async def test_ping_is_answered(session: ClientSession) -> None:
    await session.send_ping()


@pytest.mark.gate
async def test_an_unknown_tool_is_a_protocol_error(session: ClientSession) -> None:
    with raises(McpError, "Unknown tool: nonsense"):
        await session.call_tool("nonsense", {})


@pytest.mark.parametrize(
    "arguments",
    [{}, {"code": 1}, {"code": "1", "timeout": "soon"}, {"code": "1", "max_output_chars": -1}],
)
@pytest.mark.gate
async def test_wrong_arguments_are_told_to_the_model(
    session: ClientSession, arguments: dict[str, Any]
) -> None:
    result = await session.call_tool("execute_ipython_cell", arguments)
    assert result.isError
    name = list(arguments)[-1] if arguments else "code"
    (text,) = texts(result)
    assert text.startswith("Error executing tool execute_ipython_cell: ")
    assert name in text


# --- cells ---


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("print('hello world')", "hello world"),
        ("2 + 2", "4"),
        ("print('a')\n'b'", "a\n'b'"),
        ("print('  both ends  ')", "  both ends  "),
        ("x = 1", ""),
        ("print('\\u00e4\\U0001f40d')", "ä🐍"),
        ("import asyncio\nawait asyncio.sleep(0.01)\nprint('awaited')", "awaited"),
        ("!echo from the shell", "from the shell"),
        ("%pwd", f"'{INSIDE}'"),
        ("import sys; print('to stderr', file=sys.stderr)", "to stderr"),
        ("import os; _ = os.write(1, b'written to the descriptor')", "written to the descriptor"),
        ("import os; print(os.getcwd())", INSIDE),
    ],
)
async def test_a_cell_returns_what_it_printed_and_its_value(
    session: ClientSession, code: str, text: str
) -> None:
    assert await cell(session, code) == text


@pytest.mark.gate
async def test_state_persists_across_executions(session: ClientSession) -> None:
    assert await cell(session, "kept = [1]\ndef double(n): return 2 * n\nimport math") == ""
    assert await cell(session, "kept.append(double(int(math.sqrt(16)))); kept") == "[1, 8]"


@pytest.mark.gate
async def test_an_error_has_the_shape_of_old(session: ClientSession) -> None:
    first, *rest = await failure(session, "1/0")
    lines = first.split("\n")
    prefix = "Error executing tool execute_ipython_cell: "
    assert lines[0] == prefix + "ZeroDivisionError: division by zero"
    assert "Traceback (most recent call last)" in first
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "\x1b" not in first
    assert rest == []


async def test_output_before_an_error_is_not_lost(session: ClientSession) -> None:
    first, second = await failure(session, "print('so far')\nraise ValueError('test error')")
    assert "ValueError: test error" in first
    assert second == "Output before the error:\nso far"


@pytest.mark.gate
async def test_input_is_refused(session: ClientSession) -> None:
    first, *_ = await failure(session, "input('name? ')")
    assert "StdinNotImplementedError" in first


async def test_a_timeout_interrupts_and_keeps_the_state(session: ClientSession) -> None:
    await cell(session, "before = 'still here'")
    start = time.monotonic()
    first, *_ = await failure(session, f"import time; time.sleep({FOREVER})", timeout=1)
    assert first.startswith("Error executing tool execute_ipython_cell: TimeoutError: ")
    assert time.monotonic() - start > 0.9
    assert await cell(session, "before") == "'still here'"


async def test_a_lost_kernel_is_named_and_replaced(session: ClientSession) -> None:
    first, *_ = await failure(session, "import os; os._exit(3)")
    assert "KernelDied" in first
    result = await session.call_tool("execute_ipython_cell", {"code": "print('again')"})
    assert texts(result)[0] == "again"
    assert any(text.startswith("[ipybox] ") for text in texts(result)[1:])
    assert await cell(session, "1") == "1"


async def test_calls_at_the_same_time_run_one_after_the_other(session: ClientSession) -> None:
    await cell(session, "order = []")
    answers: dict[int, str] = {}

    async def run(n: int) -> None:
        code = f"import time; time.sleep(0.02); order.append({n}); print({n})"
        answers[n] = await cell(session, code)

    async with anyio.create_task_group() as group:
        for n in range(10):
            group.start_soon(run, n)
    assert answers == {n: str(n) for n in range(10)}
    assert sorted(eval(await cell(session, "order"))) == list(range(10))


async def test_no_output_is_lost_in_quick_cells(session: ClientSession) -> None:
    for n in range(300):
        assert await cell(session, f"print({n})") == str(n)


# --- output ---


async def test_long_output_is_cut_with_the_notice_of_old(
    session: ClientSession, shared_box: Box
) -> None:
    text = await cell(session, "print('x' * 100)", max_output_chars=50)
    notice = "\n\n[Output truncated: exceeded 50 character limit]"
    assert text.startswith("x" * 50 + notice)
    whole = re.search(rf" is in {INSIDE}/(outputs/[0-9a-f]{{8}}\.txt)\]$", text)
    assert whole, text
    assert (shared_box.workspace / whole[1]).read_text().strip() == "x" * 100


async def test_the_default_limit_is_5000_characters(session: ClientSession) -> None:
    assert await cell(session, "print('é' * 5000)") == "é" * 5000
    text = await cell(session, "print('é' * 5001)")
    assert "é\n\n[Output truncated: exceeded 5000 character limit]" in text
    assert len(text) < 5200


async def test_a_megabyte_arrives_whole(session: ClientSession) -> None:
    code = "print(''.join(f'{n:08d} ' for n in range(120000)))"
    text = await cell(session, code, max_output_chars=2000000)
    assert text == "".join(f"{n:08d} " for n in range(120000))


SHOW = f"""
from IPython.display import Image, display
import base64
png = Image(data=base64.b64decode({base64.b64encode(PNG)!r}), format="png")
"""


@pytest.mark.gate
async def test_an_image_is_saved_and_linked_as_of_old(
    session: ClientSession, shared_box: Box
) -> None:
    text = await cell(session, SHOW + "print('before')\ndisplay(png)\nprint('after')")
    match = re.fullmatch(
        r"before\n<IPython\.core\.display\.Image object>\nafter"
        r"\n\nGenerated images:\n\n"
        rf"- \[([0-9a-f]{{8}})\]\({INSIDE}/images/([0-9a-f]{{8}})\.png\)\n",
        text,
    )
    assert match and match[1] == match[2], text
    file = shared_box.workspace / "images" / f"{match[1]}.png"
    assert file.read_bytes() == PNG


async def test_all_images_of_a_cell_are_listed_in_order(session: ClientSession) -> None:
    text = await cell(session, SHOW + "display(png)\ndisplay(png)\npng")
    assert len(re.findall(r"^- \[[0-9a-f]{8}\]\(/app/workspace/images/", text, re.M)) == 3
    assert text.count("Generated images:") == 1


async def test_images_are_attached_when_the_call_asks_for_them(session: ClientSession) -> None:
    result = await session.call_tool(
        "execute_ipython_cell", {"code": SHOW + "png", "include_images": True}
    )
    first, second = result.content
    assert isinstance(first, types.TextContent) and "Generated images:" in first.text
    assert isinstance(second, types.ImageContent)
    assert second.mimeType == "image/png"
    assert base64.b64decode(second.data) == PNG


# --- the workspace and the environment ---


@pytest.mark.gate
async def test_files_of_cells_belong_to_the_owner_of_the_workspace(
    session: ClientSession, shared_box: Box
) -> None:
    code = "import os\nos.makedirs('made/here')\nopen('made/here/by-cell', 'w').write('x')\n"
    await cell(session, code)
    await cell(session, SHOW + "png")
    for path in ["made", "made/here/by-cell", "images"]:
        made = (shared_box.workspace / path).stat()
        assert (made.st_uid, made.st_gid) == OWNER, path
    assert not stat.S_IMODE(made.st_mode) & stat.S_IWOTH
    assert (shared_box.workspace / "made/here/by-cell").read_text() == "x"


async def test_a_cell_reads_what_the_host_writes(session: ClientSession, shared_box: Box) -> None:
    (shared_box.workspace / "from-host.txt").write_text("hello from the host")
    assert await cell(session, "open('from-host.txt').read()") == "'hello from the host'"


async def test_only_prefixed_variables_reach_the_kernel(session: ClientSession) -> None:
    code = "import os; [os.environ.get(n) for n in ('SECRET_1', 'SECRET_2', 'API_KEY_1')]"
    assert await cell(session, code) == "['from the file', 'given', None]"
    assert await cell(session, "[n for n in os.environ if n.startswith('KERNEL_ENV_')]") == "[]"


# --- progress and cancelling ---


@pytest.mark.gate
async def test_output_is_reported_as_progress_while_the_cell_runs(
    session: ClientSession, shared_box: Box
) -> None:
    held = Held(shared_box.workspace)
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)
        held.hear(message)

    result = await session.call_tool(
        "execute_ipython_cell", {"code": held.code}, progress_callback=on_progress
    )
    assert texts(result) == ["step 0\nstep 1"]
    assert held.text == "step 0\nstep 1\n"
    assert heard == sorted(set(heard))


@pytest.mark.gate
async def test_a_cancelled_call_is_interrupted_and_the_state_kept(session: ClientSession) -> None:
    await cell(session, f"kept = 'through the cancel'; {UNSEEN}")
    request_id = await give_up(session, ENDLESS)
    # Unlike its successor this SDK leaves it to the application to say that it waits no longer.
    params = types.CancelledNotificationParams(requestId=request_id, reason="timed out")
    await session.send_notification(
        types.ClientNotification(types.CancelledNotification(params=params))
    )
    with anyio.fail_after(GUARD):
        assert await cell(session, "kept") == "'through the cancel'"
        assert await cell(session, SEEN) == INTERRUPTED


# --- install_package and reset ---


async def test_install_package_makes_a_package_importable(session: ClientSession) -> None:
    heard: list[str] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    result = await session.call_tool(
        "install_package", {"package_name": "peerprobe<2"}, progress_callback=on_progress
    )
    assert not result.isError, result
    (text,) = texts(result)
    assert "Successfully installed peerprobe-1.1" in text
    assert "Looking in links" in "".join(heard)
    assert await cell(session, "import peerprobe; peerprobe.version") == "'1.1'"


HARDENED = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"]
HARDENED += ["--security-opt", "no-new-privileges", "--user", f"{OWNER[0]}:{OWNER[1]}"]


@pytest.mark.parametrize("options", [[], HARDENED[-2:], HARDENED], ids=["root", "user", "hardened"])
async def test_the_first_package_is_importable_at_once(box: Box, options: list[str]) -> None:
    make_wheel(box.workspace, "peerprobe", "1.0")
    async with connected(box, *options, "-e", "PIP_NO_INDEX=1") as session:
        await cell(session, "1")  # the kernel runs before the folder for packages exists
        wheel = "./peerprobe-1.0-py3-none-any.whl"
        result = await session.call_tool("install_package", {"package_name": wheel})
        assert not result.isError, result
        code = "import peerprobe; peerprobe.version"
        assert await cell(session, code) == "'1.0'"
        await session.call_tool("reset", {})
        assert await cell(session, code) == "'1.0'"


async def test_an_installed_package_survives_a_reset(session: ClientSession) -> None:
    await session.call_tool("install_package", {"package_name": "peerprobe==2.0"})
    result = await session.call_tool("reset", {})
    assert not result.isError
    assert await cell(session, "import peerprobe; peerprobe.version") == "'2.0'"


async def test_pip_can_be_used_in_a_cell(session: ClientSession) -> None:
    text = await cell(session, "%pip --version")
    assert text.startswith("pip ")


async def test_a_package_that_does_not_exist_is_an_error(session: ClientSession) -> None:
    result = await session.call_tool("install_package", {"package_name": "no-such-package-at-all"})
    assert result.isError
    assert "No matching distribution found for no-such-package-at-all" in texts(result)[0]


@pytest.mark.gate
async def test_reset_clears_the_state_and_says_what_is_left(session: ClientSession) -> None:
    await cell(session, "x = 42")
    result = await session.call_tool("reset", {})
    [said] = texts(result)
    assert said.startswith("The kernel is new") and "files" in said
    assert not result.isError
    first, *_ = await failure(session, "print(x)")
    assert "NameError: name 'x' is not defined" in first
    assert await cell(session, "print('after reset')") == "after reset"


# --- the configuration of old ---


async def test_the_old_configuration_works_unchanged(box: Box) -> None:
    entry = old_config(box.workspace)["mcpServers"]["ipybox"]
    parameters = StdioServerParameters(**entry)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        assert await cell(session, "open('made', 'w').write('in the mounted workspace')") == "24"
    assert (box.workspace / "made").read_text() == "in the mounted workspace"


# --- the end ---


@pytest.mark.gate
async def test_close_ends_the_container_without_a_signal(box: Box, status: Path) -> None:
    async with connected(box, status=status) as session:
        assert await cell(session, "x = 1; x") == "1"
        assert len(box.containers()) == 1
    assert box.is_gone()
    assert statuses(status) == {"0"}


@pytest.mark.measure
async def test_close_ends_the_container_at_once(box: Box) -> None:
    took = []
    for _ in range(3):  # the engine itself may be slow to take a container down
        async with connected(box) as session:
            assert await cell(session, "x = 1; x") == "1"
            start = time.monotonic()
        took.append(time.monotonic() - start)
        assert box.is_gone()
    print(f"closing takes {sorted(round(each, 2) for each in took)} s")
    # The SDK closes standard input and after 2 seconds it would send a TERM.
    assert min(took) < 2


@pytest.mark.gate
async def test_close_ends_a_container_whose_cell_still_runs(box: Box) -> None:
    async with connected(box) as session:
        await cell(session, "import subprocess; _ = subprocess.Popen(['sleep', '1000'])")
        await give_up(session, ENDLESS)
    assert box.is_gone()


async def test_a_second_session_finds_the_files_of_the_first(box: Box) -> None:
    async with connected(box) as session:
        await cell(session, "open('note', 'w').write('kept')")
    async with connected(box) as session:
        assert await cell(session, "open('note').read()") == "'kept'"


async def test_two_containers_on_one_workspace_do_not_meet(box: Box, tmp_path: Path) -> None:
    async with connected(box) as one, connected(box) as two:
        await cell(one, "x = 'one'")
        await cell(two, "x = 'two'")
        assert (await cell(one, "x"), await cell(two, "x")) == ("'one'", "'two'")
