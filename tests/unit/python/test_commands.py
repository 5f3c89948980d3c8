"""Shell commands of cells, and processes that a cell leaves behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from box import WAIT, Kernel

IGNORE_WARNING = "import os, warnings; warnings.simplefilter('ignore')\n"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("!cat", ""),
        ("!read x || echo nothing to read", "nothing to read\r\n"),
        ("!python3 -c 'input()' 2>&1 | tail -n 1", "EOFError: EOF when reading a line\r\n"),
        ("!echo piped | cat", "piped\r\n"),
        ("!printf given > f; cat < f", "given"),
        ("x = 3\n!echo {x}; (exit 7)\nprint(_exit_code)", "3\r\n7\n"),
    ],
)
def test_a_command_that_asks_reads_the_end_of_input(kernel: Kernel, code: str, text: str) -> None:
    assert kernel.run(code).text == text


def test_uv_is_the_program_that_commands_find(kernel: Kernel) -> None:
    home = kernel.home / "bin"
    home.mkdir()
    (home / "uv").write_text('#!/bin/sh\necho "uv was called with $*"\n')
    (home / "uv").chmod(0o755)
    kernel.run(f"import os; os.environ['PATH'] = {str(home)!r} + ':' + os.environ['PATH']")
    text = kernel.run("%uv pip install x").text
    assert text.startswith("uv was called with pip install x\r\n")


def test_other_pythons_print_at_once(kernel: Kernel) -> None:
    code = "!python3 -c 'import sys; print(sys.stdout.write_through)' | cat"
    assert kernel.run(code).text == "True\r\n"


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} is still there")


def test_a_child_that_comes_out_of_its_cell_ends(kernel: Kernel) -> None:
    kernel.run(IGNORE_WARNING + "pid = os.fork()")
    wait_gone(int(kernel.run("pid").value))
    assert kernel.run("os.waitpid(pid, 0)[1]").value == "0"


def test_a_child_waits_for_its_threads_and_tells_its_error(kernel: Kernel) -> None:
    result = kernel.run(
        IGNORE_WARNING + "import threading, time\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    threading.Thread(target=lambda: (time.sleep(0.3), print('of the thread'))).start()\n"
        "    raise ValueError('of the child')\n"
        "status = os.waitpid(pid, 0)[1]"
    )
    assert result.stream("stdout") == "of the thread\n"
    assert "ValueError: of the child" in result.stream("stderr")
    assert kernel.run("os.waitstatus_to_exitcode(status)").value == "1"


def test_a_child_that_awaits_has_no_loop_and_ends(kernel: Kernel) -> None:
    result = kernel.run(
        IGNORE_WARNING + "import asyncio\npid = os.fork()\nif pid == 0: await asyncio.sleep(600)\n"
        "status = os.waitpid(pid, 0)[1]"
    )
    assert "no running event loop" in result.stream("stderr")
    assert kernel.run("os.waitstatus_to_exitcode(status)").value == "1"
