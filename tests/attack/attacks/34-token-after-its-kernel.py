# SPDX-License-Identifier: Apache-2.0
"""A kernel's tool token, and a connection that it had opened, are used after its end."""

from box import Box

BREAKS = (
    "SECURITY.md",
    "A kernel holds a token of its own, good for calls of registered servers until the kernel ends",
)

GIVE = """
import socket, threading
os.path.lexists('give.sock') and os.unlink('give.sock')
listener = socket.socket(socket.AF_UNIX)
given = w.tried(lambda: (listener.bind('give.sock'), listener.listen(1), 1))
line = w.Tools(w.own_token())
open('old-token', 'w').write(w.own_token() + ' ' + os.environ.get('IPYBOX_TOOL_SOCKET', ''))
def give():
    s, _ = listener.accept()
    socket.send_fds(s, [b'x'], [line.socket.fileno()])
if given:
    threading.Thread(target=give, daemon=True).start()
print(line.call('echo', text='alive'))
"""
TAKE = """
import socket
s = socket.socket(socket.AF_UNIX)
taken = None
def act():
    s.connect('give.sock')
    return socket.recv_fds(s, 1, 4)[1][0]
taken = w.tried(act)
print('taken', taken)
"""
USE = """
token, path = open('old-token').read().split()
def by_token():
    line = w.Tools(token, os.environ['IPYBOX_TOOL_SOCKET'])
    return line.call('echo', text='by the old token')
print('TOKEN', w.tried(by_token))
if taken is not None:
    print('LINE', w.tried(lambda: w.Tools(taken=taken).call('echo', text='by the old connection')))
"""


def attack(box: Box) -> str:
    giver, taker = box.session(), box.session()
    told = box.cell(GIVE, giver)
    if "echo has run" not in told:
        return "" if box.mode.engine == "runsc" else f"a tool cannot be called: {told}"
    box.cell(TAKE, taker)
    box.reset(giver)
    box.cell("print(1)", giver)
    told = box.cell(USE, taker)
    return "; ".join(line for line in told.splitlines() if "echo has run" in line)
