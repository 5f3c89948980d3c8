# SPDX-License-Identifier: Apache-2.0
"""A kernel holds more than twice its memory where the budget might not look"""

from box import Box, Mode

BREAKS = ("docs/sandbox-budgets.md", "the kernel is killed; the cell's error names the option")
ONLY = ["docker *"]  # it is the same in the others; below gVisor there is no listener

WAYS = {
    "socket buffers": """
import socket
kept, total = [], 0
piece = b'x' * 65536
while total < 240 << 20 and len(kept) < 12000:
    a, b = socket.socketpair()
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    a.setblocking(False)
    kept.append((a, b))
    try:
        while True: total += a.send(piece)
    except BlockingIOError: pass
""",
    "pipes": """
import fcntl
kept, total = [], 0
while total < 240 << 20 and len(kept) < 2400:
    r, out = os.pipe(); os.set_blocking(out, False)
    w.tried(lambda: fcntl.fcntl(out, 1031, 1 << 20))
    kept.append((r, out))
    try:
        while True: total += os.write(out, b'x' * 65536)
    except BlockingIOError: pass
""",
    "page tables": """
import mmap
kept, total = mmap.mmap(-1, 120 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x2400, prot=mmap.PROT_READ), 0
for at in range(0, 120 << 30, 2 << 20):
    total += kept[at] + 4096
""",
    "memfds": """
kept, total = [], 0
for n in range(60):
    fd = os.memfd_create('x'); kept.append(fd)
    for _ in range(4): total += os.write(fd, b'x' * (1 << 20))
""",
    "a tmpfs": """
total = 0
mounts = {line.split()[1] for line in w.read('/proc/mounts').splitlines() if line.split()[2] == 'tmpfs'}
folders = [f for f in ('/dev/shm', '/tmp/claude', '/tmp') if f in mounts or os.path.dirname(f) in mounts - {'/dev'}]
for n in range(240):
    done = 0
    for folder in [*folders, *(['/dev/shm'] if '/dev/shm' not in folders else [])]:
        def act():
            with open(f'{folder}/fill-{n}', 'wb') as file: return file.write(b'x' * (1 << 20))
        done = w.tried(act)
        if done: break
    if not done: break
    total += done
""",
    "many processes": """
import time, mmap
total, kept = 0, []
for n in range(12):
    pid = os.fork()
    if pid == 0:
        held = bytearray(b'x') * (20 << 20)
        time.sleep(600); os._exit(0)
    total += 20 << 20
time.sleep(2)
""",
}
ROOM = 100 << 20
# It is killed at the next look: who has more than twice its budget and lives for so long is not held.
END = """
import time
if total > TWICE: time.sleep(60)
print('KEPT', total >> 20, 'MiB')"""
CLEAR = "import glob; [os.unlink(p) for d in ('/dev/shm', '/tmp/claude', '/tmp') for p in glob.glob(d + '/fill-*')]"


def box_for(mode: Mode) -> Box:
    return Box(
        mode, options=["--memory", "3g", "--shm-size", "1g"], words=["--kernel-memory", "96M"]
    )


def attack(box: Box) -> str:
    box.run()
    sessions = {way: box.session() for way in WAYS}
    got = []
    for way, code in WAYS.items():
        told = box.cell(code + END.replace("TWICE", str(2 * ROOM)), sessions[way], ends=True)
        kept = [int(line.split()[1]) for line in told.splitlines() if line.startswith("KEPT")]
        if kept and kept[0] << 20 > 2 * ROOM:
            got.append(f"{way}: {kept[0]} MiB")
        box.cell(CLEAR, ends=True)
    return "; ".join(got)
