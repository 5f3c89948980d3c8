# SPDX-License-Identifier: Apache-2.0
"""What a session tries against others in 82-apart.bats, and how it is told to; http_client.py comes
before it, and the test behind it, which runs in the container.
"""

import ast
import json
import urllib.request  # noqa: F401  # for the tests
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from http_client import Answer, run

# Runs in cells, MCP servers and packages. Most functions return what they should not have got.
ACTS = r'''
import glob, json, os, re, socket, subprocess, threading

PLACES = ("/run/ipybox", "/tmp/ipybox", "/dev/shm/ipybox")
BASES = [f"{place}/{uid}" for place in PLACES for uid in (731, 732, os.getuid())]
NAME = r"[0-9a-z]{16,17}(?=(?:-|/ch-)[1-5]\b)"
ASK = " HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
FAKES = {
    "tools": b"",
    "control": b'{"status":"ok","by":"mallory"}\n',
    "api": b"HTTP/1.0 200 OK\r\n\r\nmallory",
}
PATIENCE = 5  # seconds for one who has connected to say something
TAKEN = []
LISTENERS = []

def kernels():
    """The names of kernels' sockets: everybody may read this list."""
    try:
        return set(re.findall(NAME, open("/proc/net/unix").read()))
    except OSError:
        return set()

def read_keys():
    found = []
    for base in BASES:
        paths = glob.glob(base + "/**/*.json", recursive=True)
        for path in paths + [f"{base}/user/{name}/connection.json" for name in kernels()]:
            try:
                found.append((path, open(path).read()))
            except OSError:
                pass
    for process in glob.glob("/proc/[0-9]*"):
        if int(process[6:]) == os.getpid():
            continue
        for path in glob.glob(process + "/fd/*"):
            try:
                if "connection" in os.readlink(path):
                    found.append((path, open(path).read()))
            except OSError:
                pass
    return found

def hear_channels():
    import zmq
    context = zmq.Context()
    listener = context.socket(zmq.SUB)
    listener.linger = 0
    listener.subscribe(b"")
    for base in BASES:
        for name in kernels():
            listener.connect(f"ipc://{base}/private/channels/{name}-2")
            listener.connect(f"ipc://{base}/{name}/ch-2")
            listener.connect(f"ipc://{base}/user/{name}/ch-2")
    heard = listener.recv_multipart() if listener.poll(2000) else []
    context.destroy(linger=0)
    return [part.decode(errors="replace") for part in heard]

def ask_api():
    found = []
    for base in BASES:
        for words in ("GET /v1/sessions", "POST /v1/sessions"):
            try:
                with socket.socket(socket.AF_UNIX) as api:
                    api.connect(base + "/api.sock")
                    api.sendall((words + ASK).encode())
                    answer = api.makefile("rb").read().decode()
            except OSError:
                continue
            if " 403 " not in answer.split("\r\n")[0] or "has no role here" not in answer:
                found.append(answer)
    return found

def command(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout + done.stderr

def answer(listener, text):
    while True:
        peer, _ = listener.accept()
        if text:
            peer.sendall(text)
        else:
            peer.settimeout(PATIENCE)
            try:
                TAKEN.append(peer.recv(4096).decode(errors="replace"))
            except OSError:
                pass
        peer.close()

def take_sockets():
    """Puts sockets of our own in the place of the server's, where that can be done."""
    for base in BASES:
        for name, text in FAKES.items():
            try:
                path = f"{base}/{name}.sock"
                os.unlink(path)
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(path)
                listener.listen()
            except OSError:
                continue
            LISTENERS.append(listener)
            threading.Thread(target=answer, args=(listener, text), daemon=True).start()
    return ""

def heard():
    return "".join(TAKEN)

def hello(token):
    """As a program that was given another kernel's token."""
    global tools, lines
    tools = socket.socket(socket.AF_UNIX)
    tools.connect(os.environ["IPYBOX_TOOL_SOCKET"])
    request = {"jsonrpc": "2.0", "id": 0, "method": "hello", "params": {"token": token}}
    tools.sendall(json.dumps(request).encode() + b"\n")
    lines = tools.makefile("rb")
    answer = json.loads(lines.readline())
    return "in" if "result" in answer else answer["error"]["message"]

def wait_for_end():
    return "ended" if lines.read() == b"" else "open"
'''


def value(code: str, session: str = "default") -> str:
    """The text of the last expression of a cell."""
    *before, last = code.split("; ")
    answer = run("\n".join([*before, f"print({last}, end='')"]), session)
    assert answer["status"] == "ok", answer.text
    return str(answer["stdout"])


def act(expression: str, session: str = "mallory") -> object:
    """What one of the acts comes back with."""
    prepare = f"if 'TAKEN' not in globals():\n    exec({ACTS!r}, globals())\n"
    answer = run(prepare + f"print(repr({expression}), end='')", session)
    assert answer["status"] == "ok", answer.text
    return ast.literal_eval(answer["stdout"])


def error(answer: Answer) -> str:
    """What ended the cell, if anything did."""
    return str(json.loads(answer.text).get("error", {}).get("evalue", ""))
