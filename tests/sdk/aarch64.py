# SPDX-License-Identifier: Apache-2.0
"""Process 1 of the emulated machine: runs the trial as uid 1000 and turns the machine off."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

TRIAL = """
import asyncio, platform
from ipybox import CodeExecutor
WRITE = '''
try:
    open("/home/user/outside", "w")
    print("written")
except OSError as error:
    print(error.strerror)
'''
async def main():
    for sandbox in (False, True):
        async with CodeExecutor(sandbox=sandbox, kernel_init_timeout=900) as executor:
            text = (await executor.execute("6 * 7", timeout=900)).text
            level = (await executor.client.livez())["sandbox"]["level"]
            outside = (await executor.execute(WRITE, timeout=900)).text
            print(f"{'sandbox' if sandbox else 'plain'}: {text}, level {level}, outside: {outside}")
asyncio.run(main())
"""
MOUNTS = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", ""),
    ("tmpfs", "/tmp", "mode=1777"),
    ("tmpfs", "/home", "mode=755"),
]
SIOCSIFFLAGS = 0x8914
UP_LOOPBACK_RUNNING = 0x49


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for kind, place, options in MOUNTS:
        Path(place).mkdir(exist_ok=True)
        if libc.mount(kind.encode(), place.encode(), kind.encode(), 0, options.encode()):
            raise OSError(ctypes.get_errno(), f"mount {place}")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP_LOOPBACK_RUNNING))
    work = Path("/home/user/work")
    work.mkdir(parents=True)
    for folder in (work, work.parent):
        os.chown(folder, 1000, 1000)
    # What is imported is compiled once, by the only one who may write there.
    subprocess.run([sys.executable, "-c", "import ipybox.sync, ipykernel.kernelapp"], check=False)
    [command] = Path("/usr/local/lib").glob("python3*/dist-packages/bin/ipybox")
    for words in ([command, "--version"], [command, "--help"], ["-c", TRIAL]):
        print(*os.uname()[2:], words[-1] if words[0] == command else "cells", flush=True)
        subprocess.run(
            [sys.executable, *words],
            cwd=work,
            user=1000,
            group=1000,
            extra_groups=[],
            env={"HOME": "/home/user", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            check=False,
        )


try:
    main()
finally:
    Path("/proc/sysrq-trigger").write_text("o")
