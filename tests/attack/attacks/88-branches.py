# SPDX-License-Identifier: Apache-2.0
"""A branch against the session that it was forked from and its siblings, with all that was known there"""

import runpy
from pathlib import Path

from box import Box, CannotTry, Mode

ATTACKER = runpy.run_path(str(Path(__file__).with_name("84-two-sessions.py")))["ATTACKER"]

BREAKS = (
    "docs/fork.md",
    "It cannot signal, trace or look into the session that it was forked from, or another branch",
)

KNOWN = """
import ipykernel.kernelapp as k, json, os
app = k.IPKernelApp.instance()
known = dict(ip=app.ip, ports=[app.shell_port, app.iopub_port, app.stdin_port, app.control_port, app.hb_port],
             key=app.session.key, password=app._visitors._password, token=w.own_token(), pid=os.getpid())
the_secret = 'CANARY'
"""
# With names, key and password of the other's sockets, and with its token.
SOCKETS = r"""
import socket, zmq, glob, itertools, json
def dial(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(2)
    return w.tried(lambda: (s.connect(path), s.recv(10))[1])
own = k.IPKernelApp.instance().ip
paths = [f"{known['ip']}-{port}" for port in known['ports']]
for path in [path for path in paths if known['ip'] != own and dial(path)]:
    print('SOCKET', path)
from jupyter_client import BlockingKernelClient
from jupyter_client.session import Session
def ask():
    context = zmq.Context()
    s = context.socket(zmq.DEALER)
    s.linger = 0
    if known['password']:
        s.plain_username, s.plain_password = b'ipybox', known['password']
    s.connect(f"ipc://{paths[0]}")
    Session(key=known['key']).send(s, 'kernel_info_request', {})
    if s.poll(1500): print('ANSWER of its kernel')
    context.destroy(0)
if known['ip'] != own: ask()
def by_token():
    line = w.Tools(known['token'])
    return line.call('echo', text='by the old token')
if 'echo has run' in str(w.tried(by_token)): print('TOKEN')
"""


def box_for(mode: Mode) -> Box:
    """With one uid a kernel is not forked beside a Kernel Gateway."""
    port = "8888" if mode.kind[0] == "R" and mode.engine == "docker" else "0"
    return Box(mode, words=["--kernel-gateway-port", port])


def attack(box: Box) -> str:
    box.run()
    parent = box.session()
    box.cell(KNOWN, parent)
    asked = box.call("POST", f"/v1/sessions/{parent}/fork", {"count": 2})
    if asked.status != 201:
        why = ["without walls", "needs the scopes of Landlock"]
        if box.mode.engine == "runsc":
            why.append("and below gVisor")
        if any(words in asked.text for words in why):
            return ""
        raise CannotTry(f"the fork was answered {asked.status} {asked.text[:300]}")
    first, second = (item["id"] for item in asked["sessions"])
    pids = [int(box.cell("print(os.getpid())", name).split()[-1]) for name in (parent, second)]
    told = [box.cell(ATTACKER.format(pid=pid, terminal="-"), first) for pid in pids]
    told.append(box.cell(SOCKETS, first))
    lines = "\n".join(told).splitlines()
    return "; ".join(line for line in lines if line.split(" ")[0].isupper())
