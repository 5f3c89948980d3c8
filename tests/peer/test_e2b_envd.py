# SPDX-License-Identifier: Apache-2.0
"""E2B's SDK for Python: files, commands and terminals, unchanged but for the URL.

tests/peer/run starts it with each of the SDK's versions in docs/works-with.md.
"""

from __future__ import annotations

import inspect
import io
import statistics
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import httpcore
import pytest
from box import GUARD, Box, raises, until
from e2b import (
    AuthenticationException,
    CommandExitException,
    InvalidArgumentException,
    NotFoundException,
    Sandbox,
    SandboxException,
    TimeoutException,
)
from e2b.sandbox.commands.command_handle import PtySize
from e2b_box import environment, serving

MANY_BYTES = 22_000_000
RUNS = 50


@pytest.fixture(scope="module")
def sandbox(shared_box: Box) -> Iterator[Any]:
    with serving(shared_box.workspace) as url, environment(url):
        made = Sandbox.create(timeout=600, envs={"FOO": "bar"})
        yield made
        assert made.kill()


# --- files ---


@pytest.mark.gate
def test_files_are_written_and_read(sandbox: Any) -> None:
    files = sandbox.files
    info = files.write("a.txt", "text é")
    assert (info.path, info.name) == ("/home/user/a.txt", "a.txt")
    assert files.read("/home/user/a.txt") == "text é"
    assert bytes(files.read("~/a.txt", format="bytes")) == "text é".encode()
    assert b"".join(files.read("/workspace/a.txt", format="stream")) == "text é".encode()
    files.write("deep/in/folders/b.bin", b"\x00\xff")
    assert bytes(files.read("deep/in/folders/b.bin", format="bytes")) == b"\x00\xff"
    files.write("stream.bin", io.BytesIO(b"0123456789" * 100_000))
    assert len(files.read("stream.bin", format="bytes")) == 1_000_000
    with raises(NotFoundException, "does not exist"):
        files.read("nothing.txt")
    with raises(SandboxException, "outside of the workspace"):
        files.read("/etc/passwd")
    with raises(AuthenticationException, "error looking up user 'root'"):
        files.read("a.txt", user="root")


def test_some_files_are_written_at_once(sandbox: Any) -> None:
    entries = [{"path": f'many/{name}"', "data": name} for name in ("x y", "é", "z")]
    written = sandbox.files.write_files(entries)
    assert [info.path for info in written] == [f"/home/user/{e['path']}" for e in entries]
    assert [sandbox.files.read(e["path"]) for e in entries] == [e["data"] for e in entries]


def test_gzip_and_metadata(sandbox: Any) -> None:
    files = sandbox.files
    parameters = inspect.signature(files.write).parameters
    if "gzip" in parameters:
        files.write("zipped.txt", "x" * 1_000_000, gzip=True)
        assert files.read("zipped.txt", gzip=True) == "x" * 1_000_000
    if "metadata" in parameters:
        written = files.write("noted.txt", "x", metadata={"author": "me & co"})
        assert written.metadata == files.get_info("noted.txt").metadata == {"author": "me & co"}
        files.write("noted.txt", "y")
        assert not files.get_info("noted.txt").metadata
    assert sandbox.get_metrics()[0].mem_total > 0


@pytest.mark.gate
def test_folders(sandbox: Any) -> None:
    files = sandbox.files
    assert files.make_dir("folder/sub")
    assert not files.make_dir("folder/sub")
    files.write("folder/f", "12345")
    assert [entry.name for entry in files.list("folder")] == ["f", "sub"]
    files.write("folder/sub/g", "")
    names = [entry.path for entry in files.list("folder", depth=2)]
    assert names == [f"/home/user/folder/{name}" for name in ("f", "sub", "sub/g")]
    info = files.get_info("folder/f")
    assert (info.size, info.mode, info.permissions) == (5, 0o644, "-rw-r--r--")
    assert info.type.value == "file"
    sandbox.commands.run("ln -s f folder/link", cwd="/home/user")
    assert files.get_info("folder/link").symlink_target == "/home/user/folder/f"
    assert files.rename("folder/f", "folder/new").path == "/home/user/folder/new"
    assert [files.exists(f"folder/{name}") for name in ("f", "new", "sub")] == [False, True, True]
    files.remove("folder")
    files.remove("folder")
    assert not files.exists("folder")
    with raises(NotFoundException):
        files.list("folder")


def test_a_folder_is_watched(sandbox: Any) -> None:
    sandbox.files.make_dir("watched")
    handle = sandbox.files.watch_dir("watched", recursive=True)
    sandbox.files.write("watched/up", "x")
    sandbox.commands.run("mkdir sub; echo > sub/f; rm up", cwd="/home/user/watched")
    events = [(event.name, event.type.value) for event in handle.get_new_events()]
    assert {("up", "create"), ("up", "write"), ("sub", "create"), ("up", "remove")} <= set(events)
    assert ("sub/f", "create") in events
    assert handle.get_new_events() == []
    handle.stop()


def test_signed_urls(sandbox: Any) -> None:
    sandbox.files.write("signed.txt", "content")
    url = sandbox.download_url("signed.txt", use_signature_expiration=60)
    with urllib.request.urlopen(url, timeout=GUARD) as answer:
        assert answer.read() == b"content"
    with raises(Exception, "401"):
        urllib.request.urlopen(url.replace("signed.txt", "a.txt"), timeout=GUARD)


# --- commands ---


@pytest.mark.gate
def test_a_command_and_its_streams(sandbox: Any) -> None:
    out: list[str] = []
    err: list[str] = []
    result = sandbox.commands.run(
        "echo out; echo err >&2; sleep 0.1; echo more; pwd; echo $FOO $X",
        envs={"X": "é"},
        on_stdout=out.append,
        on_stderr=err.append,
    )
    assert result.stdout == "".join(out) == "out\nmore\n/app/workspace\nbar é\n"
    assert result.stderr == "".join(err) == "err\n"
    assert result.exit_code == 0
    with pytest.raises(CommandExitException) as failed:
        sandbox.commands.run("echo said; exit 3")
    assert (failed.value.exit_code, failed.value.stdout) == (3, "said\n")


@pytest.mark.gate
def test_what_cannot_start(sandbox: Any) -> None:
    with raises(InvalidArgumentException, "cwd '/nowhere' does not exist"):
        sandbox.commands.run("pwd", cwd="/nowhere")
    with raises(AuthenticationException, "error looking up user 'root'"):
        sandbox.commands.run("id", user="root")
    # The server ends it and says so, or the SDK's own clock of the same second is ahead of that.
    with raises((TimeoutException, httpcore.ReadTimeout)):
        sandbox.commands.run("sleep 2000", timeout=1)
    # The SDK may give up a moment before the server does.
    until(lambda: not any("sleep 2000" in process.args for process in sandbox.commands.list()))


@pytest.mark.gate
def test_input(sandbox: Any) -> None:
    handle = sandbox.commands.run("cat; echo end", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "one\n")
    if hasattr(sandbox.commands, "stream_input"):
        sandbox.commands.stream_input(handle.pid, ["tw", "o\n"])
    else:
        sandbox.commands.send_stdin(handle.pid, "two\n")
    if hasattr(sandbox.commands, "close_stdin"):
        sandbox.commands.close_stdin(handle.pid)
        assert handle.wait().stdout == "one\ntwo\nend\n"
    assert sandbox.commands.kill(handle.pid) != hasattr(sandbox.commands, "close_stdin")


def test_a_command_in_the_background(sandbox: Any) -> None:
    handle = sandbox.commands.run("sleep 100", background=True)
    listed = {process.pid: process for process in sandbox.commands.list()}
    assert listed[handle.pid].args == ["-l", "-c", "sleep 100"]
    assert sandbox.commands.connect(handle.pid).pid == handle.pid
    assert sandbox.commands.kill(handle.pid)
    assert not sandbox.commands.kill(handle.pid)
    with pytest.raises(CommandExitException):
        handle.wait()


@pytest.mark.gate
def test_who_disconnects_can_connect_again(sandbox: Any) -> None:
    handle = sandbox.commands.run("echo a; read line; echo $line", background=True, stdin=True)
    pid = handle.pid
    handle.disconnect()
    again = sandbox.commands.connect(pid)
    sandbox.commands.send_stdin(pid, "late\n")
    assert again.wait().stdout.endswith("late\n")


def test_what_a_command_leaves(sandbox: Any) -> None:
    run = sandbox.commands.run
    run("python3 -m http.server 8123 >/tmp/log 2>&1 &")
    fetch = "import urllib.request as u; print(u.urlopen('http://localhost:8123/').status)"
    until(lambda: run(f'python3 -c "{fetch}" || true').stdout == "200\n")
    assert run("(sleep 1; echo late) & echo now").stdout == "now\nlate\n"
    assert run("setsid sh -c 'exit 0'").exit_code == 0


def test_much_output(sandbox: Any) -> None:
    begun = time.monotonic()
    result = sandbox.commands.run(f"head -c {MANY_BYTES} /dev/zero | tr '\\0' x")
    took = time.monotonic() - begun
    print(f"{MANY_BYTES} bytes of stdout: {took:.2f} s")
    assert result.stdout == "x" * MANY_BYTES


@pytest.mark.measure
def test_how_long_a_command_takes(sandbox: Any) -> None:
    took = []
    for _ in range(RUNS):
        begun = time.monotonic()
        sandbox.commands.run("true")
        took.append((time.monotonic() - begun) * 1000)
    print(f"commands.run('true'): {statistics.median(took):.1f} ms p50")
    assert statistics.median(took) < 1000  # it is a figure; this catches a pause in it


# --- terminals ---


def test_a_terminal(sandbox: Any) -> None:
    seen = bytearray()
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80), cwd="/home/user")
    sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
    sandbox.pty.send_stdin(terminal.pid, b"stty size; echo $TERM; exit 5\n")
    with pytest.raises(CommandExitException) as left:
        terminal.wait(on_pty=seen.extend)
    assert left.value.exit_code == 5
    assert b"30 100\r\nxterm" in seen
    other = sandbox.pty.create(PtySize(rows=24, cols=80))
    assert sandbox.pty.kill(other.pid)
    assert not sandbox.pty.kill(other.pid)
