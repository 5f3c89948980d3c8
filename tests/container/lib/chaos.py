#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL to clients, kernels and the server of one container, at random moments.

Run by bench/chaos.sh.

    chaos.py SECONDS SEED NAME IMAGE
    chaos.py client PORT SESSION SEED FIRST

The second form is a client, a process of its own so that it can be killed: it runs cells in its
session, reads the stream of each, puts files, and writes what it was told to standard output.

The run is a row of lives, each of which ends with the death of the server. In each life clients and
kernels are killed for a while, and sessions are forked and rewound while their cells run; branches
are killed and end as others do. Then all clients are killed, and it is looked at what is left:
every cell that had begun comes to an end by its key, every execution whose end a client was told
can be read again, event by event; every session takes cells; when the sessions are deleted the
server has the processes and descriptors it had before. Then clients come back, the server is killed
while they work, the container is started again, and nothing of the life before is in its way.
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from drive import LIST_PROCESSES, WAIT, Failure, Process, docker, equal, fail, note, wait_for

CLIENTS = 6
BRANCHES = 8  # at once
LINES = 40  # of a cell, at most
REREAD = 50  # executions of each session that are read again
LIFE = (6.0, 25.0)  # seconds until the server is killed, chosen at random
PAUSE = 0.3  # seconds between two kills, at most
UPLOAD = 1 << 20  # bytes
WENT = 3  # status of a client whose server has gone
KILLED = ("lost", "refused")  # a cell's kernel, while it ran or before it was up
TOKEN = "admin"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


# --- the protocol ---


class Answer(NamedTuple):
    status: int
    body: bytes

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


def start(port: int, method: str, path: str, body: object = None, **headers: str) -> Any:
    """Sends a request; http.client's answer, whose body is still to be read."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, data, {**HEADERS, **named})
    return connection.getresponse()


def call(port: int, method: str, path: str, body: object = None, **headers: str) -> Answer:
    answer = start(port, method, path, body, **headers)
    return Answer(answer.status, answer.read())


def events(answer: Any) -> Iterator[dict[str, Any]]:
    """Of a stream, as they come: id, event, data."""
    event: dict[str, Any] = {}
    for raw in answer:
        name, _, value = raw.decode().rstrip("\n").partition(": ")
        if name in ("id", "event", "data"):
            event[name] = value
        elif not name and event:
            yield event
            event = {}


def path_of(session: str) -> str:
    return f"/v1/sessions/{session}/executions"


# --- a client ---


class Cell(NamedTuple):
    key: str
    code: str
    lines: int

    def expected(self) -> str:
        return "".join(f"{self.key} {i}\n" for i in range(self.lines))


def next_cell(key: str, chance: random.Random) -> Cell:
    lines = chance.randrange(1, LINES)
    pause = chance.choice((0.0, 0.0, 0.001, 0.01))
    code = f"import subprocess, time\nfor i in range({lines}):\n"
    code += f"    print({key!r}, i, flush=True); time.sleep({pause})"
    if chance.random() < 0.2:
        code += "\n_ = subprocess.Popen(['sleep', '10000'])"
    return Cell(key, code, lines)


def tell(**what: Any) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def run_cell(port: int, session: str, cell: Cell) -> None:
    tell(begin=cell._asdict())
    headers = {"Accept": "text/event-stream", "Idempotency_Key": cell.key}
    answer = start(port, "POST", path_of(session), {"code": cell.code}, **headers)
    if answer.status != 200:
        raise Failure(f"{session}: {answer.status} {answer.read()!r}")
    seen = list(events(answer))
    if not seen or seen[-1]["event"] != "end":
        raise http.client.IncompleteRead(b"")  # the server has gone
    tell(end=cell.key, events=seen)


def client(port: int, session: str, seed: str, first: int) -> int:
    chance = random.Random(seed)
    n = first
    try:
        created = call(port, "POST", "/v1/sessions", {"id": session})
        if created.status not in (201, 409):
            raise Failure(f"{session}: {created}")
        while True:
            n += 1
            run_cell(port, session, next_cell(f"{session}-{n}", chance))
            if chance.random() < 0.1:
                path = f"/v1/files/{session}.bin"
                call(port, "PUT", path, bytes(UPLOAD), Content_Type="application/octet-stream")
    except (OSError, http.client.HTTPException):
        return WENT


# --- what clients were told ---


class Told:
    """The cells of one session in one life of the server."""

    def __init__(self) -> None:
        self.begun: dict[str, Cell] = {}
        self.ended: dict[str, list[dict[str, Any]]] = {}

    def read(self, file: Path) -> None:
        for line in file.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # its writer was killed
            what = json.loads(line)
            if "begin" in what:
                cell = Cell(**what["begin"])
                self.begun[cell.key] = cell
            else:
                self.ended[what["end"]] = what["events"]


def check_told(cell: Cell, seen: list[dict[str, Any]]) -> None:
    """A stream that has come to its end is whole, unless the kernel died."""
    status = json.loads(seen[-1]["data"])["status"]
    text = "".join(json.loads(e["data"])["text"] for e in seen if e["event"] == "stdout")
    if status == "ok":
        equal(text, cell.expected())
    elif status not in KILLED or not cell.expected().startswith(text):
        fail(f"{cell.key}: {status}, {text!r}")
    numbers = [int(e["id"]) for e in seen if "id" in e]
    equal(numbers, sorted(set(numbers)))


# --- the run ---


class Chaos:
    def __init__(self, seconds: float, seed: int, name: str, image: str, folder: Path) -> None:
        self.random = random.Random(seed)
        self.seconds, self.name, self.folder = seconds, name, folder
        self.count: collections.Counter[str] = collections.Counter()
        self.clients: dict[str, subprocess.Popen[bytes]] = {}
        self.files: list[Path] = []
        self.branches: list[str] = []
        self.number = self.port = 0
        self.baseline: list[str] = []
        command = ["run", "-d", "--name", name, "--label", f"ipybox.test={name}"]
        command += ["--cap-add", "SYS_PTRACE"]  # descriptors are looked at
        command += ["--pids-limit", "1000", "-p", "127.0.0.1::8080", "-e", f"IPYBOX_TOKEN={TOKEN}"]
        docker(*command, image, "serve", "--checkpoints", "2")

    # --- the container ---

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        return call(self.port, method, path, body, **headers)

    def ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.call("GET", "/readyz").status == 200
        return False

    def wait_until_ready(self) -> None:
        self.port = int(docker("port", self.name, "8080/tcp").split()[0].rpartition(":")[2])
        wait_for("the server", self.ready)

    def processes(self) -> list[Process]:
        command = ("exec", "-i", self.name, "python3", "-I", "-S", "-")
        found = json.loads(docker(*command, stdin=LIST_PROCESSES))
        return [Process(**process) for process in found]

    def kill(self, process: Process) -> None:
        docker("exec", self.name, "bash", "-c", f"kill -9 {process.pid} || true", check=False)

    def server(self) -> Process:
        found = [p for p in self.processes() if p.is_server]
        pids = {p.pid for p in found}
        # A child of it that has not executed its program yet has the same words.
        [server] = [p for p in found if p.ppid not in pids]
        return server

    def shape(self) -> list[str]:
        """What there is, without numbers: every process by its parent, the server's descriptors."""
        processes = self.processes()
        names = {p.pid: " ".join(p.words[:3]) or "?" for p in processes}
        shape = [f"{names.get(p.ppid)} > {names[p.pid]} {p.state == 'Z'}" for p in processes]
        look = f"import contextlib, os; p = '/proc/{self.server().pid}/fd/'\n"
        look += "for f in os.listdir(p):\n"  # one may be closed meanwhile
        look += (
            "    with contextlib.suppress(OSError): print(os.readlink(p + f).partition(':[')[0])"
        )
        kinds = docker("exec", self.name, "python3", "-I", "-S", "-c", look).splitlines()
        return sorted(shape) + sorted(f"{n} x {k}" for k, n in collections.Counter(kinds).items())

    def settled(self) -> list[str]:
        """The shape, when it is the same for a while."""
        shape, since = self.shape(), time.monotonic()
        while time.monotonic() - since < 1.0:
            now = self.shape()
            if now != shape:
                shape, since = now, time.monotonic()
        return shape

    # --- clients ---

    def start_client(self, session: str) -> None:
        file = self.folder / f"{session}-{self.number}.jsonl"
        self.number += 1000
        self.files.append(file)
        words = [str(self.port), session, str(self.random.random()), str(self.number)]
        with file.open("wb") as out:
            self.clients[session] = subprocess.Popen(
                [sys.executable, "-B", __file__, "client", *words], stdout=out
            )

    def kill_client(self) -> None:
        session = self.random.choice(sorted(self.clients))
        self.end_client(session)
        self.start_client(session)
        self.count["clients"] += 1

    def end_client(self, session: str) -> None:
        process = self.clients.pop(session)
        process.kill()
        if process.wait() > 0:
            fail(f"the client of {session} ended by itself: {process.returncode}")

    def kill_kernel(self) -> None:
        kernels = [p for p in self.processes() if p.is_kernel]
        if kernels:
            self.kill(self.random.choice(kernels))
            self.count["kernels"] += 1

    def fork(self) -> None:
        """A branch answers at once. Its session may be dead, or not there yet."""
        session = f"c{self.random.randrange(CLIENTS)}"
        how = {
            "count": self.random.randint(1, 2),
            "wait": True,
            "force": self.random.random() < 0.8,
        }
        answer = self.call("POST", f"/v1/sessions/{session}/fork", how)
        if answer.status != 201:
            if answer.status not in (404, 409, 422):  # 422: begun while the template was away
                fail(f"a fork of {session}: {answer}")
            self.count["forks refused"] += 1
            return
        for made in answer.json()["sessions"]:
            self.branches.append(made["id"])
            ran = self.call("POST", path_of(made["id"]), {"code": "print('a branch')"}).json()
            equal((ran["status"], ran["stdout"]), ("ok", "a branch\n"))
            self.count["branches"] += 1
        while len(self.branches) > BRANCHES:
            self.end_branch(self.branches.pop(self.random.randrange(BRANCHES)))

    def end_branch(self, branch: str) -> None:
        equal(self.call("DELETE", f"/v1/sessions/{branch}").status, 204)

    def rewind(self) -> None:
        """To before one of the last cells. There may be no state, or no session."""
        session = f"c{self.random.randrange(CLIENTS)}"
        kept = self.call("GET", f"/v1/sessions/{session}/checkpoints")
        points = kept.json()["checkpoints"] if kept.status == 200 else []
        if not points:
            return
        how = {"cell": self.random.choice(points)["cell"], "wait": True}
        answer = self.call("POST", f"/v1/sessions/{session}/rewind", how)
        if answer.status not in (200, 409):  # 409: newer cells have taken its place meanwhile
            fail(f"a rewind of {session}: {answer}")
        self.count["rewinds" if answer.status == 200 else "rewinds refused"] += 1

    def disturb(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for session in [f"c{i}" for i in range(CLIENTS)]:
            self.start_client(session)
        while time.monotonic() < end:
            acts = self.kill_client, self.kill_client, self.kill_kernel, self.fork, self.rewind
            self.random.choice(acts)()
            time.sleep(self.random.random() * PAUSE)

    # --- what must hold ---

    def told(self) -> dict[str, Told]:
        told: dict[str, Told] = collections.defaultdict(Told)
        for file in self.files:
            told[file.name.partition("-")[0]].read(file)
        return told

    def check_begun(self, session: str, told: Told) -> None:
        """A cell whose client was killed has come to its end, or comes to it by its key."""
        for key in sorted(set(told.begun) - set(told.ended))[-REREAD:]:
            cell = told.begun[key]
            headers = {"Idempotency_Key": key}
            answer = self.call("POST", path_of(session), {"code": cell.code}, **headers)
            if answer.status == 410:  # too many came after it: the key is known, the result is not
                self.count["keys whose results have gone"] += 1
                continue
            equal(answer.status, 200)
            found = answer.json()
            if found["status"] == "ok":
                equal(found["stdout"], cell.expected())
            else:
                equal(found["status"] in KILLED, True)
            self.count["cells taken up by their key"] += 1

    def check_ended(self, session: str, told: Told) -> None:
        for key, seen in list(told.ended.items()):
            check_told(told.begun[key], seen)
        for key in list(told.ended)[-REREAD:]:
            seen = told.ended[key]
            id = json.loads(seen[0]["data"])["id"]
            answer = start(self.port, "GET", f"{path_of(session)}/{id}/events")
            equal(answer.status, 200)
            equal(list(events(answer)), seen)
            self.count["executions read again"] += 1

    def check_session(self, session: str) -> None:
        """It takes a cell; one whose kernel was killed while nobody looked may be told so first."""
        code = {"code": "print('here')"}
        statuses = []
        for _ in range(2):
            answer = self.call("POST", path_of(session), code)
            equal(answer.status, 200)
            statuses.append(answer.json()["status"])
            if statuses[-1] == "ok":
                break
        if statuses[-1] != "ok":
            fail(f"{session}: {statuses}")
        state = self.call("GET", f"/v1/sessions/{session}").json()
        equal((state["state"], state["queued"]), ("idle", 0))

    def calm(self) -> None:
        """All clients are gone: nothing of what they did is lost, nothing is left behind."""
        for session in sorted(self.clients):
            self.end_client(session)
        while self.branches:
            self.check_session(self.branches[-1])
            self.end_branch(self.branches.pop())
        for session, told in sorted(self.told().items()):
            if self.call("GET", f"/v1/sessions/{session}").status == 404:
                equal(told.ended, {})  # its client did not come so far
                continue
            self.count["cells"] += len(told.ended)
            self.check_begun(session, told)
            self.check_ended(session, told)
            self.check_session(session)
            equal(self.call("DELETE", f"/v1/sessions/{session}").status, 204)
        parts = docker("exec", self.name, "find", "/app/workspace", "-name", ".ipybox-*").split()
        equal(parts, [])
        self.wait_for_baseline()

    def wait_for_baseline(self) -> None:
        """A kernel that started while the template was away is not its child: a reset ends it.

        A template that died often is away for up to a minute.
        """
        deadline = time.monotonic() + WAIT
        while (shape := self.settled()) != self.baseline:
            equal(self.call("POST", "/v1/sessions/default/reset").status, 204)
            if time.monotonic() > deadline:
                note(docker("exec", self.name, "cat", "/proc/net/tcp", "/proc/net/unix"))
                equal(shape, self.baseline)

    def one_life(self, seconds: float) -> None:
        self.files = []
        self.wait_until_ready()
        self.check_session("default")
        self.call("POST", "/v1/sessions/default/reset")
        self.baseline = self.settled()
        self.disturb(seconds)
        self.calm()
        self.files = []
        self.disturb(self.random.random() * 3)
        self.kill(self.server())
        docker("wait", self.name)
        self.count["servers"] += 1
        for process in self.clients.values():
            equal(process.wait(WAIT), WENT)
        self.clients, self.branches = {}, []
        docker("start", self.name)

    def run(self) -> None:
        end = time.monotonic() + self.seconds
        while (left := end - time.monotonic()) > 0 or not self.count["servers"]:
            self.one_life(min(self.random.uniform(*LIFE), max(left / 2, LIFE[0])))
        self.wait_until_ready()
        self.check_session("default")
        docker("stop", "-t", "-1", self.name)
        equal(docker("wait", self.name).strip(), "0")
        docker("cp", f"{self.name}:/run/ipybox", str(self.folder / "run"))
        equal([str(path) for path in (self.folder / "run").rglob("*") if not path.is_dir()], [])

    def close(self) -> None:
        for process in self.clients.values():
            process.kill()
            process.wait()


def main(words: list[str]) -> int:
    if words[0] == "client":
        return client(int(words[1]), words[2], words[3], int(words[4]))
    seconds, seed, (name, image) = float(words[0]), int(words[1]), words[2:]
    note(f"{seconds:.0f} s with seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        chaos = Chaos(seconds, seed, name, image, Path(folder))
        try:
            chaos.run()
        except (Exception, SystemExit) as error:
            print(docker("logs", "--tail", "100", name, check=False))
            print(f"--- with seed {seed}: {type(error).__name__}: {error}")
            return 1
        finally:
            chaos.close()
            note(", ".join(f"{count} {what}" for what, count in sorted(chaos.count.items())))
            docker("rm", "-f", name, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
