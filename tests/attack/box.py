# SPDX-License-Identifier: Apache-2.0
"""A container under attack: how it is started in each mode, and what the honest side does to it."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

HERE = Path(__file__).resolve().parent
WAIT = 180.0  # seconds for whatever is waited for: it only ends what would hang
WORKSPACE = "/app/workspace"
ADMIN, EXECUTE, APPROVER = "CANARY-admin", "CANARY-execute", "CANARY-approver"
ENV_SECRET, SERVER_SECRET = "CANARY-in-dot-env", "CANARY-of-a-server"
TOKENS = {"IPYBOX_TOKEN": ADMIN, "IPYBOX_EXECUTE_TOKEN": EXECUTE, "IPYBOX_APPROVER_TOKEN": APPROVER}
RESTRICTED = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"]
RESTRICTED += ["--security-opt", "no-new-privileges"]

SERVERS = {
    "demo": {
        "command": "python3",
        "args": ["/attack/mcp_server.py"],
        "env": {"SERVER_SECRET": SERVER_SECRET},
    },
    "plain": {"command": "python3", "args": ["/attack/mcp_server.py"]},
}
POLICY = {
    "default": "allow",
    "rules": [{"server": "*", "tool": "danger", "action": "ask"}],
}


# Of attacks on processes: what SECURITY.md says of the modes below gVisor.
GVISOR_SEES_ALL = {
    "runsc *": (
        "SECURITY.md",
        "code of one uid there signals and looks into all processes of that uid",
    )
}


class CannotTry(Exception):
    """An attack could not be carried out: that is no proof that it was held."""


@dataclass(frozen=True)
class Mode:
    """A kind of container: R as root, U with --user, K with nothing at all; +S with --sandbox."""

    engine: str
    command: tuple[str, ...]  # the engine's command line, up to its verb
    kind: str
    image: str
    owner: tuple[int, int]  # of the workspace, outside

    @property
    def name(self) -> str:
        return f"{self.engine} {self.kind}"

    @property
    def sandboxed(self) -> bool:
        return self.kind.endswith("+S")

    def options(self) -> list[str]:
        user = ["--user", "0:0" if self.kind[0] == "R" else "1234:1234"]
        return [*user, *(RESTRICTED if self.kind[0] == "K" else [])]


@dataclass
class Reply:
    status: int
    text: str

    def __getitem__(self, name: str) -> Any:
        try:
            return json.loads(self.text)[name]
        except (ValueError, KeyError) as error:
            raise CannotTry(f"no {name} in {self.status} {self.text[:300]}") from error


@dataclass
class Box:
    mode: Mode
    options: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=lambda: dict(TOKENS))
    name: str = ""
    heard: list[str] = field(default_factory=list)  # everything that the server has answered

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ipybox-attack-"))
        self.name = self.folder.name
        self.answers: dict[int, SimpleQueue[Reply]] = {}
        self.numbers = itertools.count()
        self.bridge: subprocess.Popen[str] | None = None
        self.prepare()

    def prepare(self) -> None:
        """Workspace and attack folder, readable for whoever the container's user is outside."""
        self.folder.chmod(0o755)
        shutil.copytree(HERE / "inside", self.folder / "attack", dirs_exist_ok=True)
        self.workspace = self.folder / "workspace"
        self.secrets = self.folder / "secrets"
        (self.folder / "attack" / "servers.json").write_text(json.dumps({"mcpServers": SERVERS}))
        (self.folder / "attack" / "policy.json").write_text(json.dumps(POLICY))
        for folder in self.workspace, self.secrets:
            folder.mkdir()
        (self.workspace / ".env").write_text(f"ENV_SECRET={ENV_SECRET}\n")
        (self.workspace / "marks.jsonl").write_text("")
        (self.workspace / ".git" / "hooks").mkdir(parents=True)

    def give(self) -> None:
        """The workspace and the secrets become the cells' user's, as a user of ipybox has them."""
        for root in self.workspace, self.secrets:
            for path in [root, *root.rglob("*")]:
                os.chown(path, *self.mode.owner, follow_symlinks=False)

    # ---- the engine ----

    def engine(
        self, *words: str, timeout: float = WAIT, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [*self.mode.command, *words]
        try:
            return subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=timeout,
                check=False, input=input, cwd="/",
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", "out of time")

    def run(self, *, wait: bool = True) -> Box:
        self.give()
        variables = [word for pair in self.environment.items() for word in ("-e", "=".join(pair))]
        sandbox = ["--sandbox"] if self.mode.sandboxed else []
        started = self.engine(
            *("run", "-d", "--name", self.name, "--network", "none", "--no-healthcheck"),
            *self.mode.options(), *variables, *self.options,
            *("-v", f"{self.workspace}:{WORKSPACE}", "-v", f"{self.folder}/attack:/attack:ro"),
            *(self.mode.image, "serve", *sandbox),
            *("--mcp-servers", "/attack/servers.json", "--tool-policy", "/attack/policy.json"),
            *self.words,
        )  # fmt: skip
        if started.returncode:
            raise CannotTry(f"the container does not start: {started.stderr[-500:]}")
        if wait:
            self.wait_for("the server", self.ready)
        return self

    def ready(self) -> bool:
        if self.engine("inspect", "-f", "{{.State.Running}}", self.name).stdout.strip() != "true":
            raise CannotTry(f"the container has ended: {self.logs()[-600:]}")
        if self.bridge and self.bridge.poll() is not None:
            self.bridge = None
        return self.call("GET", "/startupz", token="", timeout=5).status == 200

    def logs(self) -> str:
        done = self.engine("logs", self.name)
        return done.stdout + done.stderr

    def close(self) -> None:
        if self.bridge:
            self.bridge.kill()
            self.bridge.wait()
        self.engine("rm", "-f", self.name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def inside(self, *words: str, input: str | None = None, timeout: float = WAIT) -> str:
        """What a program prints that somebody starts with `docker exec`; both streams."""
        with_input = ["-i"] if input is not None else []
        done = self.engine("exec", *with_input, self.name, *words, timeout=timeout, input=input)
        self.heard.append(done.stdout + done.stderr)
        return done.stdout + done.stderr

    # ---- the HTTP API ----

    def listen(self, bridge: subprocess.Popen[str], answers: dict[int, SimpleQueue[Reply]]) -> None:
        assert bridge.stdout
        for line in bridge.stdout:
            if not line.startswith("{"):
                continue  # the engine says that the container has ended
            answer = json.loads(line)
            answers.pop(answer["id"]).put(Reply(answer["status"], answer["text"]))
        for waiting in list(answers.values()):
            waiting.put(Reply(0, "the bridge has ended"))

    def open_bridge(self) -> subprocess.Popen[str]:
        if not self.bridge:
            program = ["/usr/bin/python3", "-I", "-S", "/attack/bridge.py"]
            self.bridge = subprocess.Popen(
                [*self.mode.command, "exec", "-i", self.name, *program],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, bufsize=1, cwd="/",
            )  # fmt: skip
            self.answers = {}
            given = (self.bridge, self.answers)
            threading.Thread(target=self.listen, args=given, daemon=True).start()
        return self.bridge

    def begin(
        self, method: str, path: str, body: object = None, token: str = ADMIN,
        timeout: float = WAIT, port: int = 8080, raw: bool = False,
    ) -> SimpleQueue[Reply]:  # fmt: skip
        """Sends a request; its reply comes through the queue."""
        bridge, number = self.open_bridge(), next(self.numbers)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        if body is not None and not raw:
            headers["Content-Type"] = "application/json"
        queue: SimpleQueue[Reply] = SimpleQueue()
        self.answers[number] = queue
        request = {"id": number, "method": method, "path": path, "body": text, "port": port}
        request |= {"headers": headers, "timeout": timeout}
        try:
            assert bridge.stdin
            bridge.stdin.write(json.dumps(request) + "\n")
        except OSError:
            queue.put(Reply(0, "the bridge has ended"))
        return queue

    def call(
        self, method: str, path: str, body: object = None, token: str = ADMIN,
        timeout: float = WAIT, port: int = 8080, raw: bool = False,
    ) -> Reply:  # fmt: skip
        queue = self.begin(method, path, body, token, timeout, port, raw)
        try:
            reply = queue.get(timeout=timeout + WAIT)
        except Empty:
            reply = Reply(0, "out of time")
        self.heard.append(reply.text)
        return reply

    def session(self, **members: object) -> str:
        reply = self.call("POST", "/v1/sessions", {k: v for k, v in members.items() if v})
        return str(reply["id"])

    def run_cell(self, code: str, session: str = "default", timeout: float = WAIT) -> Reply:
        path = f"/v1/sessions/{session}/executions"
        body = {"code": code, "timeout_ms": int(timeout * 1000)}
        return self.call("POST", path, body, timeout=timeout + WAIT)

    def cell(
        self, code: str, session: str = "default", timeout: float = WAIT, ends: bool = False
    ) -> str:
        """What a cell prints, with the attackers' weapons at hand. One that fails by an exception
        has tried nothing; `ends`: it may also take too long, or its kernel with it."""
        arms = "import sys; sys.path.insert(0, '/attack'); sys.dont_write_bytecode = True\n"
        reply = self.run_cell(f"{arms}import weapons as w, os\n{code}", session, timeout)
        if reply.status != 200:
            raise CannotTry(f"the cell was answered {reply.status} {reply.text[:300]}")
        if reply["status"] != "ok" and not ends:
            raise CannotTry(f"the cell has failed: {reply.text[:800]}")
        return str(reply["text"])

    def reset(self, session: str = "default") -> Reply:
        return self.call("POST", f"/v1/sessions/{session}/reset", {})

    def install(self, package: str, timeout: float = WAIT) -> Reply:
        return self.call("POST", "/v1/packages", {"package": package}, timeout=timeout)

    # ---- what was got ----

    def wait_for(self, what: str, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + WAIT
        while not condition():
            if time.monotonic() > deadline:
                raise CannotTry(f"waited in vain for {what}")
            time.sleep(0.05)

    def bare(self) -> list[str]:
        """The walls of a process that nobody has put behind any."""
        text = self.inside("/bin/cat", "/proc/self/status")
        pairs = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        return [pairs.get(name, "").strip() for name in ("Seccomp", "Seccomp_filters")]

    def marks(self) -> list[dict[str, Any]]:
        """What planted files have told of who ran them."""
        names = [f"{folder}/marks.jsonl" for folder in (WORKSPACE, "/tmp", "/dev/shm", "/")]
        self.inside("/bin/cat", *names)
        found = {}
        for text in [*self.heard, self.logs()]:
            for line in text.replace("\\n", "\n").replace('\\"', '"').splitlines():
                at = line.find('{"plant"')
                if at >= 0:
                    try:
                        mark = json.JSONDecoder().raw_decode(line[at:])[0]
                        found[json.dumps(mark)] = mark
                    except ValueError:
                        pass
        return list(found.values())

    def loot_of_plants(self) -> str:
        """The plants that ran outside of kernels' walls, or where a secret is."""
        bare = self.bare()
        got = set()
        for mark in self.marks():
            words = " < ".join(mark["above"])
            helper = any(name in words for name in ("-m ipybox_pip", "ipybox_gateway", "/pip "))
            if mark["walls"] == bare or mark["canaries"] or helper:
                got.add(f"{mark['plant']} by {words[:120]} as uid {mark['uid']}")
        return "; ".join(sorted(got))


# ---- the doors ----

DOORS = HERE.parent / "container" / "lib" / "doors.py"
WITH_DOORS = ["--e2b", "--agent-sandbox", "--agent-sandbox-rest-port", "9888"]
WITH_DOORS += ["--agent-sandbox-grpc-port", "9090"]


def at_doors(box: Box, script: str, timeout: float = WAIT) -> str:
    """What a script prints that has every door to files (container/lib/doors.py), as `doors` of the
    token execute, and cells: `cell(CODE)`. It runs beside the server, in the workspace."""
    head = f"""
ADMIN, EXECUTE = {ADMIN!r}, {EXECUTE!r}
import os, sys, threading, time
os.chdir({WORKSPACE!r})
def cell(code, session="default", wait=WAIT):
    kind = {{"Content-Type": "application/json", "Authorization": "Bearer " + ADMIN}}
    body = json.dumps({{"code": code, "timeout_ms": int(wait * 1000)}}).encode()
    reply = ask(API, "POST", f"/v1/sessions/{{session}}/executions", body, kind, None, wait).json()
    assert reply["status"] == "ok", reply
    return reply["text"]
ask(API, "PUT", "/v1/files/spare", b"spare", {{"Authorization": "Bearer " + ADMIN}})
"""
    program = ["/usr/bin/env", f"WAIT={timeout}", "/usr/bin/python3", "-I", "-S", "-"]
    text = box.inside(*program, input=DOORS.read_text() + head + script, timeout=timeout)
    if "Traceback" in text and "LOOT" not in text:
        raise CannotTry(text[-900:])
    return text
