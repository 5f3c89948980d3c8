# SPDX-License-Identifier: Apache-2.0
"""Hundreds of connections at once ask the sandbox's proxies and its resolver for hosts that are denied"""

from box import Box

BREAKS = ("docs/sandbox.md", "no network")
ONLY = ["*+S"]

CODE = """
import socket, threading, time
got, end = set(), time.monotonic() + 3
def ask(family, at, text):
    s = socket.socket(family); s.settimeout(2)
    try:
        s.connect(at)
        got.add(f'connected to {at}')
        s.sendall(text)
        got.add(f'{at} says {s.recv(60)!r}')
    except OSError: pass
    finally: s.close()
def flood(n):
    while time.monotonic() < end:
        ask(socket.AF_INET, ('192.0.2.1', 80), b'GET / HTTP/1.0\\r\\n\\r\\n')
        ask(socket.AF_INET, ('127.0.0.53', 53), b'\\0\\x1d12\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1')
        ask(socket.AF_INET6, ('2001:db8::1', 443), b'x')
        try: got.update(str(a[4]) for a in socket.getaddrinfo('example.com', 80))
        except OSError: pass
threads = [threading.Thread(target=flood, args=(n,)) for n in range(100)]
[t.start() for t in threads]; [t.join() for t in threads]
print('GOT', [g for g in sorted(got) if '127.0.0.53' not in g])
"""


def attack(box: Box) -> str:
    session = box.session()
    told = box.cell(CODE, session)
    got = "" if "GOT []" in told else told
    if box.cell("print('well')", session).strip() != "well":
        got += "; the kernel does not answer any more"
    return got
