"""What a cell, and a package's own set-up, try on places that are not theirs.

As a program: writes a source package whose set-up makes the same tries to the file that is named.
It needs no index: its build backend lies in itself. What it found out is in the module
planted_report of what is installed.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import signal
import socket
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

SECRET = "s3cr3t-word"
PATIENCE = 3  # seconds for a connection that nobody answers


def opened(path: str) -> bool:
    with open(path, "rb") as file:
        return SECRET.encode() in file.read()


def mapped(path: str) -> bool:
    fd = os.open(path, os.O_RDONLY)
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as memory:
        return SECRET.encode() in memory[:]


def sent(path: str) -> bool:
    fd = os.open(path, os.O_RDONLY)
    with tempfile.TemporaryFile() as file:
        os.sendfile(file.fileno(), fd, 0, 100)
        file.seek(0)
        return SECRET.encode() in file.read()


def by_descriptor(path: str) -> bool:
    fd = os.open(path, os.O_PATH)
    return opened(f"/proc/self/fd/{fd}")


def by_other_name(path: str) -> bool:
    name = tempfile.mkdtemp() + "/other"
    os.link(path, name)
    return opened(name)


def by_symlink(path: str) -> bool:
    name = tempfile.mkdtemp() + "/link"
    os.symlink(path, name)
    return opened(name)


def by_parent(path: str) -> bool:
    parent = os.path.dirname(path)
    os.rename(parent, parent + "2")
    return opened(parent + "2/" + os.path.basename(path))


def replaced(path: str) -> bool:
    mine = os.path.dirname(path) + "/mine"
    Path(mine).write_text("mine")
    os.rename(mine, path)
    return True


def removed(path: str) -> bool:
    os.unlink(path)
    return True


def written(path: str) -> bool:
    with open(path, "r+b") as file:
        file.write(b"mine")
    return True


ON_FILES: dict[str, Callable[[str], bool]] = {
    "open": opened,
    "mmap": mapped,
    "sendfile": sent,
    "descriptor": by_descriptor,
    "root": lambda path: opened("/proc/self/root" + path),
    "root of 1": lambda path: opened("/proc/1/root" + path),
    "link": by_other_name,
    "symlink": by_symlink,
    "parent": by_parent,
    "replace": replaced,
    "remove": removed,
    "write": written,
}


def worked(act: Callable[..., object], *args: object) -> bool:
    try:
        return bool(act(*args))
    except OSError:
        return False


def on_secret(path: str) -> list[str]:
    """What went through of all this: nothing may."""
    return [name for name, act in ON_FILES.items() if worked(act, path)]


def others() -> list[int]:
    """Processes that are neither we, nor above or below us."""
    mine = set()
    pid = os.getpid()
    while pid > 1:
        mine.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine]


def on_processes() -> list[str]:
    found = []
    for pid in others():
        for name in "environ", "mem", "maps":
            with contextlib.suppress(OSError):
                path = Path(f"/proc/{pid}/{name}")
                if path.exists() and path.open("rb").read(1):
                    found.append(f"{name} of {pid}")
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGCONT)
            found.append(f"signal to {pid}")
    return found


def reached(address: str, port: int) -> str:
    try:
        socket.create_connection((address, port), PATIENCE).close()
    except OSError as e:
        return type(e).__name__
    return "connected"


def tries(secret: str) -> dict[str, object]:
    return {
        "secret": on_secret(secret),
        "processes": on_processes(),
        "env": worked(opened, "/app/workspace/.env"),
        "plant": worked(lambda: Path("/app/workspace/planted").write_text("x")),
        "outside": reached("192.0.2.1", 443),
    }


BACKEND = """
import os, sys, zipfile
sys.path.insert(0, os.path.dirname(__file__))
import places

def build_wheel(folder, config_settings=None, metadata_directory=None):
    report = places.tries({secret!r})
    name = "planted-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("planted_report.py", f"REPORT = {{report!r}}\\n")
        wheel.writestr("planted-1.dist-info/METADATA", {metadata!r})
        wheel.writestr("planted-1.dist-info/WHEEL", {wheel!r})
        wheel.writestr("planted-1.dist-info/RECORD", "")
    return name
"""

METADATA = "Metadata-Version: 2.1\nName: planted\nVersion: 1\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

PROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "planted"
version = "1"
"""


def pack(path: str, secret: str) -> None:
    files = {
        "pyproject.toml": PROJECT,
        "backend.py": BACKEND.format(secret=secret, metadata=METADATA, wheel=WHEEL),
        "places.py": Path(__file__).read_text(),
        "PKG-INFO": METADATA,
    }
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"planted-1/{name}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))


if __name__ == "__main__":
    pack(sys.argv[1], sys.argv[2])
