"""A kernel is an ordinary one where it should be, and differs where it must."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

import pytest
from box import WAIT, WAIT_MS, Kernel, Process, no_unix_sockets, works_without_sockets
from IPython.core.magics import script

# What IPython ends well though it was interrupted; a script cell: in its earlier versions.
SWALLOWED = ["!sleep 1000"]
if not hasattr(script, "RaiseAfterInterrupt"):
    SWALLOWED.append("%%bash\nsleep 1000")


def test_the_kernel_keeps_state_between_cells(kernel: Kernel) -> None:
    kernel.run("answer = 41")
    assert kernel.run("answer + 1").value == "42"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("import asyncio\nawait asyncio.sleep(0.01)\nprint('done')", "done\n"),
        ("print(*await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)))", "1 2\n"),
        ("%time pass", "CPU times"),
        ("%timeit -n1 -r1 pass", "per loop"),
        ("files = !echo a b\nprint(files)", "['a b']\n"),
        ("!echo shell", "shell\r\n"),
        ("%%bash\necho $((1 + 2))", "3\n"),
        ("%%writefile made.txt\ncontent", "Writing made.txt\n"),
    ],
)
def test_ipython_is_all_there(kernel: Kernel, code: str, text: str) -> None:
    result = kernel.run(code)
    assert result.status == "ok"
    assert text in result.text


@pytest.mark.parametrize(
    "code", ["answer = WORD", "import asyncio\nawait asyncio.sleep(0)\nanswer = WORD"]
)
def test_a_cell_is_transformed_once_and_each_time_anew(fresh: Kernel, code: str) -> None:
    fresh.run("""
word, looks = '1', []
def transform(lines):
    looks.append(''.join(lines))
    return [line.replace('WORD', word) for line in lines]
get_ipython().input_transformers_post.append(transform)""")
    fresh.run(code)
    assert fresh.run("answer").value == "1"
    fresh.run("word = '2'")
    fresh.run(code)
    assert fresh.run("answer").value == "2"
    assert fresh.run("[text for text in looks if 'answer = ' in text]").value.count("WORD") == 2


NO_SOCKETS = """
import ctypes, os, sys
from ipybox_kernel.exec_filter import PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, _Program
from ipybox_kernel.forking import prctl
steps, fds, words = bytes.fromhex(sys.argv[1]), sys.argv[2].split(), sys.argv[3:]
for number, fd in enumerate(fds, 5):
    os.dup2(int(fd), number)
    os.close(int(fd))
prctl(PR_SET_NO_NEW_PRIVS, 1)
program = ctypes.byref(_Program(len(steps) // 8, steps))
assert ctypes.CDLL(None).prctl(PR_SET_SECCOMP, 2, program, 0, 0) == 0
os.execv(words[0], words)
"""


class SocketlessKernel(Kernel):
    """One that may make no Unix sockets but pairs, and has those that a kernel needs."""

    def spawn(self, env: dict[str, str], output: BinaryIO) -> Process:
        fds = self.listening()
        words = [no_unix_sockets().hex(), " ".join(map(str, fds))]
        kernel = [sys.executable, "-m", "ipybox_kernel", "-f", str(self.connection)]
        process = subprocess.Popen(
            [sys.executable, "-c", NO_SOCKETS, *words, *kernel],
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=fds,
        )
        for fd in fds:
            os.close(fd)
        return process


def test_a_kernel_that_can_make_no_sockets_takes_those_that_it_is_given() -> None:
    with SocketlessKernel() as kernel:
        works_without_sockets(kernel)


def test_the_working_directory_is_the_one_of_the_process(kernel: Kernel) -> None:
    assert kernel.run("%pwd").value == repr(str(kernel.work))


def test_modules_of_the_working_directory_can_be_imported_but_replace_none() -> None:
    with Kernel() as kernel:
        (kernel.work / "mine.py").write_text("value = 5\n")
        (kernel.work / "queue.py").write_text("raise SystemExit\n")
        assert kernel.run("import mine, queue; mine.value").value == "5"


@pytest.mark.parametrize(
    "arguments", [["ipybox_kernel", "--version"], ["ipybox_kernel.template", "--help"]]
)
def test_modules_of_the_working_directory_do_not_disturb_the_start(
    tmp_path: Path, arguments: list[str]
) -> None:
    for name in ("zmq", "json", "ipykernel", "argparse", "asyncio", "select"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)\n")
    run = subprocess.run(
        [sys.executable, "-m", *arguments],
        check=False,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr


def test_pictures_come_as_png(kernel: Kernel) -> None:
    kernel.run("data = b'\\x89PNG\\r\\n\\x1a\\n' + bytes(20)")
    result = kernel.run("from IPython.display import Image, display; display(Image(data=data))")
    png = base64.b64decode(result.of("display_data")[0].content["data"]["image/png"])
    assert png == b"\x89PNG\r\n\x1a\n" + bytes(20)
    assert kernel.run("import os; os.environ['MPLBACKEND']").value == (
        "'module://matplotlib_inline.backend_inline'"
    )


@pytest.mark.parametrize(
    "code", ["1 / 0", "def broken(:", "import nothing_like_that", "undefined", "%nomagic"]
)
def test_errors_have_no_colours(kernel: Kernel, code: str) -> None:
    result = kernel.run(code)
    assert result.status == "error" or code == "%nomagic"
    assert "\x1b" not in json.dumps([m.content for m in result.messages] + [result.reply])


def test_programs_are_asked_for_plain_output(kernel: Kernel) -> None:
    names = "NO_COLOR TERM PAGER GIT_PAGER CLICOLOR CLICOLOR_FORCE FORCE_COLOR"
    result = kernel.run(f"import os; print(*(os.environ.get(n) for n in '{names}'.split()))")
    assert result.text == "1 dumb cat cat None None None\n"


def test_what_the_environment_says_about_colours_stands() -> None:
    with Kernel(env={"FORCE_COLOR": "3", "TERM": "xterm", "PAGER": "more", "X": "y"}) as kernel:
        names = "NO_COLOR TERM PAGER FORCE_COLOR X"
        result = kernel.run(f"import os; print(*(os.environ.get(n) for n in '{names}'.split()))")
        assert result.text == "None xterm more 3 y\n"


def test_nothing_of_the_launch_shows_in_the_environment(kernel: Kernel) -> None:
    result = kernel.run("import os; print(*sorted(os.environ))")
    allowed = {"PATH", "IPYTHONDIR", "NO_COLOR", "TERM", "PAGER", "GIT_PAGER", "MPLBACKEND"}
    assert set(result.text.split()) - {"LC_CTYPE", "HOME", "PYTHONUNBUFFERED"} == allowed


@pytest.mark.parametrize("code", ["input('name? ')", "import getpass; getpass.getpass()"])
def test_input_is_refused_with_advice(kernel: Kernel, code: str) -> None:
    result = kernel.run(code)
    assert result.reply["ename"] == "StdinNotImplementedError"
    assert "not available" in result.reply["evalue"]
    assert "Assign the value in the code instead" in result.reply["evalue"]
    assert "ipybox_kernel" not in "".join(result.reply["traceback"])


def test_reading_stdin_is_the_end_of_a_file(kernel: Kernel) -> None:
    assert kernel.run("import sys; sys.stdin.read()").value == "''"


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(1000)",
        "while True: pass",
        "import subprocess; subprocess.run(['sleep', '30'])",
        "import threading; threading.Event().wait(1000)",
        "import asyncio; await asyncio.sleep(0)\nwhile True: pass",
        "import asyncio, time; await asyncio.sleep(0)\ntime.sleep(1000)",
        "import asyncio; await asyncio.sleep(1000)",
        "async def f():\n    while True: pass\nawait asyncio.gather(f())",
        "!sleep 1000",
        "%%bash\nsleep 1000",
    ],
)
def test_an_interrupt_ends_a_cell(kernel: Kernel, code: str) -> None:
    kernel.run("state = 'kept'")
    ident = kernel.start(code)
    kernel.begun(ident)
    time.sleep(0.3)
    kernel.interrupt()
    result = kernel.finish(ident)
    if code not in SWALLOWED:
        assert result.status == "error"
    assert kernel.run("print(state)").text == "kept\n"


def test_one_that_cannot_start_ends_at_once_and_says_why(tmp_path: Path) -> None:
    """Its sockets are open by then, for which ZeroMQ would keep it."""
    fails = "def init_io(self): raise OSError('there is no such stream')\n"
    change = "import ipykernel.kernelapp as k\nk.IPKernelApp.init_io = init_io\n"
    (tmp_path / "sitecustomize.py").write_text(fails + change)
    kernel = Kernel(env={"PYTHONPATH": str(tmp_path)})
    try:
        assert kernel.process.wait(60) == 1
        assert "OSError: there is no such stream" in kernel.stderr.read_text()
    finally:
        kernel.__exit__()


def test_an_interrupt_that_does_not_reach_a_system_call_ends_the_cell(kernel: Kernel) -> None:
    code = """
import signal, threading, time
def receive():
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
threading.Timer(0.2, receive).start()
time.sleep(1000)"""
    assert kernel.run(code).reply["ename"] == "KeyboardInterrupt"


def test_a_wait_after_an_interrupted_cell_is_left_alone(kernel: Kernel) -> None:
    """The wake-ups of an interrupt end with its cell: C code may give up a call that is cut."""
    ident = kernel.start("import time; time.sleep(1000)")
    kernel.begun(ident)
    time.sleep(0.3)
    kernel.interrupt()
    kernel.finish(ident)
    code = "import ctypes; ctypes.CDLL(None, use_errno=True).usleep(1_500_000)"
    assert kernel.run(code).value == "0"


def test_interrupts_at_any_moment_leave_a_reply_and_a_kernel(fresh: Kernel) -> None:
    codes = ["print(1)", "1 + 1", "import asyncio; await asyncio.sleep(0.001)", "!true"]
    # Some packages' objects complain when they are taken down after their making was interrupted.
    fresh.run("import sys; sys.unraisablehook = lambda found: None")
    for number in range(300):
        ident = fresh.start(codes[number % len(codes)])
        time.sleep(number % 50 / 10_000)
        fresh.interrupt()
        fresh.finish(ident)
    assert fresh.run("print('alive')").text == "alive\n"


def test_an_interrupt_lets_a_callback_end_that_answers_the_cell(kernel: Kernel) -> None:
    code = """
import asyncio, os, signal
answer = asyncio.get_running_loop().create_future()
def give():
    if not answer.done():
        os.kill(os.getpid(), signal.SIGINT)
        answer.set_result(1)
_ = asyncio.get_running_loop().call_soon(give)
await answer"""
    result = kernel.run(code)
    assert (result.reply["ename"], result.text) == ("CancelledError", "")
    assert kernel.run("answer.result()").value == "1"


def test_an_interrupt_lets_the_loop_tell_that_a_task_has_ended(kernel: Kernel) -> None:
    code = """
import asyncio, os, signal
loop, cell = asyncio.get_running_loop(), asyncio.current_task()
stock = loop.call_soon
def call_soon(*args, **more):
    if cell.done():
        loop.call_soon = stock
        os.kill(os.getpid(), signal.SIGINT)
    return stock(*args, **more)
loop.call_soon = call_soon
await asyncio.sleep(0)"""
    assert kernel.finish(kernel.start(code)).status == "ok"
    assert kernel.run("loop.call_soon is stock").value == "True"  # it did happen


def test_an_interrupt_between_cells_is_ignored(kernel: Kernel) -> None:
    kernel.interrupt()
    assert kernel.run("print('alive')").text == "alive\n"


def test_children_get_the_default_for_interrupts(kernel: Kernel) -> None:
    code = "import subprocess; subprocess.run(['sh', '-c', 'kill -INT $$']).returncode"
    assert kernel.run(code).value == str(-signal.SIGINT)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import os; os._exit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import ctypes; ctypes.string_at(0)", -11),
        ("exit()", 0),
    ],
)
def test_the_exit_status_tells_how_the_kernel_ended(fresh: Kernel, code: str, status: int) -> None:
    fresh.start(code)
    assert fresh.process.wait(timeout=WAIT) == status


def test_a_shutdown_request_ends_the_kernel(fresh: Kernel) -> None:
    fresh.send("shutdown_request", {"restart": False}, "control")
    assert fresh.process.wait(timeout=WAIT) == 0
    assert fresh.stderr.read_text() == ""


def test_what_is_printed_at_exit_still_arrives(fresh: Kernel) -> None:
    fresh.run("import atexit; atexit.register(print, 'print')")
    fresh.send("shutdown_request", {"restart": False}, "control")
    assert fresh.process.wait(timeout=WAIT) == 0
    text = ""
    while fresh.iopub.poll(100 if text.endswith("\n") else WAIT_MS):
        message = fresh.receive(fresh.iopub)
        text += message.content.get("text", "")
    assert text == "print\n"


@pytest.mark.parametrize(
    "code", ["", "import faulthandler, sys; faulthandler.enable(file=sys.stderr)"]
)
def test_a_crash_is_reported_on_the_original_stderr(fresh: Kernel, code: str) -> None:
    fresh.run(code)
    fresh.start("def here():\n    import ctypes; ctypes.string_at(0)\nhere()")
    fresh.process.wait(timeout=WAIT)
    report = fresh.stderr.read_text()
    assert report.startswith("Fatal Python error: Segmentation fault")
    assert " in here" in report


def test_captured_output_does_not_reach_the_original_stderr(fresh: Kernel) -> None:
    assert fresh.run("import os; os.write(1, b'one'); os.write(2, b'two');").text
    assert fresh.stderr.read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "status"), [(["-f", "/nonexistent/dir/c.json"], 1), (["--no-such=option"], 2)]
)
def test_a_start_that_fails_says_why(tmp_path: Path, arguments: list[str], status: int) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "ipybox_kernel", *arguments],
        check=False,
        env={"PATH": os.environ["PATH"], "IPYTHONDIR": "/proc/nonexistent"},
        cwd=tmp_path,
        capture_output=True,
        timeout=WAIT,
    )
    assert run.returncode == status
    assert run.stderr


def test_a_home_that_cannot_be_written_is_enough() -> None:
    with Kernel(env={"HOME": "/proc/nonexistent"}) as kernel:
        assert kernel.run("print(1)").text == "1\n"
        assert list(kernel.work.iterdir()) == []


def test_the_launch_leaves_no_trace_in_modules(kernel: Kernel) -> None:
    assert kernel.run("import sys; 'debugpy' in sys.modules").value == "False"


def test_the_kernel_opens_no_network_port(kernel: Kernel) -> None:
    inodes = {
        os.readlink(entry).removeprefix("socket:[").rstrip("]")
        for entry in Path(f"/proc/{kernel.process.pid}/fd").iterdir()
        if os.readlink(entry).startswith("socket:")
    }
    for table in ("tcp", "tcp6", "udp", "udp6"):
        path = Path(f"/proc/{kernel.process.pid}/net/{table}")
        lines = path.read_text().splitlines()[1:] if path.exists() else []
        assert not [line for line in lines if line.split()[9] in inodes]


def test_libraries_recognise_the_kernel(kernel: Kernel) -> None:
    result = kernel.run(
        "shell = get_ipython()\n"
        "print(type(shell).__name__, type(shell).__module__, 'IPKernelApp' in shell.config)"
    )
    assert result.text == "ZMQInteractiveShell ipykernel.zmqshell True\n"


def test_multiprocessing_can_spawn(kernel: Kernel) -> None:
    code = """
import multiprocessing
with multiprocessing.get_context("spawn").Pool(1) as pool:
    print(pool.map(abs, [-1, -2]))
"""
    assert kernel.run(code).text == "[1, 2]\n"
