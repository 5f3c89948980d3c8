#!/usr/bin/env python3
"""One container, and a conversation with the MCP server in it.

    drive.py NAME COMMAND... < script

COMMAND starts a container of that name and attaches to it, as `docker run -i --name NAME` does.

The script is Python, may be indented, and uses the names of `vocabulary()` below. When it ends,
standard input is closed, and the container must end with status 0 unless the script has ended it
itself. Everywhere: standard output must hold nothing but MCP messages. A failure prints both
sides, the conversation and the log.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

T = TypeVar("T")
JsonObject = dict[str, Any]

WAIT = 180.0  # seconds for whatever is waited for: it only ends what would hang
SHOWN = 400  # characters of a message in the report of a failure
ENVELOPE: JsonObject = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "drive", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
# A PNG of one pixel, as cells get it into a display; SHOW_PNG is the code that does so.
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHOW_PNG = f"display({{'image/png': '{PNG}'}}, raw=True)"
# Code that says so when it has begun and then ignores every interrupt.
STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: None)
sys.stdout.write("begun\\n")  # at once: print() sends the end of the line after it
sys.stdout.flush()
while True:
    time.sleep(1)
"""
LIST_PROCESSES = Path(__file__).with_name("processes.py").read_text()


class Failure(AssertionError):
    """What the script expected did not happen."""


def fail(why: str) -> NoReturn:
    """End the script."""
    raise Failure(why)


def equal(actual: object, expected: object) -> None:
    """Fail unless both are the same."""
    if actual != expected:
        fail(f"\n  expected: {expected!r:.2000}\n  actual:   {actual!r:.2000}")


def matches(text: str, pattern: str) -> re.Match[str]:
    """Fail unless the pattern is found somewhere in the text; `.` is any character."""
    found = re.search(pattern, text, re.DOTALL)
    if found is None:
        fail(f"\n  pattern: {pattern}\n  text:    {text!r:.4000}")
    return found


def below(actual: float, limit: float) -> None:
    """Fail unless actual < limit."""
    if actual >= limit:
        fail(f"{actual} is not below {limit}")


def wait_for(what: str, look: Callable[[], T]) -> T:
    """Call `look` until it answers something true, and return that."""
    deadline = time.monotonic() + WAIT
    while not (found := look()):
        if time.monotonic() > deadline:
            fail(f"waited {WAIT} s for {what}; last: {found!r:.2000}")
        time.sleep(0.02)
    return found


def note(text: str) -> None:
    """Show a figure in the output of the test run, also when all is well."""
    try:
        os.write(3, f"# {text}\n".encode())
    except OSError:
        print(text)


def docker(*words: str, stdin: str = "", check: bool = True) -> str:
    """The output of a docker command, which must succeed if `check`."""
    done = subprocess.run(
        ["docker", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=WAIT,
        check=False,
    )
    if check and done.returncode != 0:
        shown = " ".join(words)[:SHOWN]
        fail(f"docker {shown}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Process(NamedTuple):
    """One process of the container, as /proc tells."""

    pid: int
    ppid: int
    state: str
    uid: int  # the effective one
    uids: list[int]  # real, effective, saved, of files
    gid: int
    pss: int  # bytes; 0 unless the container has --cap-add SYS_PTRACE
    peak: int  # bytes: the most that was ever resident
    capabilities: int
    words: list[str]

    @property
    def is_server(self) -> bool:
        """The MCP server: the program in no other role."""
        roles = (["init"], ["shim"], ["branch"], ["health"])
        program = Path(self.words[0]).name if self.words else ""
        return program == "ipybox" and self.words[1:2] not in roles

    @property
    def is_kernel(self) -> bool:
        """A Python process that is a kernel or may become one."""
        module = next(iter(self.words[3:4]), "")
        return self.words[1:3] == ["-I", "-m"] and module.startswith("ipybox_kernel")


class Message(dict[str, Any]):
    """A message as it came; `raw` is its line."""

    def __init__(self, raw: str) -> None:
        super().__init__(json.loads(raw))
        self.raw = raw


class Answer:
    """The result of a tool call."""

    def __init__(self, message: Message) -> None:
        if "result" not in message:
            fail(f"a result was expected: {message.raw[:SHOWN]}")
        self.message = message
        self.result: JsonObject = message["result"]
        self.blocks: list[JsonObject] = self.result["content"]
        self.error: bool = self.result["isError"]

    @property
    def texts(self) -> list[str]:
        """The texts of all text blocks."""
        return [block["text"] for block in self.blocks if block["type"] == "text"]

    @property
    def text(self) -> str:
        """The first block's text, which is what clients have always been given."""
        return self.texts[0] if self.texts else ""

    @property
    def rest(self) -> str:
        """What the blocks after the first one say."""
        return "\n".join(self.texts[1:])

    def __repr__(self) -> str:
        return f"<{'error' if self.error else 'ok'} {self.texts!r:.2000}>"


class Box:
    """A running container, its standard streams and the MCP conversation over them."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.client = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.messages: list[Message] = []  # those that were not taken yet
        self.stray: list[str] = []  # lines that are no messages
        self.transcript: list[str] = []
        self.errors = b""
        self.closed = False  # nothing more comes out
        self.greeted = False
        self.last_id = 0
        self.status: int | None = None
        self.reading = threading.Event()
        self.reading.set()
        self.news = threading.Condition()
        self.readers = [
            threading.Thread(target=read, daemon=True)
            for read in (self.read_messages, self.read_errors)
        ]
        for reader in self.readers:
            reader.start()

    # --- the threads that read

    def read_messages(self) -> None:
        assert self.client.stdout is not None
        while self.reading.wait() and (line := self.client.stdout.readline()):
            text = line.decode("utf-8", "surrogateescape")
            with self.news:
                self.keep(text)
                self.news.notify_all()
        with self.news:
            self.closed = True
            self.news.notify_all()

    def keep(self, text: str) -> None:
        self.transcript.append(f"< {text[:SHOWN].rstrip()}")
        try:
            self.messages.append(Message(text.rstrip("\n")))
        except (ValueError, TypeError):
            self.stray.append(text)

    def read_errors(self) -> None:
        assert self.client.stderr is not None
        while data := os.read(self.client.stderr.fileno(), 65536):
            with self.news:
                self.errors += data
                self.news.notify_all()

    # --- messages

    def send(self, message: JsonObject | list[Any] | str | bytes) -> None:
        """Write one line; texts and bytes as they are, anything else as JSON."""
        if not isinstance(message, (str, bytes)):
            message = json.dumps(message)
        data = message if isinstance(message, bytes) else message.encode()
        self.transcript.append(f"> {data[:SHOWN].decode('utf-8', 'replace')}")
        assert self.client.stdin is not None
        self.client.stdin.write(data + b"\n")
        self.client.stdin.flush()

    def receive(self, what: str, wanted: Callable[[Message], bool]) -> Message:
        """Take the first message that is wanted, now or when it comes."""
        deadline = time.monotonic() + WAIT
        with self.news:
            while True:
                for i, message in enumerate(self.messages):
                    if wanted(message):
                        return self.messages.pop(i)
                if self.closed:
                    fail(f"the container has ended; {what} did not come")
                if not self.news.wait(deadline - time.monotonic()):
                    fail(f"waited {WAIT} s for {what}")

    def post(self, method: str, params: JsonObject | None = None, id: object = None) -> Any:
        """Send a request and return its id."""
        if id is None:
            self.last_id += 1
            id = self.last_id
        request: JsonObject = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            request["params"] = params
        self.send(request)
        return id

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, id: object) -> Message:
        """The result or error for the request `id`."""
        return self.receive(
            f"the answer to {id!r}",
            lambda m: "id" in m and "method" not in m and m["id"] == id,
        )

    def ask(self, method: str, params: JsonObject | None = None) -> Message:
        """Send a request and wait for its answer."""
        return self.answer(self.post(method, params))

    def ask_modern(self, method: str, **params: Any) -> Message:
        """The same with the envelope of the stateless era."""
        meta = {**ENVELOPE, **params.pop("_meta", {})}
        return self.ask(method, {**params, "_meta": meta})

    def greet(self, version: str = "2025-06-18", **capabilities: Any) -> Message:
        """The handshake."""
        self.greeted = True
        client = {"name": "drive", "version": "1"}
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": client,
        }
        answer = self.ask("initialize", params)
        self.notify("notifications/initialized")
        return answer

    def asked(self, method: str) -> Message:
        """Wait for a request of the server."""
        return self.receive(
            f"a request {method}", lambda m: "id" in m and m.get("method") == method
        )

    def reply(self, request: Message, result: JsonObject) -> None:
        """Answer a request of the server."""
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def notifications(self, method: str) -> list[JsonObject]:
        """Take the params of all that came so far."""
        with self.news:
            found = [m for m in self.messages if m.get("method") == method]
            self.messages = [m for m in self.messages if m.get("method") != method]
        return [m["params"] for m in found]

    def nothing_else(self) -> None:
        """Fail if there is a message that nobody asked for; what was sent before has been read."""
        self.ask("ping")
        with self.news:
            equal([m.raw for m in self.messages], [])

    # --- tools

    def start_tool(self, name: str, /, _meta: JsonObject | None = None, **arguments: Any) -> Any:
        """Call a tool without waiting; the id of the call."""
        if not self.greeted:
            self.greet()
        params: JsonObject = {"name": name, "arguments": arguments}
        if _meta is not None:
            params["_meta"] = _meta
        return self.post("tools/call", params)

    def tool(self, name: str, /, **arguments: Any) -> Answer:
        """Call a tool and wait."""
        return Answer(self.answer(self.start_tool(name, **arguments)))

    def start_cell(self, code: str, **arguments: Any) -> Any:
        """Execute code without waiting; the id of the call."""
        code = textwrap.dedent(code)
        return self.start_tool("execute_ipython_cell", code=code, **arguments)

    def begin_cell(self, code: str, **arguments: Any) -> Any:
        """Execute code that prints something flushed; back when that has come; the id."""
        meta = {"progressToken": f"begun {self.last_id}"}
        id = self.start_cell(code, _meta=meta, **arguments)
        self.receive(
            "its first output",
            lambda m: "id" not in m and m["params"].get("progressToken") == meta["progressToken"],
        )
        return id

    def finish(self, id: object) -> Answer:
        """Wait for what was started."""
        return Answer(self.answer(id))

    def cell(self, code: str, **arguments: Any) -> Answer:
        """Execute code and wait."""
        return self.finish(self.start_cell(code, **arguments))

    def runs(self, code: str, **arguments: Any) -> Answer:
        """The code runs to its end."""
        answer = self.cell(code, **arguments)
        if answer.error:
            fail(f"the cell failed: {answer}")
        return answer

    def prints(self, code: str, expected: object, **arguments: Any) -> Answer:
        """The code runs to its end, and its text is exactly this."""
        answer = self.cell(code, **arguments)
        equal((answer.error, answer.text), (False, str(expected)))
        return answer

    def fails(self, code: str, pattern: str, **arguments: Any) -> Answer:
        """The call is an error, whose text has the pattern in it."""
        answer = self.cell(code, **arguments)
        equal(answer.error, True)
        matches(answer.text, pattern)
        return answer

    def registers(self, name: str, *words: str, **params: Any) -> list[str]:
        """Register an MCP server, by default tool_server.py; the names of its first 20 modules."""
        params = params or {"command": "python3", "args": ["/tools/tool_server.py", *words]}
        answer = self.tool("register_mcp_server", server_name=name, server_params=params)
        if answer.error:
            fail(f"it was not registered: {answer}")
        matches(answer.texts[0], rf"^Registered {name}: \d+ tool")
        self.launch = "\n".join(answer.texts[1:])
        return re.findall(r"^(\w+)\(.*\) -> ", answer.texts[0], re.MULTILINE)

    # --- the container

    def log(self) -> str:
        """What has come on standard error."""
        return self.errors.decode("utf-8", "replace")

    def wait_for_log(self, pattern: str) -> None:
        """Wait until standard error has the pattern in it."""
        wait_for(f"{pattern!r} in the log", lambda: re.search(pattern, self.log()))

    def wait_for_start(self) -> None:
        """Wait until the engine has made and started the container."""
        show = ["inspect", "--format", "{{.State.Running}}", self.name]
        wait_for(
            "the container",
            lambda: self.client.poll() is not None or docker(*show, check=False).strip() == "true",
        )

    def inside(self, *words: str, user: str = "0", stdin: str = "", check: bool = True) -> str:
        """The output of a command in the container (docker exec)."""
        return docker("exec", "-i", "-u", user, self.name, *words, stdin=stdin, check=check)

    def processes(self) -> list[Process]:
        """Everything that runs in the container, zombies too, but the one that looks."""
        found = json.loads(self.inside("python3", "-I", "-S", "-", stdin=LIST_PROCESSES))
        return [Process(**process) for process in found]

    def zombies(self) -> list[Process]:
        """Processes that ended and were not reaped."""
        return [p for p in self.processes() if p.state == "Z"]

    def server(self) -> Process:
        """The MCP server itself."""
        found = [p for p in self.processes() if p.is_server]
        pids = {p.pid for p in found}
        # A child of it that has not executed its program yet has the same words.
        found = [p for p in found if p.ppid not in pids]
        equal(len(found), 1)
        return found[0]

    def kernels(self) -> list[Process]:
        """The Python processes of kernels, also of those that wait to be used."""
        return [p for p in self.processes() if p.is_kernel]

    def healthy(self) -> bool:
        """What HEALTHCHECK finds."""
        words = ["docker", "exec", self.name, "ipybox", "health"]
        return subprocess.run(words, capture_output=True, timeout=WAIT, check=False).returncode == 0

    def kill(self, process: Process) -> None:
        """SIGKILL to one process, which may have gone already."""
        self.inside("bash", "-c", f"kill -9 {process.pid} || true")

    def signal(self, name: str) -> None:
        """Send a signal to PID 1, as the engine does."""
        docker("kill", "-s", name, self.name)

    def stop(self) -> int:
        """docker stop, whose engine never kills: it would after 10 s, with status 137."""
        docker("stop", "-t", "-1", self.name)
        return self.ended()

    def close(self) -> None:
        """Say goodbye: the end of standard input."""
        assert self.client.stdin is not None
        if not self.client.stdin.closed:
            try:
                self.client.stdin.close()
            except BrokenPipeError:
                pass

    def ended(self) -> int:
        """Wait for the end of the container; its exit status."""
        try:
            self.status = self.client.wait(WAIT)
        except subprocess.TimeoutExpired:
            fail(f"the container did not end in {WAIT} s")
        self.reading.set()
        for reader in self.readers:
            reader.join(WAIT)
        return self.status

    def end(self) -> int:
        """Close and wait for the end; the exit status."""
        self.close()
        return self.ended()

    def remove(self) -> None:
        """Whatever happened: nothing stays."""
        self.reading.set()  # the engine waits for who reads nothing
        subprocess.run(
            ["docker", "rm", "-f", self.name], capture_output=True, timeout=WAIT, check=False
        )
        self.client.kill()

    def report(self) -> None:
        """What happened, for the one who has to find out why."""
        lines = self.transcript
        left_out = len(lines) - 60
        if left_out > 0:
            lines = [*lines[:10], f"... {left_out} lines are left out ...", *lines[-50:]]
        print("--- the conversation", *lines, sep="\n")
        print("--- standard error", self.log()[-8000:], sep="\n")


def vocabulary(box: Box) -> dict[str, Any]:
    """The names that a script can use."""
    functions: list[Callable[..., Any]] = [
        *(fail, equal, matches, below, wait_for, note, docker),
        *(box.send, box.receive, box.post, box.notify, box.answer, box.ask, box.ask_modern),
        *(box.greet, box.notifications, box.nothing_else),
        *(box.asked, box.reply, box.registers),
        *(
            box.start_tool,
            box.tool,
            box.start_cell,
            box.begin_cell,
            box.finish,
            box.cell,
            box.runs,
            box.prints,
            box.fails,
        ),
        *(box.log, box.wait_for_log, box.inside, box.processes, box.zombies, box.server),
        *(box.kernels, box.healthy, box.kill, box.signal, box.stop, box.close, box.ended, box.end),
    ]
    names: dict[str, Any] = {function.__name__: function for function in functions}
    modules = {"json": json, "os": os, "re": re, "subprocess": subprocess, "time": time}
    others = {
        "Answer": Answer,
        "ENVELOPE": ENVELOPE,
        "PNG": PNG,
        "SHOW_PNG": SHOW_PNG,
        "STUBBORN": STUBBORN,
        "WAIT": WAIT,
        "Path": Path,
    }
    return {**names, **modules, **others, "box": box}


def run(script: str, box: Box) -> None:
    """The script, and what holds for every conversation."""
    lines = script.splitlines(keepends=True)
    linecache.cache["script"] = (len(script), None, lines, "script")
    exec(compile(script, "script", "exec"), vocabulary(box))
    if box.status is None:
        equal(box.end(), 0)
    equal(box.stray, [])


def main(words: list[str]) -> int:
    name, *command = words
    script = textwrap.dedent(sys.stdin.read())
    print("+", *command)
    box = Box(name, command)
    try:
        box.wait_for_start()
        run(script, box)
    except (Exception, SystemExit):
        error = traceback.format_exc()
        print(error[error.find('  File "script"') :])
        box.report()
        return 1
    finally:
        box.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
