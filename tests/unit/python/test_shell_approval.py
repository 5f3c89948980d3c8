"""Shell commands that ask first, and kernels that cannot execute anything themselves."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from box import WAIT, Kernel
from ipybox_kernel import exec_filter
from test_template import ForkedKernel, Template
from tool_server import ToolServer

ASKS = {"IPYBOX_APPROVE_SHELL_CMDS": "1"}
ISOLATED = ASKS | {"IPYBOX_REQUIRE_SHELL_ESCAPE": "1"}


def decide(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Whether a command is approved is in its text."""
    if method != "approve":
        return {"result": None}
    command = params["tool_args"]["cmd"]
    if "unanswered" in command:
        return None
    if "forbidden" in command:
        return {"approved": False, "error": "Approval request rejected", "type": "rejected"}
    if "late" in command:
        return {"approved": False, "error": "Approval request expired", "type": "timeout"}
    return {"approved": True}


class Box:
    """A kernel and its server."""

    def __init__(self, kernel: Kernel, server: ToolServer) -> None:
        self.kernel = kernel
        self.server = server

    def run(self, code: str) -> str:
        """The text that a cell printed; the cell must be well."""
        result = self.kernel.run(code)
        assert result.status == "ok", result
        return result.text

    def fail(self, code: str) -> tuple[str, str]:
        """The error of a cell."""
        result = self.kernel.run(code)
        assert result.status == "error", result
        return result.reply["ename"], result.reply["evalue"]

    def asked(self) -> list[tuple[str, str]]:
        """What was asked since the last time."""
        requests = [params for _, params in self.server.requests]
        self.server.requests.clear()
        assert all(params["server_name"] == "ipybox" for params in requests)
        return [(params["tool_name"], params["tool_args"]["cmd"]) for params in requests]


@pytest.fixture(scope="module", params=["asks", "isolated", "forked"])
def box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Each way of having it."""
    with ToolServer(decide) as server:
        if request.param == "forked":
            template = Template(tmp_path_factory.mktemp("template"))
            with ForkedKernel(template, env=server.environment | ISOLATED) as kernel:
                yield Box(kernel, server)
            template.close()
            return
        env = server.environment | (ASKS if request.param == "asks" else ISOLATED)
        with Kernel(env=env) as kernel:
            yield Box(kernel, server)


@pytest.fixture(scope="module")
def isolated() -> Iterator[Box]:
    with ToolServer(decide) as server, Kernel(env=server.environment | ISOLATED) as kernel:
        yield Box(kernel, server)


def test_a_command(box: Box) -> None:
    assert box.run("!echo out").replace("\r", "") == "out\n"
    assert box.asked() == [("shell", "echo out")]


def test_expanded_as_it_is_run(box: Box) -> None:
    assert box.run("name = 'a b'\n!echo {name}-$name-{{x}}").strip() == "a b-a b-{x}"
    assert box.asked() == [("shell", "echo a b-a b-{x}")]
    code = (
        "def f():\n    inner = 'of f'\n    !echo {inner}\n    x = !echo $inner\n    print(x)\nf()"
    )
    assert box.run(code).split() == ["of", "f", "['of", "f']"]
    assert box.asked() == [("shell", "echo of f")] * 2


def test_its_output_as_a_value(box: Box) -> None:
    assert box.run("x = !echo a; echo b >&2\nprint(type(x).__name__, x)") == "SList ['a', 'b']\n"
    assert box.kernel.run("!!echo d").value == "['d']"
    assert box.kernel.run("%sx echo e").value == "['e']"
    assert box.kernel.run("%%!\necho f").value == "['f']"
    assert [command.strip() for _, command in box.asked()] == [
        "echo a; echo b >&2",
        "echo d",
        "echo e",
        "echo f",
    ]


def test_its_status(box: Box) -> None:
    assert box.run("!exit 3\nprint(_exit_code)") == "3\n"
    assert box.run("!kill -9 $$\nprint(_exit_code)").split()[-1] == "-9"


def test_where_it_runs(box: Box) -> None:
    code = (
        "import os; os.environ['SAID'] = 'é'; os.mkdir('sub'); os.chdir('sub')\n!cd /; echo $SAID"
    )
    assert box.run(code).strip() == "é"
    assert box.run("!pwd").strip().endswith("/sub")
    box.run("os.chdir('..')")
    box.asked()


def test_aliases_and_magics_ask_too(box: Box) -> None:
    box.run("%alias say echo %s\n%say hello")
    assert box.asked()[0] == ("shell", "echo hello ")


def test_cells_for_a_shell(box: Box) -> None:
    result = box.kernel.run("%%bash\necho out\necho err >&2\ntrue")
    assert (result.stream("stdout"), result.stream("stderr")) == ("out\n", "err\n")
    assert box.asked() == [("shell_magic", "echo out\necho err >&2\ntrue\n")]


def test_cells_with_arguments_are_shown_with_them(box: Box) -> None:
    assert box.run("%%bash -s 1 '2 3'\necho $2") == "2 3\n"
    assert box.run("%%script python3 -\nprint(4)") == "4\n"
    shown = box.asked()
    assert shown[0] == ("shell_magic", "%%script bash -s 1 '2 3'\necho $2\n")
    assert shown[1] == ("shell_magic", "%%script python3 -\nprint(4)\n")


def test_output_of_cells_as_values(box: Box) -> None:
    box.run("%%sh --out got --err bad\necho out; echo err >&2")
    assert box.run("print(repr(got), repr(bad))") == "'out\\n' 'err\\n'\n"
    box.asked()


def test_cells_that_fail(box: Box) -> None:
    assert box.fail("%%bash\nexit 3")[0] == "CalledProcessError"
    box.run("%%bash --no-raise-error\nexit 3")
    assert box.run("%%script nothing-like-it\nx") == "Couldn't find program: 'nothing-like-it'\n"
    box.asked()


def test_rejected(box: Box) -> None:
    error = ("ApprovalRejectedError", "Approval request rejected")
    assert box.fail("!echo forbidden") == error
    assert box.fail("x = !echo forbidden") == error
    assert box.fail("%%bash\necho forbidden") == error
    assert box.fail("!echo late") == ("ApprovalTimeoutError", "Approval request expired")
    box.asked()


def test_no_background(box: Box) -> None:
    assert box.fail("!sleep 1 &") == ("OSError", "Background processes not supported.")
    assert box.asked() == []


def test_interrupt_while_it_is_asked(box: Box) -> None:
    ident = box.kernel.start("!echo unanswered")
    box.server.wait_for(lambda: bool(box.server.requests))
    box.kernel.interrupt()
    assert box.kernel.finish(ident).reply["ename"] == "KeyboardInterrupt"
    assert box.run("!echo after").strip() == "after"
    box.asked()


def test_interrupt_while_it_runs(isolated: Box) -> None:
    started = isolated.kernel.work / "started"
    ident = isolated.kernel.start("!trap 'echo int; exit' INT; touch started; sleep 60 & wait")
    wait_for(started)
    isolated.kernel.interrupt()
    result = isolated.kernel.finish(ident)
    assert result.reply["ename"] == "KeyboardInterrupt"
    assert result.text == "int\n"
    isolated.asked()


def test_order_of_output(isolated: Box) -> None:
    code = "for i in range(3):\n    print('py', i)\n    !echo sh {i}"
    expected = "".join(f"py {i}\nsh {i}\n" for i in range(3))
    assert isolated.run(code) == expected
    isolated.asked()


def test_much_output(isolated: Box) -> None:
    assert isolated.run("x = !seq 200000\nprint(len(x), x[-1])") == "200000 200000\n"
    assert len(isolated.run("!seq 20000")) == len("\n".join(map(str, range(1, 20001)))) + 1
    isolated.asked()


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import subprocess; subprocess.run(['true'])", "subprocess"),
        ("import subprocess; subprocess.check_output('true', shell=True)", "subprocess"),
        ("import os; os.popen('true')", "subprocess"),
        ("import asyncio; await asyncio.create_subprocess_exec('true')", "subprocess"),
        ("import os; os.system('true')", "os.system()"),
        ("import os; os.execv('/bin/true', ['true'])", "os.execv()"),
        ("import os; os.spawnlp(os.P_WAIT, 'true', 'true')", "os.spawnlp()"),
        ("import os; os.posix_spawn('/bin/true', ['true'], {})", "os.posix_spawn()"),
        ("import pty; pty.spawn('true')", "pty.spawn()"),
    ],
)
def test_other_ways_are_refused(isolated: Box, code: str, what: str) -> None:
    message = f"Direct {what} calls are not allowed. Use ! syntax."
    assert isolated.fail(code) == ("RuntimeError", message)


def test_no_way_around_through_libc(isolated: Box) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
argv = (ctypes.c_char_p * 2)(b'/bin/true', None)
print(libc.execve(b'/bin/true', argv, None), ctypes.get_errno())
print(libc.system(b'touch made'), os.path.exists('made'))
number = {'x86_64': 322, 'aarch64': 281}[os.uname().machine]
print(libc.syscall(number, -100, b'/bin/true', argv, None, 0), ctypes.get_errno())
"""
    lines = isolated.run(code).splitlines()
    assert lines[0] == "-1 1"
    assert lines[1] == f"{127 << 8} False"
    assert lines[2] == "-1 1"


def test_the_filter_reaches_threads_and_forks(isolated: Box) -> None:
    code = """
import ctypes, os, threading
libc = ctypes.CDLL(None)
seen = []
thread = threading.Thread(target=lambda: seen.append(libc.system(b'true')))
thread.start(); thread.join()
child = os.fork()
if child == 0:
    os._exit(libc.system(b'true') >> 8)
print(seen[0] >> 8, os.waitpid(child, 0)[1] >> 8)
"""
    assert isolated.run(code).splitlines()[-1] == "127 127"


def test_multiprocessing(isolated: Box) -> None:
    code = """
import multiprocessing
def double(n):
    return 2 * n
with multiprocessing.get_context('fork').Pool(2) as pool:
    print(pool.map(double, [1, 2]))
"""
    assert isolated.run(code).splitlines()[-1] == "[2, 4]"
    code = "p = multiprocessing.get_context('spawn').Process(target=print); p.start()"
    name, text = isolated.fail(code)
    assert (name, "can only fork" in text) == ("RuntimeError", True)


def test_the_runner_cannot_be_talked_into_anything(isolated: Box) -> None:
    """Code in the kernel has its socket; what it asks for is asked of a human all the same."""
    code = f"""
import json, os, socket
from ipykernel.kernelapp import IPKernelApp
channel = IPKernelApp.instance().shell_runner.channel
def ask(line):
    ours, theirs = socket.socketpair()
    with open(os.devnull, 'r+b') as null:
        socket.send_fds(channel, [b'c'], [theirs.fileno()] + [null.fileno()] * 3)
    theirs.close()
    ours.sendall(line + b'\\n')
    answer = b''
    while data := ours.recv(4096):
        answer += data
    print(answer.decode().strip()[:40])
rest = {{'cwd': '/', 'env': {{}}}}
work = {str(isolated.kernel.work)!r}
ask(json.dumps({{'argv': ['/bin/sh', '-c', f'touch {{work}}/forbidden'], **rest}}).encode())
ask(json.dumps({{'argv': ['/bin/touch', f'{{work}}/made'], **rest}}).encode())
ask(b'[]')
ask(b'{{')
ask(json.dumps({{'argv': 3, 'text': 4, **rest}}).encode())
socket.send_fds(channel, [b'c'], [])
socket.send_fds(channel, [b'c'], [0, 0])
socket.send_fds(channel, [b'c'], [os.open('/dev/null', 0)] * 4)
"""
    lines = isolated.run(code).splitlines()
    assert "rejected" in lines[0]
    assert all(line.startswith('{"error": "The command cannot be') for line in lines[1:])
    assert not list(isolated.kernel.work.glob("forbidden"))
    assert not list(isolated.kernel.work.glob("made"))
    assert isolated.run("!echo still there") == "still there\n"
    isolated.asked()


def test_another_server_in_the_place_of_ours(isolated: Box) -> None:
    with ToolServer() as generous:
        isolated.run(f"import os; os.environ.update({generous.environment!r})")
        assert isolated.fail("!echo forbidden")[0] == "ApprovalRejectedError"
        assert generous.requests == []
    isolated.run(f"os.environ.update({isolated.server.environment!r})")
    isolated.asked()


def test_without_a_server() -> None:
    with Kernel(env=ISOLATED) as kernel:
        result = kernel.run("!echo no")
        assert result.reply["ename"] == "ToolRunnerError"
        assert "IPYBOX_TOOL_SOCKET is not set" in result.reply["evalue"]


def test_a_server_that_went_away() -> None:
    with ToolServer(decide) as server, Kernel(env=server.environment | ISOLATED) as kernel:
        ident = kernel.start("!echo unanswered")
        server.wait_for(lambda: bool(server.requests))
        server.drop()
        assert kernel.finish(ident).reply["ename"] == "ToolRunnerError"
        assert "restart the kernel" in kernel.run("!echo no").reply["evalue"]


def test_a_runner_that_was_killed() -> None:
    with ToolServer(decide) as server, Kernel(env=server.environment | ISOLATED) as kernel:
        runner = child_of(kernel)
        os.kill(runner, signal.SIGKILL)
        wait_for_end(runner)
        result = kernel.run("!echo no")
        assert result.reply["ename"] == "ToolRunnerError"
        assert "restart the kernel" in result.reply["evalue"]
        assert kernel.run("import os; os.system('true')").status == "error"


def test_nothing_is_left_of_a_kernel() -> None:
    with ToolServer(decide) as server, Kernel(env=server.environment | ISOLATED) as kernel:
        kernel.start("!touch started; echo $$ > shell; exec sleep 600")
        wait_for(kernel.work / "started")
        wait_for(kernel.work / "shell")
        runner = child_of(kernel)
        shell = int((kernel.work / "shell").read_text())
        os.kill(kernel.process.pid, signal.SIGKILL)
        for pid in (runner, shell):
            wait_for_end(pid)


def test_the_filter_is_known_for_this_machine() -> None:
    assert len(exec_filter.program(os.uname().machine)) == 8 * 8
    with pytest.raises(OSError, match="no filter"):
        exec_filter.program("pdp11")


def test_an_ordinary_kernel_asks_nobody() -> None:
    with ToolServer(decide) as server, Kernel(env=server.environment) as kernel:
        assert kernel.run("!echo free").text.strip() == "free"
        assert kernel.run("import subprocess; subprocess.run(['true'])").status == "ok"
        assert server.requests == []


def child_of(kernel: Kernel) -> int:
    """The process that runs the commands of a kernel."""
    children = Path(f"/proc/{kernel.process.pid}/task/{kernel.process.pid}/children")
    return int(children.read_text().split()[0])


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + WAIT
    while not path.exists() or not (path.name != "shell" or path.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + WAIT
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        assert time.monotonic() < deadline, json.dumps([pid, state])
        time.sleep(0.01)
