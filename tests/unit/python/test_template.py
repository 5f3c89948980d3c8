"""Kernels of a template are like ordinary ones, and unlike each other where it counts."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from box import WAIT, Kernel, no_unix_sockets, works_without_sockets
from ipybox_kernel.template import PRELOAD

PARENT = "import sys, time\nprint(sys.argv[1], flush=True)\ntime.sleep(60)"


class Template:
    """The template process and the supervisor's end of its socket."""

    def __init__(
        self,
        home: Path,
        preload: str = "",
        *,
        env: dict[str, str] | None = None,
        left_open: list[int] | None = None,
    ) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(WAIT)
        self.socket = ours
        self.stderr = home / "template's stderr"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ipybox_kernel.template", "--socket", str(theirs.fileno())],
            env={
                "PATH": os.environ["PATH"],
                "IPYTHONDIR": str(home / "ipython"),
                "IPYBOX_PRELOAD": preload,
                **(env or {}),
            },
            cwd=home,
            stdin=subprocess.DEVNULL,
            stderr=self.stderr.open("wb"),
            pass_fds=[theirs.fileno(), *(left_open or [])],
        )
        theirs.close()
        self.ready = self.receive()
        self.requests = 0
        self.ended: dict[int, int] = {}

    def receive(self) -> dict[str, Any]:
        packet: dict[str, Any] = json.loads(self.socket.recv(1 << 18))
        return packet

    def ask(self, fds: list[int], **request: Any) -> list[dict[str, Any]]:
        """All answers to a request, up to that which says that it is done or has failed."""
        self.requests += 1
        packet = json.dumps({"id": self.requests} | request).encode()
        socket.send_fds(self.socket, [packet], fds)
        answers = []
        while True:
            answer = self.receive()
            if "exited" in answer:
                self.ended[answer["exited"]] = answer["status"]
                continue
            assert answer["id"] == self.requests
            answers.append(answer)
            if "ready" in answer or "error" in answer:
                return answers

    def status(self, pid: int) -> int:
        """Wait for the end of a child of the template; its status as from waitpid()."""
        while pid not in self.ended:
            answer = self.receive()
            self.ended[answer["exited"]] = answer["status"]
        return self.ended[pid]

    def close(self) -> int:
        self.socket.close()
        return self.process.wait(WAIT)


class Fork:
    """A forked kernel's process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return 0
        return 0 if state == "Z" else None

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (timeout or WAIT)
        while self.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return 0


class ForkedKernel(Kernel):
    """A kernel that a template forks, with a parent of its own if `middle` is given."""

    def __init__(
        self, template: Template, *, env: dict[str, str] | None = None, middle: str = ""
    ) -> None:
        self.template = template
        self.middle = middle
        self.answers: list[dict[str, Any]] = []
        super().__init__(env=env)

    def spawn(self, env: dict[str, str], output: BinaryIO) -> Fork:
        kernel = {
            "argv": ["-f", str(self.connection)],
            "connection_file": str(self.connection),
            "cwd": str(self.work),
            "env": env,
            "fds": {"1": 0, "2": 0},
        }
        middle = None
        if self.middle:
            argv = [sys.executable, "-c", self.middle, "{pid}"]
            middle = {"argv": argv, "env": {"A": "b"}, "fds": {"1": 0, "2": 0, "5": 0}}
        self.answers = self.template.ask([output.fileno()], kernel=kernel, middle=middle)
        assert self.answers[-1].get("ready"), self.answers
        return Fork(self.answers[-2].get("kernel") or self.answers[-2]["pid"])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    running = Template(tmp_path_factory.mktemp("template"), "fractions, nothing_like_that")
    yield running
    assert running.close() == 0


@pytest.fixture(scope="module")
def forked(template: Template) -> Iterator[Kernel]:
    with ForkedKernel(template) as running:
        yield running


@pytest.fixture
def brief(template: Template) -> Iterator[ForkedKernel]:
    """A forked kernel of the test's own."""
    with ForkedKernel(template) as running:
        yield running


def shut_down(kernel: ForkedKernel) -> int:
    """Ask it to end; its wait status."""
    kernel.send("shutdown_request", {"restart": False}, "control")
    return kernel.template.status(kernel.process.pid)


def test_the_template_has_one_thread_and_says_what_it_could_not_import(template: Template) -> None:
    assert template.ready["ready"] is True
    assert template.ready["pid"] == template.process.pid
    assert template.ready["threads"] == 1
    assert list(template.ready["failed"]) == ["nothing_like_that"]


SAME = [
    "1 + 1",
    "print('text')",
    "import sys; print('error', file=sys.stderr)",
    "1 / 0",
    "def broken(:",
    "exit_code = 3; raise SystemExit(exit_code)",
    "import sys; sys.exit(3)",
    "input()",
    "%pwd",
    "a = 1\n%who_ls",
    "!echo hi; echo err >&2",
    "words = !echo a b\nwords",
    "%%bash\necho $((1 + 2))",
    "%history -n 1",
    "import asyncio; await asyncio.sleep(0.01); 'awaited'",
    "async def five(): return 5\nawait asyncio.gather(five(), five())",
    "__name__, sys.modules['__main__'] is get_ipython().user_module, '__file__' in globals()",
    "type(get_ipython()).__name__, type(get_ipython().kernel).__name__",
    "sys.path, sys.argv, sys.flags, sys.stdin.read()",
    "import os; sorted(set(os.environ) - {'LC_CTYPE', 'HOME'})",
    "os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()",
    "import signal; [(s.name, str(signal.getsignal(s))) for s in signal.valid_signals()"
    " if isinstance(s, signal.Signals)]",
    "subprocess = __import__('subprocess'); subprocess.run(['sh', '-c', 'trap']).returncode",
    "import threading\n"
    "sorted(t.name for t in threading.enumerate() if 'run_forever' not in t.name)",
    "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()",
    "os.write(1, b'descriptor\\n'); os.system('echo system')",
    "import multiprocessing\n"
    "for how in ('fork', 'spawn', 'forkserver'):\n"
    "    with multiprocessing.get_context(how).Pool(1) as pool: print(pool.map(abs, [-1]))",
    "from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(1) as e: print(list(e.map(abs, [-3])))",
    "import logging; logging.warning('warned')",
    "import warnings; warnings.warn('warned')",
    "from IPython.display import HTML, display; display(HTML('<b>x</b>'))",
    "from IPython.display import clear_output; clear_output()",
    "import json; json.dumps?",
    "import gc; gc.isenabled()",
    "import gc, weakref\nclass D: pass\n"
    "d = D(); r = weakref.ref(d, lambda _: print('gone')); del d\n"
    "d = D(); d.itself = d; w = weakref.ref(d); del d; gc.collect(); r(), w()",
    "import json, sys; old = json; del sys.modules['json']; import json; old is json",
    "import faulthandler; faulthandler.is_enabled()",
    "import pickle\nclass C: pass\ntype(pickle.loads(pickle.dumps(C()))).__name__",
    "m = get_ipython().magics_manager.magics; sorted(m['line']), sorted(m['cell'])",
    "import sqlite3; sqlite3.connect(':memory:').execute('select 1').fetchall()",
    "import tempfile; f = tempfile.NamedTemporaryFile(); os.path.exists(f.name)",
    "%load_ext autoreload\n%autoreload 2",
    "%cd /\nos.getcwd()",
    "_, _i, len(In), type(Out).__name__",
    "%notthere",
]


@pytest.fixture(scope="module")
def ordinary() -> Iterator[Kernel]:
    with Kernel() as running:
        yield running


@pytest.mark.parametrize("code", SAME)
def test_a_forked_kernel_is_like_an_ordinary_one(
    forked: Kernel, ordinary: Kernel, code: str
) -> None:
    assert seen(forked, code) == seen(ordinary, code)


def seen(kernel: Kernel, code: str) -> list[Any]:
    """What a cell gives, without what differs between any two kernels."""
    result = kernel.run(code)
    shown = json.dumps(
        [
            [result.status, result.stream("stdout"), result.stream("stderr")],
            [result.reply.get(key) for key in ("ename", "evalue", "traceback", "payload")],
            [[m.kind, m.content] for m in result.messages if m.kind != "stream"],
        ]
    )
    for pattern, text in (
        (str(kernel.home), "HOME"),
        (r"ipykernel_\d+", "ipykernel_PID"),
        (r"pid=\d+", "pid=PID"),
        (r"0x[0-9a-f]+", "0xADDRESS"),
    ):
        shown = re.sub(pattern, text, shown)
    lines: list[Any] = json.loads(shown)
    return lines


@pytest.mark.parametrize(
    "code",
    [
        "import random; random.random()",
        "import secrets; secrets.token_hex()",
        "import uuid; uuid.uuid4().hex, uuid.uuid1().hex",
        "import os; os.urandom(8)",
        "import tempfile; next(tempfile._get_candidate_names())",
        "import multiprocessing; bytes(multiprocessing.current_process().authkey)",
        "get_ipython().kernel.session.session, get_ipython().kernel.ident",
    ],
)
@pytest.mark.parametrize("middle", ["", PARENT])
def test_siblings_differ_in_what_must_not_be_guessed(
    template: Template, code: str, middle: str
) -> None:
    with ForkedKernel(template, middle=middle) as one, ForkedKernel(template, middle=middle) as two:
        assert one.run(code).value != two.run(code).value


def test_references_to_what_was_there_before_the_fork_are_not_counted(brief: ForkedKernel) -> None:
    counts = "import json, sys; [sys.getrefcount(x) for x in (json, json.loads, json.JSONDecoder)]"
    lasting = sys.getrefcount(None)  # no more than a number in older Pythons
    assert (brief.run(counts).value == str([lasting] * 3)) == (lasting == (1 << 32) - 1)
    assert brief.run("sys.getrefcount(object()) < 5").value == "True"


def test_a_collection_of_all_that_was_there_before_the_fork_does_no_harm(
    brief: ForkedKernel,
) -> None:
    code = "import gc, json; gc.unfreeze(); found = [gc.collect() for _ in range(3)]"
    assert brief.run(code).status == "ok"
    assert brief.run("json.loads(json.dumps({'a': [1]}))").value == "{'a': [1]}"
    assert brief.run("1 / 0").reply["ename"] == "ZeroDivisionError"
    assert shut_down(brief) == 0
    assert brief.stderr.read_text() == ""


def test_a_fork_gets_its_own_environment_and_place(template: Template) -> None:
    env = {"X": "y", "TZ": "UTC-5", "PYTHONPATH": "/some/where", "FORCE_COLOR": "1"}
    with ForkedKernel(template, env=env) as kernel:
        result = kernel.run(
            "import os, sys, time\n"
            "print(os.environ['X'], 'IPYBOX_PRELOAD' in os.environ, time.timezone, sys.path[0])\n"
            "print(os.getcwd(), sys.argv[2], os.environ.get('NO_COLOR'))"
        )
        assert result.text == (
            f"y False -18000 /some/where\n{kernel.work.resolve()} {kernel.connection} None\n"
        )


def test_the_arguments_are_those_of_a_stock_kernel(forked: Kernel, ordinary: Kernel) -> None:
    code = (
        "import sys, importlib.util as u\n"
        "sys.argv[0] == u.find_spec('ipykernel_launcher').origin, sys.argv[1], len(sys.argv)"
    )
    assert forked.run(code).value == ordinary.run(code).value == "(True, '-f', 3)"


def test_a_fork_has_no_descriptor_of_the_template(brief: ForkedKernel) -> None:
    # The template has its own at 200 and above.
    assert all(int(p.name) < 200 for p in Path(f"/proc/{brief.process.pid}/fd").iterdir())


def links(pid: int) -> dict[int, str]:
    """What a process has open, but for what somebody closes at this moment."""
    found = {}
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found[int(path.name)] = os.readlink(path)
    return found


def test_a_fork_does_not_write_to_where_the_template_does(brief: ForkedKernel) -> None:
    have = links(brief.process.pid)
    assert str(brief.stderr) in have.values()
    assert str(brief.template.stderr) not in have.values(), have


LEAKY = """
import os, select, tempfile
epoll = select.epoll()
os.set_inheritable(epoll.fileno(), True)
complaints = os.dup(2)
os.set_inheritable(complaints, True)
file = tempfile.TemporaryFile()
os.set_inheritable(file.fileno(), True)
file.write(b"a table"), file.flush()
"""


def test_what_the_template_was_left_or_its_modules_have_open(tmp_path: Path) -> None:
    # As libraries of the server do: not close-on-exec.
    epoll = select.epoll()
    stray = fcntl.fcntl(epoll.fileno(), fcntl.F_DUPFD, 60)
    (tmp_path / "leaky.py").write_text(LEAKY)
    template = Template(tmp_path, "leaky", env={"PYTHONPATH": str(tmp_path)}, left_open=[stray])
    os.close(stray)
    epoll.close()
    try:
        with ForkedKernel(template, middle=PARENT) as kernel:
            # A module keeps what it has opened, but the server's output is none of its business.
            kernel.run("import leaky, os")
            code = "os.pread(leaky.file.fileno(), 9, 0), leaky.epoll.poll(0)"
            assert kernel.run(code).value == "(b'a table', [])"
            kernel.run("os.write(leaky.complaints, b'said by a module')")
            have = links(kernel.process.pid)
            assert stray not in have or "eventpoll" not in have[stray]
            assert str(template.stderr) not in have.values(), have
            assert "said by a module" in kernel.stderr.read_text()
            assert template.stderr.read_text() == ""
            middle = kernel.answers[0]["pid"]
            assert set(links(middle)) == {0, 1, 2, 5}, links(middle)
    finally:
        assert template.close() == 0


def test_imported_modules_are_there_already(brief: ForkedKernel) -> None:
    assert brief.run("import sys; 'fractions' in sys.modules").value == "True"


def test_the_template_writes_nothing_where_it_is_started(tmp_path: Path) -> None:
    template = Template(tmp_path)
    try:
        with ForkedKernel(template) as kernel:
            kernel.run("%cd /\n%bookmark here")  # IPython keeps both in its profile
            assert kernel.run("%bookmark -l").text.split()[-3:] == ["here", "->", "/"]
        assert list(tmp_path.iterdir()) == [template.stderr]
    finally:
        assert template.close() == 0


def test_the_first_kernel_does_not_wait_for_what_later_ones_have(tmp_path: Path) -> None:
    template = Template(tmp_path)
    names = PRELOAD.read_text().split()
    try:
        with ForkedKernel(template) as first, ForkedKernel(template) as second:
            code = f"import sys; sum(name not in sys.modules for name in {names})"
            assert int(first.run(code).value) > int(second.run(code).value)
            assert first.run("1 / 0").status == second.run("1 / 0").status == "error"
    finally:
        assert template.close() == 0


def test_a_forked_kernel_reports_crashes_on_its_own_stderr(brief: ForkedKernel) -> None:
    brief.start("import ctypes; ctypes.string_at(0)")
    assert os.WTERMSIG(brief.template.status(brief.process.pid)) == signal.SIGSEGV
    assert brief.stderr.read_text().startswith("Fatal Python error: Segmentation fault")


@pytest.mark.parametrize(("code", "status"), [("import os; os._exit(7)", 7), ("exit()", 0)])
def test_the_template_reports_how_its_child_ended(
    brief: ForkedKernel, code: str, status: int
) -> None:
    brief.start(code)
    assert os.waitstatus_to_exitcode(brief.template.status(brief.process.pid)) == status


def test_handlers_at_exit_run_in_a_fork(brief: ForkedKernel) -> None:
    brief.run("import atexit; atexit.register(lambda: open('exited', 'w'))")
    assert shut_down(brief) == 0
    assert (brief.work / "exited").exists()


BROKER = """
import os, socket, sys, time
from ipybox_kernel import confine
steps = bytes.fromhex(sys.argv[2])
offer = confine.HEAD.pack(confine.VERSION, 0, 0, len(steps) // 8, 0)
filter = os.memfd_create("filter")
os.write(filter, steps)
kernel = socket.socket(fileno=5)
size = confine.LIMITS_AT + confine.LIMITS_MAX * confine.LIMIT.size
socket.send_fds(kernel, [offer.ljust(size, b"\\0")], [filter])
kernel.recv(64)
kernel.send(b"+")
time.sleep(600)
"""


class SocketlessFork(ForkedKernel):
    """One that its broker lets make no Unix sockets; it has those that a kernel needs."""

    def spawn(self, env: dict[str, str], output: BinaryIO) -> Fork:
        sockets = self.listening()
        argv = [sys.executable, "-c", BROKER, "{pid}", no_unix_sockets().hex()]
        kernel = {
            "argv": ["ipybox_kernel", "-f", str(self.connection)],
            "connection_file": str(self.connection),
            "cwd": str(self.work),
            "env": env,
            "fds": {"1": 0, "2": 0} | {str(5 + i): 1 + i for i in range(len(sockets))},
        }
        middle = {"argv": argv, "env": {}, "fds": {"1": 0, "2": 0}, "confine": 5}
        self.answers = self.template.ask([output.fileno(), *sockets], kernel=kernel, middle=middle)
        for fd in sockets:
            os.close(fd)
        assert self.answers[-1].get("ready"), self.answers
        return Fork(self.answers[-2]["kernel"])


def test_a_fork_that_can_make_no_sockets_takes_those_that_it_is_given(template: Template) -> None:
    with SocketlessFork(template) as kernel:
        works_without_sockets(kernel)


ENDS = """
import ctypes, threading, time

class Last:
    def __del__(self):
        with open("finalized", "w") as file:
            file.write("yes")

def slow():
    time.sleep(0.5)
    with open("thread", "w") as file:
        file.write("yes")

last = Last()
text, data = open("text", "w"), open("data", "wb")
text.write("yes")
data.write(b"yes")
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
libc.fputs(b"yes", ctypes.c_void_p(libc.fopen(b"of_c", b"w")))
threading.Thread(target=slow).start()
"""


def test_what_a_fork_has_not_written_yet_is_written_at_its_end(brief: ForkedKernel) -> None:
    assert brief.run(ENDS).status == "ok"
    assert shut_down(brief) == 0
    for name in ("text", "data", "of_c", "thread", "finalized"):
        assert (brief.work / name).read_text() == "yes", name


# The control thread publishes just when the IOPub thread has closed its sockets and not ended yet.
LATE = """
def publish_late(kernel):
    import threading, time
    publish, loop = kernel._publish_status, kernel.iopub_thread.io_loop
    close, closed = loop.close, threading.Event()

    def close_slowly(all_fds=False):
        close(all_fds=all_fds)
        closed.set()
        time.sleep(0.5)

    def late(status, channel, parent=None):
        if (status, channel) == ("idle", "control"):
            closed.wait(0.5)
        publish(status, channel, parent)

    loop.close, kernel._publish_status = close_slowly, late

publish_late(get_ipython().kernel)
held = open("held", "w")
held.write("yes")
"""


def test_an_end_waits_for_what_the_control_channel_publishes(brief: ForkedKernel) -> None:
    assert brief.run(LATE).status == "ok"
    assert shut_down(brief) == 0
    assert (brief.work / "held").read_text() == "yes"


def test_an_end_imports_nothing(brief: ForkedKernel) -> None:
    brief.run(
        "import atexit, sys; before = set(sys.modules)\n"
        "def tell():\n"
        "    with open('imported', 'w') as file: file.write(' '.join(set(sys.modules) - before))\n"
        "atexit.register(tell)"
    )
    assert shut_down(brief) == 0
    assert (brief.work / "imported").read_text() == ""


def test_an_end_says_nothing(brief: ForkedKernel) -> None:
    brief.run(
        "import asyncio; task = asyncio.create_task(asyncio.sleep(60)); held = open('x', 'w')"
    )
    assert shut_down(brief) == 0
    assert brief.stderr.read_text() == ""


def test_no_records_are_made_that_nobody_would_see(forked: Kernel) -> None:
    code = (
        "from ipykernel.kernelapp import IPKernelApp; IPKernelApp.instance().log.isEnabledFor(40)"
    )
    assert forked.run(code).value == "False"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(1000)",
        "import asyncio; await asyncio.sleep(1000)",
    ],
)
def test_an_interrupt_ends_a_cell_of_a_fork(forked: Kernel, code: str) -> None:
    ident = forked.start(code)
    forked.begun(ident)
    time.sleep(0.3)
    forked.interrupt()
    assert forked.finish(ident).status == "error"
    assert forked.run("'alive'").value == "'alive'"


@pytest.fixture(params=["forked", "ordinary"])
def either(request: pytest.FixtureRequest) -> Kernel:
    """One of each kind."""
    kernel: Kernel = request.getfixturevalue(request.param)
    return kernel


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(600)",
        "import asyncio; await asyncio.sleep(600)",
    ],
)
def test_a_request_to_interrupt_ends_a_cell(either: Kernel, code: str) -> None:
    cell = either.start(f"print('up')\n{code}")
    while either.receive(either.iopub).kind != "stream":  # before, IPython's own hooks may get it
        pass
    asked = either.send("interrupt_request", {}, "control")
    answer = either.receive(either.control)
    assert (answer.kind, answer.parent) == ("interrupt_reply", asked)
    assert answer.content["status"] == "ok"
    working = {cell, asked}
    while working:  # nothing is left for the next cell to read
        message = either.receive(either.iopub)
        if message.content.get("execution_state") == "idle":
            working.remove(message.parent)
    reply = either.receive(either.shell)
    assert (reply.parent, reply.content["status"]) == (cell, "error")
    assert reply.content["ename"] in ("KeyboardInterrupt", "CancelledError")
    assert either.run("'alive'").value == "'alive'"


def test_a_request_to_interrupt_between_cells_is_answered(either: Kernel) -> None:
    asked = either.send("interrupt_request", {}, "control")
    assert either.receive(either.control).parent == asked
    while either.receive(either.iopub).content.get("execution_state") != "idle":
        pass
    assert either.run("'alive'").value == "'alive'"


def test_input_asks_the_client_that_allows_it(either: Kernel) -> None:
    code = "import getpass; input('who? ') + getpass.getpass('key? ')"
    cell = either.start(code, allow_stdin=True)
    for prompt, secret in (("who? ", False), ("key? ", True)):
        asked = either.receive(either.stdin)
        assert (asked.kind, asked.parent) == ("input_request", cell)
        assert asked.content == {"prompt": prompt, "password": secret}
        either.send("input_reply", {"value": prompt.upper()}, "stdin")
    assert either.finish(cell).value == "'WHO? KEY? '"
    assert either.run("input()").reply["ename"] == "StdinNotImplementedError"


def test_an_interrupt_ends_a_cell_that_waits_for_input(either: Kernel) -> None:
    cell = either.start("input()", allow_stdin=True)
    assert either.receive(either.stdin).parent == cell
    either.interrupt()
    assert either.finish(cell).reply["ename"] == "KeyboardInterrupt"
    assert either.run("'alive'").value == "'alive'"


def control(kernel: Kernel, kind: str, content: dict[str, Any]) -> dict[str, Any]:
    """The content of the reply to a request on the control channel."""
    kernel.send(f"{kind}_request", content, "control")
    while (message := kernel.receive(kernel.control)).kind != f"{kind}_reply":
        pass
    return message.content


def test_a_subshell_works_beside_a_busy_cell(brief: ForkedKernel) -> None:
    assert brief.run("import threading; gate = threading.Event()").status == "ok"
    subshell = control(brief, "create_subshell", {})["subshell_id"]
    assert control(brief, "list_subshell", {})["subshell_id"] == [subshell]
    busy = brief.start("gate.wait(60)")
    beside = brief.start("print('beside'); gate.set()", subshell_id=subshell)
    printed = ""
    replies: dict[str, str] = {}
    idle: set[str] = set()
    while not {busy, beside} <= idle or len(replies) < 2:
        for channel in (brief.shell, brief.iopub):
            while channel.poll(10):
                message = brief.receive(channel)
                if message.kind == "stream":
                    assert message.parent == beside
                    printed += message.content["text"]
                elif message.kind == "execute_reply":
                    replies[message.parent] = message.content["status"]
                elif message.content.get("execution_state") == "idle":
                    idle.add(message.parent)
    assert (printed, replies) == ("beside\n", {busy: "ok", beside: "ok"})
    assert control(brief, "delete_subshell", {"subshell_id": subshell})["status"] == "ok"
    assert control(brief, "list_subshell", {})["subshell_id"] == []


def test_the_middle_process_is_the_parent_and_adopts_orphans(template: Template) -> None:
    with ForkedKernel(template, middle=PARENT) as kernel:
        middle = kernel.answers[0]["pid"]
        assert [sorted(answer) for answer in kernel.answers] == [
            ["id", "pid"],
            ["id", "kernel"],
            ["id", "ready"],
        ]
        assert kernel.run("import os; os.getppid()").value == str(middle)
        deadline = time.monotonic() + WAIT
        while f"{kernel.process.pid}\n" not in kernel.stderr.read_text():  # its Python starts
            assert time.monotonic() < deadline, "the middle process says nothing"
            time.sleep(0.01)
        assert Path(f"/proc/{middle}/environ").read_bytes() == b"A=b\0"
        assert os.readlink(f"/proc/{middle}/fd/5") == str(kernel.stderr)
        assert {int(p.name) for p in Path(f"/proc/{middle}/fd").iterdir()} == {0, 1, 2, 5}
        kernel.run(
            "import subprocess\n"
            "command = 'sleep 60 >/dev/null 2>&1 & echo $!'\n"
            "orphan = subprocess.run(command, shell=True, capture_output=True)"
        )
        orphan = int(kernel.run("orphan.stdout.decode().strip()").value.strip("'"))
        stat = Path(f"/proc/{orphan}/stat").read_text()
        assert stat.rsplit(")", 1)[1].split()[1] == str(middle)


def test_a_kernel_dies_with_its_middle_process(template: Template) -> None:
    with ForkedKernel(template, middle=PARENT) as kernel:
        os.kill(kernel.answers[0]["pid"], signal.SIGKILL)
        kernel.process.wait(WAIT)


def test_the_middle_process_has_default_signals(template: Template) -> None:
    with ForkedKernel(template, middle=PARENT) as kernel:
        status = Path(f"/proc/{kernel.answers[0]['pid']}/status").read_text()
        ignored = int(re.search(r"SigIgn:\s*(\w+)", status)[1], 16)  # type: ignore[index]
        # Python itself ignores SIGPIPE and SIGXFSZ again; SIGINT shows what was handed on.
        assert not ignored & 1 << (signal.SIGINT - 1)


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"kernel": 5},
        {"kernel": {"argv": [], "env": {}, "cwd": "/"}},
        {"kernel": {"argv": [], "env": {}, "cwd": "/", "connection_file": "x", "fds": {"1": 9}}},
        {"kernel": {"argv": [], "env": {}, "cwd": "/", "connection_file": "x", "fds": {"999": 0}}},
    ],
)
def test_a_bad_request_is_refused_and_the_template_goes_on(
    template: Template, request_: dict[str, Any]
) -> None:
    with Path(os.devnull).open() as null:
        (answer,) = template.ask([null.fileno()], **request_)
    assert "bad request" in answer["error"]
    with ForkedKernel(template) as kernel:
        assert kernel.run("'alive'").value == "'alive'"


@pytest.mark.parametrize("change", [{"cwd": "/nonexistent"}, {"connection_file": "/nonexistent"}])
def test_a_kernel_that_cannot_start_says_why(
    template: Template, tmp_path: Path, change: dict[str, str]
) -> None:
    kernel = {
        "argv": ["k"],
        "env": {},
        "cwd": "/",
        "connection_file": "/x",
        "fds": {"1": 0, "2": 0},
    }
    with (tmp_path / "stderr").open("w") as stderr:
        answers = template.ask([stderr.fileno()], kernel=kernel | change)
    assert template.status(answers[0]["pid"]) != 0
    written = (tmp_path / "stderr").read_text()
    assert "kernel: " in answers[-1].get("error", "") or "/nonexistent" in written


def test_a_middle_process_that_cannot_start_takes_the_kernel_with_it(
    template: Template, tmp_path: Path
) -> None:
    with Kernel() as model:
        connection = str(model.connection)
    kernel = {"argv": ["k"], "env": {}, "cwd": "/", "connection_file": connection}
    middle = {"argv": ["/nonexistent/shim", "{pid}"], "env": {}}
    answers = template.ask([], kernel=kernel, middle=middle)
    assert "/nonexistent/shim" in answers[-1]["error"]
    Fork(next(a["kernel"] for a in answers if "kernel" in a)).wait(WAIT)


def test_nothing_is_left_of_many_kernels(template: Template) -> None:
    process = Path(f"/proc/{template.process.pid}")

    def count() -> tuple[int, int]:
        children = (process / "task" / process.name / "children").read_text()
        # Only root can look into the template.
        fds = list((process / "fd").iterdir()) if os.geteuid() == 0 else []
        return len(fds), len(children.split())

    before = count()
    for _ in range(20):
        with ForkedKernel(template) as kernel:
            pid = kernel.process.pid
        template.status(pid)
    deadline = time.monotonic() + WAIT
    while (after := count())[0] > before[0] or after[1] > before[1]:  # less is an earlier test's
        assert time.monotonic() < deadline, (before, after)
        time.sleep(0.01)


def test_an_interrupt_does_not_end_the_template(template: Template) -> None:
    template.process.send_signal(signal.SIGINT)
    with ForkedKernel(template) as kernel:
        assert kernel.run("'alive'").value == "'alive'"
