# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a working directory, and both backends. A test that skips itself has failed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

PLACE = Path(os.environ["SDK_PLACE"])
SERVER = Path(__file__).parent / "search_server.py"
NODE = PLACE / "node" / "node_modules" / ".bin"
BACKENDS = ["native"] if os.environ.get("SDK_TIER") == "gate" else ["native", "docker"]
PATIENCE = 180  # seconds: only ends what would run for ever


def until(holds: Callable[[], bool], what: Callable[[], object] = str) -> None:
    """Wait until `holds()`; a failure tells `what()`. In a thread of its own beside an event loop."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Tests with it run twice, but for the gate."""
    monkeypatch.setenv("IPYBOX_BACKEND", request.param)
    return str(request.param)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory; at the end nothing of the test may be running."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}-state")  # not where cells write
    yield tmp_path
    until(lambda: not left_in(tmp_path), lambda: left_in(tmp_path))
    until(lambda: not containers_of(os.getpid()), lambda: containers_of(os.getpid()))


def left_in(folder: Path) -> list[str]:
    """The command lines of the processes that have to do with a folder."""
    return [line for line in processes() if str(folder) in line]


def containers_of(pid: int) -> list[str]:
    """The names of the containers that the SDK has started in process `pid`."""
    if not shutil.which("docker"):
        return []
    names = subprocess.check_output(["docker", "ps", "-a", "--format", "{{.Names}}"], text=True)
    return [name for name in names.split() if name.startswith(f"ipybox-{pid}-")]


def processes() -> list[str]:
    """The command lines of all processes of this user but ours."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            if path.stat().st_uid == os.getuid() and int(path.parent.name) != os.getpid():
                found.append(words)
        except OSError:
            continue
    return found


@pytest.fixture
def search(folder: Path, backend: str) -> dict[str, Any]:
    """server_params of a server with the tools of the Brave search, where the backend has it."""
    if backend == "native":
        return {"command": sys.executable, "args": [str(SERVER)], "env": {"KEY": "${HOME}"}}
    shutil.copy(SERVER, folder)
    return {"command": "python3", "args": ["search_server.py"]}


@pytest.fixture
def wheel_for_uvx(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`uvx ipybox` takes the wheel of dist/; settings of clients are in a home of this test."""
    monkeypatch.setenv("HOME", str(folder / "home"))
    Path("home").mkdir()
    monkeypatch.setenv("PATH", f"{PLACE / 'venv' / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("UV_FIND_LINKS", f"{PLACE / 'dist'},{PLACE / 'packages'}")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_PYTHON", sys.executable)
    monkeypatch.setenv("UV_CACHE_DIR", str(PLACE / "uv"))


def client(program: str, *words: str, answer: str = "", errors_too: bool = False) -> str:
    """The output of a client's command, which is told `answer` when it asks; it must succeed."""
    done = subprocess.run(
        [NODE / program, *words], input=answer, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr if errors_too else done.stdout


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test is a failed one."""
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which counts as failed: {report.longrepr}"
    return report
