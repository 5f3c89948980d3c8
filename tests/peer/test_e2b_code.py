# SPDX-License-Identifier: Apache-2.0
"""E2B's SDK for Python, its code interpreter, unchanged but for the URL.

tests/peer/run starts it with each of the SDK's versions in docs/works-with.md.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from box import GUARD, Box, raises
from cells import ENDLESS, FOREVER, GIVEN_UP, INTERRUPTED, SEEN, UNSEEN
from e2b import SandboxException, TimeoutException
from e2b_box import environment, serving
from e2b_code_interpreter import AsyncSandbox, Sandbox

FIRST_RUNS = 20  # with a sandbox of its own each
ALL_FORMS = """
from IPython.display import HTML, JSON, SVG, Javascript, Latex, Markdown, display
display(HTML("<b>b</b>"), Markdown("**m**"), Latex("$x$"), JSON({"a": [1]}), Javascript("j()"))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg"></svg>'))
display({"image/png": "iVBO", "image/jpeg": "/9j/", "application/pdf": "JVBE",
         "application/x-own": {"k": 1}}, raw=True)
'main'
"""


@pytest.fixture(scope="module", autouse=True)
def server(shared_box: Box) -> Iterator[str]:
    with serving(shared_box.workspace) as url, environment(url):
        yield url


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Any]:
    made = Sandbox.create(timeout=600, envs={"FOO": "bar"})
    yield made
    assert made.kill()


@pytest.mark.gate
def test_code_and_streams(sandbox: Any) -> None:
    seen: list[str] = []
    before = time.time_ns()
    stamps: list[int] = []

    def on_stdout(message: Any) -> None:
        seen.append(message.line)
        stamps.append(message.timestamp)

    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nx = 20\nx + 1"
    run = sandbox.run_code(code, on_stdout=on_stdout)
    assert "".join(seen) == "out\n" == "".join(run.logs.stdout)
    assert "".join(run.logs.stderr) == "err\n"
    assert run.text == "21"
    assert run.results[0].is_main_result
    assert before - 10**9 < stamps[0] < time.time_ns() + 10**9
    assert sandbox.run_code("x * 2").text == "40"
    assert sandbox.run_code("x").execution_count > run.execution_count


def test_all_forms_of_results(sandbox: Any) -> None:
    html, markdown, latex, data, script, svg, raw, main = sandbox.run_code(ALL_FORMS).results
    assert html.html == "<b>b</b>"
    assert markdown.markdown == "**m**"
    assert latex.latex == "$x$"
    assert data.json == {"a": [1]}
    assert script.javascript == "j()"
    assert svg.svg.startswith("<svg")
    assert (raw.png, raw.jpeg, raw.pdf) == ("iVBO", "/9j/", "JVBE")
    assert raw.extra == {"application/x-own": {"k": 1}}
    assert [r.is_main_result for r in (html, raw, main)] == [False, False, True]
    assert main.text == "main"


@pytest.mark.gate
def test_an_exception(sandbox: Any) -> None:
    error = sandbox.run_code("int('x')").error
    assert error.name == "ValueError"
    assert "invalid literal" in error.value
    assert "int('x')" in error.traceback


@pytest.mark.gate
def test_a_kernel_that_dies(sandbox: Any) -> None:
    made = Sandbox.create()
    run = made.run_code("print('last', flush=True)\nimport os\nos._exit(3)")
    assert run.error.name == "KernelDied"
    assert made.run_code("1 + 1").text == "2"
    made.kill()


def test_environment(sandbox: Any) -> None:
    code = "import os; [os.getenv(n) for n in ('FOO', 'MORE')]"
    assert sandbox.run_code(code).text == "['bar', None]"
    assert sandbox.run_code(code, envs={"FOO": "é'\"\\", "MORE": "1"}).text == repr(["é'\"\\", "1"])
    assert sandbox.run_code(code).text == "['bar', None]"
    error = sandbox.run_code("1 / 0", envs={"MORE": "1"}).error
    assert error.name == "ZeroDivisionError"
    assert sandbox.run_code(code).text == "['bar', None]"


def test_bash(sandbox: Any) -> None:
    run = sandbox.run_code("echo $FOO $MORE; pwd", language="bash", envs={"MORE": "m"})
    assert "".join(run.logs.stdout) == "bar m\n/app/workspace\n"
    assert sandbox.run_code("exit 3", language="bash").error is not None
    sandbox.run_code("x='a b'; y=(1 2); f() { echo f $1; }; cd /usr; exit 1", language="bash")
    kept = sandbox.run_code('echo "$x ${y[1]} [$MORE]"; f g; pwd; unset x', language="bash")
    assert "".join(kept.logs.stdout) == "a b 2 []\nf g\n/usr\n"
    gone = sandbox.run_code('echo "[$x]"; cd /app/workspace', language="bash")
    assert gone.logs.stdout == ["[]\n"]
    with raises(SandboxException, "python and bash"):
        sandbox.run_code("1", language="r")


@pytest.mark.gate
def test_contexts(sandbox: Any) -> None:
    context = sandbox.create_code_context(cwd="/home/user")
    assert (context.language, context.cwd) == ("python", "/app/workspace")
    sandbox.run_code("only = 'here'", context=context)
    assert sandbox.run_code("only", context=context).text == "here"
    assert sandbox.run_code("only").error.name == "NameError"
    shell = sandbox.create_code_context(language="bash")
    assert sandbox.run_code("echo hi $x", context=shell).logs.stdout == ["hi\n"]
    sandbox.run_code("x=1", context=shell)
    assert sandbox.run_code("echo $x", context=shell).logs.stdout == ["1\n"]


def test_contexts_are_listed_restarted_and_removed(sandbox: Any) -> None:
    context = sandbox.create_code_context()
    if not hasattr(sandbox, "list_code_contexts"):
        return  # SDKs that only make them
    sandbox.run_code("only = 'here'", context=context)
    assert context.id in {c.id for c in sandbox.list_code_contexts()}
    sandbox.restart_code_context(context)
    assert sandbox.run_code("only", context=context).error.name == "NameError"
    sandbox.remove_code_context(context)
    assert context.id not in {c.id for c in sandbox.list_code_contexts()}
    with raises(Exception, "not found"):
        sandbox.run_code("1", context=context)


@pytest.mark.gate
def test_a_client_that_leaves_interrupts_its_code(sandbox: Any) -> None:
    class Left(Exception):
        """The client has heard enough."""

    def leave(message: Any) -> None:
        raise Left

    sandbox.run_code(UNSEEN)
    with raises(Left):
        sandbox.run_code(ENDLESS, on_stdout=leave, timeout=FOREVER)
    assert sandbox.run_code(SEEN, timeout=GUARD).text == INTERRUPTED


@pytest.mark.gate
def test_a_client_whose_time_is_over_interrupts_its_code(sandbox: Any) -> None:
    """By the SDK's own clock."""
    sandbox.run_code(UNSEEN)
    with raises(TimeoutException):
        sandbox.run_code(ENDLESS, timeout=1)
    assert sandbox.run_code(SEEN, timeout=GUARD).text in GIVEN_UP


def test_code_in_a_sandbox_that_is_gone() -> None:
    made = Sandbox.create()
    assert made.kill()
    with raises(TimeoutException, "sandbox timeout"):
        made.run_code("1")


def test_connect_finds_the_same_variables(sandbox: Any) -> None:
    sandbox.run_code("here = 'first'")
    assert Sandbox.connect(sandbox.sandbox_id).run_code("here").text == "first"


def test_forks_begin_as_the_sandbox_and_go_their_own_ways() -> None:
    parent = Sandbox.create(metadata={"who": "forked"}, envs={"FOO": "bar"})
    parent.run_code("import os, random\ndata = [1, 2]\ndef total(): return sum(data)")
    context = parent.create_code_context()
    parent.run_code("inner = 7", context=context)
    parent.run_code("word=shell", language="bash")
    first, second = parent.fork(timeout=60, count=2)
    assert first.run_code("data.append(3); total(), os.getenv('FOO')").text == "(6, 'bar')"
    assert second.run_code("total()").text == "3" == parent.run_code("total()").text
    assert first.run_code("inner", context=context).text == "7"
    assert "".join(first.run_code("echo $word", language="bash").logs.stdout) == "shell\n"
    info = first.get_info()
    assert info.metadata == {"who": "forked"}
    assert 50 < (info.end_at - info.started_at).total_seconds() <= 61
    first.files.write("of-the-fork.txt", "one")
    assert parent.files.read("of-the-fork.txt") == "one"  # the workspace is the container's
    assert first.commands.run("echo $FOO").stdout == "bar\n"

    (again,) = Sandbox.fork(first.sandbox_id)
    assert parent.kill()
    assert again.run_code("total(), data").text == "(6, [1, 2, 3])"
    with raises(SandboxException, "not found|was not found"):
        parent.run_code("1")
    assert first.kill() and second.kill() and again.kill()


def test_a_fork_that_cannot_be_had_says_why(sandbox: Any) -> None:
    with raises(SandboxException, "404|no sandbox"):
        Sandbox.fork("nosuchsandbox")
    one = Sandbox.create()
    one.run_code("import socket; s = socket.socket(); x = 5")
    with raises(SandboxException, "409.*a socket"):
        one.fork()
    assert one.run_code("s.close(); x").text == "5"
    one.pause()
    with raises(SandboxException, "409.*paused"):
        one.fork()
    assert one.kill()
    with raises(SandboxException, "501.*snapshots are not served"):
        sandbox.create_snapshot()
    assert sandbox.list_snapshots().next_items() == []
    assert not Sandbox.delete_snapshot("none:default")


def test_forks_of_the_asynchronous_client() -> None:
    async def fork() -> list[Any]:
        parent = await AsyncSandbox.create()
        await parent.run_code("x = 20")
        forks = await parent.fork(count=3)
        runs = await asyncio.gather(*(f.run_code(f"x + {n}") for n, f in enumerate(forks)))
        for one in [parent, *forks]:
            await one.kill()
        return [run.text for run in runs]

    assert asyncio.run(fork()) == ["20", "21", "22"]


@pytest.mark.gate
def test_code_has_no_part_in_the_control_plane(sandbox: Any) -> None:
    code = f"""
import http.client
from concurrent.futures import ThreadPoolExecutor  # a wrong token is answered late
heads = [dict(), {{"X-API-KEY": ""}}, {{"X-API-KEY": "e2b_"}}, {{"Authorization": "Bearer "}},
         {{"E2b-Sandbox-Id": {sandbox.sandbox_id!r}}}, {{"X-Access-Token": "x"}}]
calls = [("GET", "/sandboxes"), ("POST", "/v2/sandboxes"), ("POST", "/execute"),
         ("DELETE", "/sandboxes/{sandbox.sandbox_id}"), ("GET", "/contexts")]
def status(call, port, head):
    client = http.client.HTTPConnection("localhost", port, timeout=20)
    client.request(*call, "{{}}", head)
    return client.getresponse().status
tries = [(c, p, h) for c in calls for p in (8080, 49983, 49999) for h in heads]
with ThreadPoolExecutor(len(tries)) as pool:
    seen = set(pool.map(status, *zip(*tries)))
sorted(seen)
"""
    made = Sandbox.create()
    assert made.run_code(code).text in ("[401, 404]", "[401, 404, 429]")
    made.kill()
    assert sandbox.is_running()


def test_sandboxes_have_variables_of_their_own(sandbox: Any) -> None:
    async def one(number: int) -> str:
        made = await AsyncSandbox.create()
        await made.run_code(f"mine = {number}")
        text = (await made.run_code("mine")).text
        await made.kill()
        return str(text)

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*[one(number) for number in range(8)])

    assert asyncio.run(all_of_them()) == [str(number) for number in range(8)]


@pytest.mark.measure
def test_how_long_until_the_first_result(sandbox: Any) -> None:
    taken = []
    for _ in range(FIRST_RUNS):
        since = time.perf_counter()
        made = Sandbox.create()
        assert made.run_code("1 + 1").text == "2"
        taken.append(1000 * (time.perf_counter() - since))
        made.kill()
    print(
        f"\ne2b {version('e2b')}, create and run_code: {statistics.median(taken):.0f} ms, "
        f"half of {FIRST_RUNS} runs"
    )
