#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has each kind of process that a server starts, and looks at what it has of the server.

children.py CONTAINER IMAGE WORKSPACE DOCUMENT [template] [fork]: the container runs `serve` with
tool_server.py as the MCP server `plain`, agent-sandbox's contract at 8888, E2B's and the gateway at
8890; with `template` its kernels are forked from one, and it is replaced meanwhile; with `fork`
they can be forked. DOCUMENT is SECURITY.md, whose tables of children say what each may have. Who
looks is a container of IMAGE among the same processes that may trace, and looks again until all is right: kernels come and go.
Prints what was wrong at the end, or "ok".
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from drive import WAIT

CONTAINER, IMAGE, WORKSPACE, DOCUMENT, *WITH = sys.argv[1:]
HERE = Path(__file__).parent

# In the container: has all kinds, says which they are in kinds.json, and keeps them until `over`.
# What is started by a program ends up as `sleep` with a number of its own.
BEGIN = r"""
import base64, io, socket, tarfile, threading
from pathlib import Path
WORK = Path("/app/workspace")
KINDS, VARIABLES, KEPT = {}, {}, []
def sleep_of(kind):
    KINDS[kind] = f"sleep {86400 + len(KINDS)}"
    return f"exec {KINDS[kind]}"
def later(act, *words, **named):
    threading.Thread(target=act, args=words, kwargs=named, daemon=True).start()
def at(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection(HOST, port, timeout=WAIT)
    text = None if body is None else json.dumps(body)
    head = {"Content-Type": "application/json", "Authorization": "Bearer admin", **headers}
    connection.request(method, path, text, head)
    answer = connection.getresponse()
    said = answer.read().decode()
    assert answer.status < 300, (path, answer.status, said)
    return said
def kernel(kind, session):
    code = "import json, os; print(json.dumps([os.getpid(), sorted(os.environ)]))"
    KINDS[kind], VARIABLES[kind] = json.loads(text(code, session))
def execute(command):
    later(at, 8888, "POST", "/execute", {"command": command})
def type_in_terminal(line):
    key = base64.b64encode(os.urandom(16)).decode()
    end = socket.create_connection((HOST, PORT))
    head = ("GET /v1/sessions/default/terminal HTTP/1.1", f"Host: {HOST}:{PORT}", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
            "Authorization: Bearer admin", "", "")
    end.sendall("\r\n".join(head).encode() + bytes([0x82, 0x80 | len(line)]) + bytes(4) + line.encode())
    KEPT.append(end)  # masked with zeros
def told(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""
def parent_of(pid):
    fields = told(Path(f"/proc/{pid}/stat")).decode().rpartition(")")[2].split()
    return int(fields[1]) if fields else 0
def templates():
    for path in Path("/proc").glob("[0-9]*"):
        if b"ipybox_kernel.template" in told(path / "cmdline"):
            if told(Path(f"/proc/{parent_of(path.name)}/cmdline")).startswith(b"ipybox\0serve\0"):
                yield int(path.name)
wait_for("the server", ready)
text("1")
kernel("kernel", "default")
execute(sleep_of("command"))
type_in_terminal(sleep_of("terminal") + "\n")
HOOK = sleep_of("hook of git")
execute("set -e; mkdir -p store/hooks; export GIT_DIR=$PWD/store GIT_WORK_TREE=$PWD; git init -q --template=; "
        f"printf '#!/bin/sh\\n{HOOK}\\n' > store/hooks/pre-commit; chmod +x store/hooks/pre-commit; "
        "git -c user.name=x -c user.email=x@x.example commit -q --allow-empty -m x")
made = json.loads(at(PORT, "POST", "/v2/sandboxes", {"templateID": "base"}, **{"X-API-KEY": "admin"}))
mine = {"E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "49999", "X-Access-Token": made["envdAccessToken"]}
mine["E2b-Traffic-Access-Token"] = made.get("trafficAccessToken") or ""
context = json.loads(at(PORT, "POST", "/contexts", {"language": "bash"}, **mine))
later(at, PORT, "POST", "/execute", {"code": sleep_of("bash context"), "context_id": context["id"]}, **mine)
at(8890, "GET", "/api/kernels")
text("from mcptools.plain import echo; echo.run(echo.Params(text='x'))")
with tarfile.open(WORK / "waits.tar.gz", "w:gz") as package:
    words = sleep_of("set-up of a package").split()[1:]
    for name, data in (
        ("pyproject.toml", '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'),
        ("backend.py", f"import os\nos.execvp('sleep', {words!r})\n"),
    ):
        member = tarfile.TarInfo(f"waits-1/{name}")
        member.size = len(data)
        package.addfile(member, io.BytesIO(data.encode()))
later(call, "POST", "/v1/packages", {"package": "/app/workspace/waits.tar.gz"})
"""
MORE = {
    "fork": r"""
fork("default", name="branch")
kernel("branch", "branch")
""",
    "template": r"""
(old,) = templates()
os.kill(old, 9)
def later_kernel():  # the spares are of the one before
    kernel("kernel of a later template", json.loads(call("POST", "/v1/sessions", {}).text)["id"])
    return parent_of(parent_of(KINDS["kernel of a later template"])) in set(templates()) - {old}
wait_for("a kernel of another template", later_kernel)
""",
}
END = r"""
def is_there(kind):
    if isinstance(KINDS[kind], int):
        return True
    words = KINDS[kind].encode().replace(b" ", b"\0") + b"\0"
    return any(told(path) == words for path in Path("/proc").glob("[0-9]*/cmdline"))
for kind in KINDS:
    wait_for(kind, lambda: is_there(kind))
new = WORK / "kinds.new"
new.write_text(json.dumps([KINDS, VARIABLES]))
new.rename(WORK / "kinds.json")
while not (WORK / "over").exists():
    time.sleep(0.05)
"""

# Among the processes of the container, as root who may trace.
LOOK = r'''
import ctypes, json, os, platform, re
LIBC = ctypes.CDLL(None, use_errno=True)
KCMP = {"x86_64": 312, "aarch64": 272}[platform.machine()]
def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""
def same(a, fd_a, b, fd_b):
    """Whether two descriptors are of one open file."""
    return LIBC.syscall(KCMP, a, b, 0, ctypes.c_ulong(fd_a), ctypes.c_ulong(fd_b)) == 0
def descriptors(pid):
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            pass
    return found
def look(pid):
    status = dict(re.findall(r"^(\w+):[ \t]*(.*)$", read(f"/proc/{pid}/status"), re.M))
    return {
        "pid": pid,
        "words": read(f"/proc/{pid}/cmdline").split("\0")[:-1],
        "parent": int(status["PPid"]),
        "uids": status["Uid"].split(),
        "groups": sorted({*status["Groups"].split(), *status["Gid"].split()}),
        "capabilities": {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
        "no_new_privs": status["NoNewPrivs"] == "1",
        "filters": int(status["Seccomp_filters"]),
        "descriptors": descriptors(pid),
        "environment": sorted(item.partition("=")[0] for item in read(f"/proc/{pid}/environ").split("\0") if item),
        "limits": {m[1]: [m[2], m[3]] for m in re.finditer(r"^Max (.+?)  +(\S+) +(\S+)", read(f"/proc/{pid}/limits"), re.M)},
        "dumpable": os.stat(f"/proc/{pid}/fd").st_uid == int(status["Uid"].split()[1]),
        "namespaces": {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in os.listdir(f"/proc/{pid}/ns")},
    }
me = os.getpid()
all = {}
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != me:
        try:
            all[int(name)] = look(int(name))
        except (OSError, KeyError):
            pass
init = all[1]
server = next(p for p in all.values() if p["parent"] == 1 and p["words"][:1] == ["ipybox"])
for process in all.values():
    process["shared"] = {}
    if process["pid"] in (1, server["pid"]):
        continue
    for owner in (server, init):
        for fd in process["descriptors"]:
            if any(same(process["pid"], fd, owner["pid"], other) for other in owner["descriptors"]):
                process["shared"][fd] = process["descriptors"][fd]
print(json.dumps({"server": server["pid"], "all": list(all.values())}))
'''


def docker(*words: str, typed: str = "") -> str:
    done = subprocess.run(
        ["docker", *words], input=typed, capture_output=True, text=True, timeout=WAIT, check=False
    )
    if done.returncode:
        raise SystemExit(f"docker {' '.join(words[:4])}: {done.stderr or done.stdout}")
    return done.stdout


# --- the tables -----------------------------------------------------------------------------------


def rows(title: str) -> list[list[str]]:
    """The cells of the table whose first column has this title, without its head."""
    found: list[list[str]] = []
    inside = False
    for line in Path(DOCUMENT).read_text().splitlines():
        inside = line.startswith(f"| {title} |") or (inside and line.startswith("|"))
        if inside:
            found.append([cell.strip() for cell in line.strip("|").split(" | ")])
    assert len(found) > 2, f"{DOCUMENT} has no table of {title}"
    return found[2:]


def numbers(cell: str) -> set[int]:
    return {int(word) for word in re.findall(r"\d+", cell.partition(":")[0])}


def patterns(cell: str, groups: dict[str, list[str]]) -> list[str]:
    """The names, in backticks, and those of the groups that are called by their names."""
    found: list[str] = []
    for word in cell.split(", "):
        assert "`" in word or word in groups or word == "none", f"{DOCUMENT}: {word!r}"
        found += [word.split("`")[1]] if "`" in word else groups.get(word, [])
    return found


# --- what they have -------------------------------------------------------------------------------


def seen() -> dict[str, Any]:
    who = ["--rm", "-i", "--pid", f"container:{CONTAINER}", "--network", "none", "--user", "0"]
    words = ["run", *who, "--cap-add", "SYS_PTRACE", "--entrypoint", "python3", IMAGE, "-"]
    found: dict[str, Any] = json.loads(docker(*words, typed=LOOK))
    return found


def kind_of(process: dict[str, Any], all: dict[int, dict[str, Any]], kinds: dict[str, Any]) -> str:
    """The name of its row; "": it is no child, or one of a child's."""
    words = " ".join(process["words"])
    for kind, mark in kinds.items():
        if mark in (process["pid"], words):
            return kind.replace("kernel of a later template", "kernel")
    parent = " ".join(all.get(process["parent"], {"words": []})["words"])
    if re.match(r"\S*ipybox shim ", words):
        return "shim"
    if words.startswith("ipybox branch "):
        return "root of a branch"
    if not re.match(r"\S*ipybox (shim|serve) ", parent):
        return ""
    modules = {"ipybox_gateway": "gateway", "ipybox_pip": "pip", "tool_server.py": "MCP server"}
    for part, kind in modules.items():
        if part in words:
            return kind
    if "ipybox_kernel.template" in words:
        return "kernel" if "shim" in parent else "kernel template"
    if "ipybox_kernel" in words:
        return "kernel"
    return "command" if " --program " in parent else "?"


def faults(
    process: dict[str, Any], row: list[str], server: dict[str, Any], names: list[str]
) -> list[str]:
    """What it has that its row does not say, or has not."""
    _, descriptors, common, _, core, dumpable, walls = row
    have, found = {int(fd) for fd in process["descriptors"]}, []
    wanted = numbers(descriptors)
    if (have - wanted and "+" not in descriptors) or wanted - have:
        found.append(f"has the descriptors {process['descriptors']}, not {descriptors}")
    if {int(fd) for fd in process["shared"]} != numbers(common):
        found.append(f"has open files of the server: {process['shared']}, not {common}")
    if wrong := [v for v in process["environment"] if not any(fnmatchcase(v, n) for n in names)]:
        found.append(f"has the variables {wrong}")
    if process["uids"] != [server["uids"][1]] * 4:
        found.append(f"has the uids {process['uids']}")
    limits = server["limits"] | {"core file size": process["limits"]["core file size"]}
    most = limits["core file size"][1]
    if process["limits"] != limits or (core != "-" and most not in re.findall(r"\d+", core)):
        found.append(f"has the limits {process['limits']}")
    if process["dumpable"] != (dumpable == "yes"):
        found.append(f"is {'' if process['dumpable'] else 'not '}dumpable")
    if (process["filters"] > server["filters"]) != (walls == "yes"):
        found.append(f"has {process['filters']} filters, the server {server['filters']}")
    found += same_as_the_server(process, server)
    return found


def same_as_the_server(process: dict[str, Any], server: dict[str, Any]) -> list[str]:
    """What it does not have as the server has it, but for capabilities: none."""
    none = dict.fromkeys(process["capabilities"], 0)
    wanted = server | {"capabilities": none | {"CapBnd": server["capabilities"]["CapBnd"]}}
    return [
        f"has the {name} {process[name]}, not {wanted[name]}"
        for name in ("groups", "namespaces", "no_new_privs", "capabilities")
        if process[name] != wanted[name]
    ]


def missing(met: set[str], table: dict[str, list[str]]) -> set[str]:
    """The rows of which there is no process, of those that there must be."""
    spared = set() if "template" in WITH else {"kernel template"}
    if "fork" not in WITH:
        spared |= {"branch", "root of a branch"}
    return set(table) - met - spared


def judge(
    look: dict[str, Any], kinds: dict[str, Any], variables: dict[str, list[str]]
) -> list[str]:
    all = {process["pid"]: process for process in look["all"]}
    server = all[look["server"]]
    table = {row[0]: row for row in rows("child")}
    groups: dict[str, list[str]] = {}
    for name, text in rows("variables"):
        groups[name] = patterns(text, groups)
    wrong, met = [], set()
    as_root = all[1]["uids"][0] == "0"  # else nobody there may empty the bounding set
    if not server["no_new_privs"] or server["capabilities"]["CapPrm" if not as_root else "CapBnd"]:
        wrong.append(f"the server has {server['capabilities']}")
    for process in all.values():
        kind = kind_of(process, all, kinds)
        if kind not in table:
            if kind:
                wrong.append(f"{process['words']} is in no row of {DOCUMENT} ({kind})")
            continue
        met.add(kind)
        for name, mark in kinds.items():  # a fork's /proc/PID/environ is that of the template
            if mark == process["pid"] and name in variables:
                process["environment"] = variables[name]
        for fault in faults(process, table[kind], server, patterns(table[kind][3], groups)):
            wrong.append(f"{kind} ({process['pid']}, {' '.join(process['words'])[:60]}): {fault}")
    return wrong + [f"there is no {kind}" for kind in sorted(missing(met, table))]


def main() -> int:
    """Look at all of it."""
    script = [(HERE / "http_client.py").read_text(), BEGIN, *(MORE[word] for word in WITH), END]
    words = ["docker", "exec", "-i", "-e", f"WAIT={WAIT}", CONTAINER, "python3", "-"]
    client = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)
    assert client.stdin
    client.stdin.write("\n".join(script))
    client.stdin.close()
    place, deadline = Path(WORKSPACE), time.monotonic() + WAIT
    while not (place / "kinds.json").exists():
        if client.poll() is not None or time.monotonic() > deadline:
            client.kill()
            raise SystemExit("not all kinds could be had")
        time.sleep(0.05)
    kinds, variables = json.loads((place / "kinds.json").read_text())
    wrong = judge(seen(), kinds, variables)
    while wrong and time.monotonic() < deadline:  # a spare kernel comes behind its walls meanwhile
        wrong = judge(seen(), kinds, variables)
    (place / "over").touch()
    client.wait(WAIT)
    print("\n".join(wrong) or "ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
