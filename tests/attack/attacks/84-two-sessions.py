# SPDX-License-Identifier: Apache-2.0
"""One session against another: signals, traces, memory, terminals, abstract sockets, locks of others"""

from box import GVISOR_SEES_ALL, Box

BREAKS = (
    "SECURITY.md",
    "cannot signal, trace or look into the server, pip, MCP servers and other kernels",
)
OPEN = GVISOR_SEES_ALL

VICTIM = """
import socket, pty, subprocess, threading
secret = bytearray(b'CANARY' + b'-in-memory')
s = socket.socket(socket.AF_UNIX)
print('abstract', w.tried(lambda: (s.bind('\\0victim'), s.listen(1), 1)))
master, terminal = w.tried(os.openpty) or (-1, -1)
print('PTY', os.ttyname(terminal) if terminal >= 0 else '-', os.getpid())
"""
ATTACKER = """
import ctypes, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
victim, terminal = {pid}, {terminal!r}
s = socket.socket(socket.AF_UNIX)
if w.tried(lambda: (s.connect('\\0victim'), 1)): print('ABSTRACT socket')
if w.tried(lambda: (os.kill(victim, 0), 1)): print('SIGNAL')
if w.tried(lambda: (os.killpg(os.getpgid(victim), 0), 1)): print('SIGNAL to the group')
if libc.ptrace(0x4206, victim, 0, 0) == 0: print('TRACE')
if w.tried(lambda: open(f'/proc/{{victim}}/mem', 'rb')): print('MEM')
for name in ('environ', 'maps', 'fd', 'ns/user', 'task', 'root'):
    path = f'/proc/{{victim}}/{{name}}'
    if name == 'fd':
        if w.tried(lambda: [os.readlink(path + '/' + n) for n in os.listdir(path)]): print('FD')
    elif name in ('root', 'ns/user'):
        if w.tried(lambda: os.readlink(path)): print('LINK', name)
    elif name != 'task' and w.tried(lambda: w.read(path)): print('READ', name)
if libc.syscall(438, os.pidfd_open(victim) if w.tried(lambda: os.pidfd_open(victim)) else -1, 1, 0) >= 0: print('PIDFD')
if libc.syscall(302, victim, 7, 0, ctypes.create_string_buffer(16)) == 0: print('PRLIMIT')
if w.tried(lambda: (os.setpriority(os.PRIO_PROCESS, victim, 19), 1)): print('PRIORITY')
if w.tried(lambda: (os.sched_setaffinity(victim, {{0}}), 1)): print('AFFINITY')
if terminal != '-' and w.tried(lambda: os.open(terminal, os.O_RDWR | os.O_NOCTTY)): print('TERMINAL')
for name in ('unshare', ):
    if libc.unshare(0x10000000) == 0: print('NAMESPACE')
for number, what in ((323, 'USERFAULTFD'), (425, 'URING'), (321, 'BPF'), (298, 'PERF'), (250, 'KEYS')):
    if libc.syscall(number, 1, 0, 0, 0, 0) >= 0: print(what)
"""


def attack(box: Box) -> str:
    victim, attacker = box.session(), box.session()
    told = box.cell(VICTIM, victim).split()
    terminal, pid = told[told.index("PTY") + 1 :][:2]
    told_by = box.cell(ATTACKER.format(pid=int(pid), terminal=terminal), attacker)
    lines = [line for line in told_by.splitlines() if line.split(" ")[0].isupper()]
    # Without settings, and with a server of another uid, terminals of kernels are told to be open.
    if box.mode.kind == "R":
        lines = [line for line in lines if line != "TERMINAL"]
    return "; ".join(lines)
