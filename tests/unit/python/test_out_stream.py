"""Text that a cell writes, in every way there is, arrives: all of it, in order, before the end."""

from __future__ import annotations

import time

import pytest
from box import Kernel

CHUNK = 65536  # characters in one message, as out_stream promises


def test_2000_quick_cells_lose_nothing(kernel: Kernel) -> None:
    kernel.run("import os, subprocess")
    for number in range(2000):
        expected = f"cell {number}\n"
        if number % 10 == 9:
            code = f"subprocess.run(['echo', 'cell {number}']);"
        elif number % 10 >= 7:
            code = f"os.write(1, b'cell {number}\\n');"
        else:
            code = f"print('cell {number}')"
        assert kernel.run(code).text == expected


def test_text_of_all_origins_keeps_its_order(kernel: Kernel) -> None:
    result = kernel.run(
        """
import ctypes, os, subprocess, sys
for turn in range(50):
    print("print", turn)
    os.write(1, b"write\\n")
    print("error", turn, file=sys.stderr)
    subprocess.run(["echo", "child"])
    ctypes.CDLL(None).puts(b"puts")
    print("last", turn)
"""
    )
    lines = [f"print {n}\nwrite\nerror {n}\nchild\nputs\nlast {n}\n" for n in range(50)]
    assert result.text == "".join(lines)
    assert result.stream("stderr") == "".join(f"error {n}\n" for n in range(50))


def test_display_and_text_keep_their_order(kernel: Kernel) -> None:
    result = kernel.run("for n in range(200):\n    print(n)\n    display(n)")
    shown = [
        message.content["text"] if message.kind == "stream" else message.content["data"]
        for message in result.messages
        if message.kind != "execute_input"
    ]
    texts = "".join(s if isinstance(s, str) else f"[{s['text/plain']}]" for s in shown)
    assert texts == "".join(f"{n}\n[{n}]" for n in range(200))


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes; _ = ctypes.CDLL(None).printf(b'no newline')",
        "import os; os.write(2, b'no newline');",
        "import subprocess, sys; subprocess.run(['printf', 'no newline'], stdout=sys.stderr);",
        "import os; _ = os.system('printf \"no newline\"')",
        "!printf 'no newline'",
        "%%bash\nprintf 'no newline'",
    ],
)
def test_output_below_python_is_part_of_the_cell(kernel: Kernel, code: str) -> None:
    assert kernel.run(code).text == "no newline"


def test_output_of_forked_children_comes_once(kernel: Kernel) -> None:
    result = kernel.run(
        """
import multiprocessing, os, sys
print("before")
pid = os.fork()
if pid == 0:
    print("in the child")
    print("error in the child", file=sys.stderr)
    os._exit(0)
os.waitpid(pid, 0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(print, ["a", "a", "a"])
print("after")
"""
    )
    assert sorted(result.stream("stdout").split("\n")) == sorted(
        ["before", "in the child", "a", "a", "a", "after", ""]
    )
    assert result.stream("stdout").startswith("before\nin the child\n")
    assert result.stream("stdout").endswith("after\n")
    # Python warns of fork() beside it.
    assert result.stream("stderr").count("error in the child\n") == 1


def test_a_display_in_a_forked_child_disturbs_nothing(kernel: Kernel) -> None:
    result = kernel.run(
        "import os, warnings; warnings.simplefilter('ignore')\n"
        "display('before')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    display('of the child'); print('text of the child', flush=True); os._exit(0)\n"
        "_ = os.waitpid(pid, 0)\n"
        "display('after')"
    )
    shown = [m.content["data"]["text/plain"] for m in result.of("display_data")]
    assert (shown, result.text) == (["'before'", "'after'"], "text of the child\n")
    assert kernel.run("'alive'").value == "'alive'"


def test_output_of_threads_is_part_of_the_cell(kernel: Kernel) -> None:
    code = """
import threading
threads = [threading.Thread(target=lambda n=n: print("thread", n)) for n in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    assert kernel.run(code).text.count("thread") == 20


def test_a_child_may_write_half_characters_at_a_time(kernel: Kernel) -> None:
    result = kernel.run(
        """
import subprocess, sys
code = '''
import os
for byte in ("é" * 5000).encode():
    os.write(1, bytes([byte]))
'''
subprocess.run([sys.executable, "-c", code]);
"""
    )
    assert result.text == "é" * 5000


def test_bytes_that_are_not_utf_8_become_replacement_characters(kernel: Kernel) -> None:
    assert kernel.run("import os; os.write(1, b'a\\xff\\xc3(b\\n');").text == "a\ufffd\ufffd(b\n"


def test_one_large_print_comes_whole_in_small_messages(kernel: Kernel) -> None:
    result = kernel.run("text = 'äöü€𝄞' * 4_000_000; print(text, end='')")
    assert result.text == "äöü€𝄞" * 4_000_000
    assert max(len(m.content["text"]) for m in result.of("stream")) <= CHUNK
    kernel.run("del text")


def test_large_output_of_a_child_comes_whole(kernel: Kernel) -> None:
    result = kernel.run(
        "import subprocess; subprocess.run('yes 0123456789abcde | head -c 20000000', shell=True);"
    )
    assert result.text == "0123456789abcde\n" * 1_250_000
    assert max(len(m.content["text"]) for m in result.of("stream")) <= CHUNK


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (r"print('a\udc80b')", "a\\udc80b\n"),
        (r"print('a\ud800b\udfff')", "a\\ud800b\\udfff\n"),
        (r"print('\ud83d\ude00')", "\\ud83d\\ude00\n"),
        (r"import sys; print('é\udc80', file=sys.stderr)", "é\\udc80\n"),
    ],
)
def test_half_a_surrogate_pair_comes_as_its_escape(
    kernel: Kernel, code: str, expected: str
) -> None:
    assert kernel.run(code).text == expected


def test_surrogates_without_end_stay_within_the_message_size(kernel: Kernel) -> None:
    result = kernel.run(r"print('\udc80' * 100_000, end='')")
    assert result.text == "\\udc80" * 100_000
    assert max(len(m.content["text"]) for m in result.of("stream")) <= CHUNK


def test_surrogates_in_errors_and_results_do_not_lose_the_reply(kernel: Kernel) -> None:
    result = kernel.run(r"raise ValueError('\ud800')")
    assert (result.status, result.reply["evalue"]) == ("error", "\\ud800")
    assert result.of("error")[0].content["evalue"] == "\\ud800"
    shown = kernel.run(r"display({'text/plain': '\udc80'}, raw=True)").of("display_data")
    assert shown[0].content["data"]["text/plain"] == "\\udc80"


def test_text_shows_up_while_the_cell_runs(kernel: Kernel) -> None:
    ident = kernel.start(
        "import os, time; print('early')\n"
        "for _ in range(6000):\n    if os.path.exists('seen'): break\n    time.sleep(0.01)"
    )
    text = ""
    while not text.endswith("\n"):  # a line may come in two
        message = kernel.receive(kernel.iopub)
        assert message.content.get("execution_state") != "idle"
        text += message.content["text"] if message.kind == "stream" else ""
    assert text == "early\n"
    (kernel.work / "seen").touch()
    assert kernel.finish(ident).text == ""


def test_a_reader_that_stops_stops_the_kernel_and_loses_nothing() -> None:
    with Kernel(queue=10) as kernel:
        kernel.run("print()")
        before = kernel.memory()
        ident = kernel.start("for n in range(100_000): print(n, 'x' * 1000)")
        time.sleep(3)  # enough for all of it, did it not wait
        text = kernel.finish(ident).text
        assert text == "".join(f"{n} {'x' * 1000}\n" for n in range(100_000))
        assert kernel.memory() - before < 32  # of 100 that were printed


def test_a_cell_that_waits_for_its_reader_can_be_interrupted() -> None:
    with Kernel(queue=10) as kernel:
        ident = kernel.start("while True: print('x' * 1000)")
        kernel.begun(ident)
        time.sleep(1)
        kernel.interrupt()
        time.sleep(0.2)
        result = kernel.finish(ident)
        assert result.reply["ename"] == "KeyboardInterrupt"
        assert kernel.run("print('alive')").text == "alive\n"


@pytest.mark.parametrize(
    "code",
    [
        "for n in range(1_000_000): print(n)",
        "import sys\nfor n in range(300): sys.stdout.write(str(n) + 'x' * 999_999)",
        "import os\nfor n in range(1000): os.write(1, b'x' * 100_000)",
        "import sys\nfor n in range(100_000): print(n); print(n, file=sys.stderr)",
    ],
)
def test_output_without_end_takes_no_memory(fresh: Kernel, code: str) -> None:
    fresh.run("print()")
    before = fresh.memory()
    fresh.run(code)
    assert fresh.memory() - before < 16


def test_streams_are_files(kernel: Kernel) -> None:
    result = kernel.run(
        """
import sys
assert sys.stdout.fileno() == 1 and sys.stderr.fileno() == 2
assert sys.stdout.write("") == 0 and sys.stdout.write("abc") == 3
assert not sys.stdout.isatty() and sys.stdout.writable() and not sys.stdout.closed
sys.stdout.writelines(["d", "e"])
try:
    sys.stdout.write(b"bytes")
except TypeError as error:
    print(error)
"""
    )
    assert result.text == "abcdewrite() argument must be str, not <class 'bytes'>\n"


def test_a_signal_handler_that_prints_does_not_block(kernel: Kernel) -> None:
    result = kernel.run(
        """
import signal, time
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
    print("tick")
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for n in range(200_000): print(n)
signal.setitimer(signal.ITIMER_REAL, 0)
time.sleep(0.1)  # another thread may have got the last one
"""
    )
    assert result.text.count("tick") == int(kernel.run("ticks").value) > 10
