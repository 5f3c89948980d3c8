# SPDX-License-Identifier: Apache-2.0
"""kubernetes-sigs/agent-sandbox: its client for Python, unchanged, against one container.

What its controller would tell, where the pod is, is told by a stub. The runtime's contract is asked
with a token, at the port of the kernel gateway; sandboxd's with --agent-sandbox-open: its client
has no place for a header.
"""

from __future__ import annotations

import http.client
import io
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from box import (
    GUARD,
    IMAGE,
    INSIDE,
    Box,
    address_of,
    docker,
    own_port,
    raises,
    running,
    until,
    wait_until_ready,
)
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.models import (
    SandboxdInClusterConnectionConfig,
    SandboxDirectConnectionConfig,
)
from k8s_agent_sandbox.sandbox import Sandbox

TOKEN = "agents-0123456789abcdef"
EARLY_SECONDS = 4.5  # for a shell to begin: the server's clock of the command
KEPT = 4 << 20  # bytes of one stream of a command

Guarded = tuple[str, str, str]  # the URL with a token, the container, the URL of the HTTP API


@pytest.fixture(scope="module")
def guarded(shared_box: Box) -> Iterator[Guarded]:
    words = ["-p", "127.0.0.1::8888", "-p", "127.0.0.1::8080"]
    words += ["-v", f"{shared_box.workspace}:{INSIDE}"]
    options = ["-e", f"IPYBOX_EXECUTE_TOKEN={TOKEN}", IMAGE, "serve-all", "--agent-sandbox"]
    with running(*words, *options) as container:
        url = f"http://{address_of(container, 8888)}"
        wait_until_ready(f"{url}/", container)
        yield url, container, f"http://{address_of(container, 8080)}"


@pytest.fixture(scope="module")
def rest(shared_box: Box) -> Iterator[int]:
    """The port of sandboxd's contract, without a token."""
    words = ["-p", "127.0.0.1::8080", "-v", f"{shared_box.workspace}:{INSIDE}", IMAGE]
    ports = ["--agent-sandbox-port", "0", "--agent-sandbox-rest-port", "8080"]
    with running(
        *words, "serve", "--http", "8081", "--agent-sandbox", "--agent-sandbox-open", *ports
    ) as container:
        address = address_of(container, 8080)
        wait_until_ready(f"http://{address}/v1/health", container)
        yield int(address.split(":")[1])


def client(config: Any) -> Any:
    controller = SimpleNamespace(
        get_sandbox=lambda *_: {"status": {"podIPs": ["127.0.0.1"]}}, custom_objects_api=None
    )
    return Sandbox("claim", "sandbox", "default", config, k8s_helper=controller)


@pytest.fixture(scope="module")
def sandbox(guarded: Guarded) -> Any:
    headers = {"X-Ipybox-Token": TOKEN}
    return client(SandboxDirectConnectionConfig(api_url=guarded[0], extra_headers=headers))


def call(
    method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    request = urllib.request.Request(url, body, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=GUARD) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()


def instance_of(url: str) -> str | None:
    try:
        with urllib.request.urlopen(url, timeout=GUARD) as answer:
            name = answer.headers["Ipybox-Instance"]
    except urllib.error.HTTPError as e:
        name = e.headers["Ipybox-Instance"]
    return str(name) if name else None


def execute(url: str, body: Any, token: str = TOKEN) -> tuple[int, Any]:
    headers = {"X-Ipybox-Token": token, "Content-Type": "application/json"}
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    status, answer = call("POST", f"{url}/execute", text, headers)
    return status, json.loads(answer)


# --- commands ---


@pytest.mark.gate
def test_a_command_has_output_and_a_status(sandbox: Any) -> None:
    run = sandbox.commands.run("echo out; echo é >&2; exit 3")
    assert (run.stdout, run.stderr, run.exit_code) == ("out\n", "é\n", 3)
    assert not run.timed_out


def test_a_command_runs_beside_the_kernel_in_its_workspace(sandbox: Any) -> None:
    assert sandbox.commands.run("pwd").stdout.strip() == INSIDE
    assert sandbox.commands.run("id -u; python -c 'print(6*7)'").stdout.split()[1] == "42"


def test_a_signal_is_a_negative_status(sandbox: Any) -> None:
    assert sandbox.commands.run("kill -KILL $$").exit_code == -9


def test_a_timeout_ends_the_tree(guarded: Guarded, sandbox: Any) -> None:
    run = sandbox.commands.run("echo early; sleep 987 & sleep 987", command_timeout=EARLY_SECONDS)
    assert (run.timed_out, run.exit_code, run.stdout) == (True, 124, "early\n")
    assert f"timed out after {EARLY_SECONDS} seconds" in run.stderr
    until(lambda: "sleep 987" not in docker("top", guarded[1]))


def test_of_a_large_output_the_beginning_is_kept(sandbox: Any) -> None:
    whole = sandbox.commands.run("head -c 4000000 /dev/zero | tr '\\0' x")
    assert whole.stdout == "x" * 4_000_000
    cut = sandbox.commands.run("head -c 9000000 /dev/zero | tr '\\0' x")
    assert (len(cut.stdout), cut.exit_code) == (KEPT, 0)
    assert f"{9_000_000 - KEPT} bytes of output are left out" in cut.stderr


def test_bytes_that_are_no_text_are_replaced(sandbox: Any) -> None:
    assert sandbox.commands.run("printf 'a\\377b\\000c'").stdout == "a\ufffdb\0c"


def test_commands_run_at_once(sandbox: Any) -> None:
    """Two that wait for each other."""
    left = "mkfifo -m 666 pipe.a pipe.b 2>/dev/null; echo l > pipe.a; cat pipe.b; rm pipe.*"
    right = "until [ -p pipe.b ]; do :; done; cat pipe.a; echo r > pipe.b"
    with ThreadPoolExecutor() as pool:
        a, b = pool.map(lambda c: sandbox.commands.run(c).stdout, (left, right))
    assert (a, b) == ("r\n", "l\n")


@pytest.mark.gate
def test_a_client_that_goes_away_ends_its_command(guarded: Guarded, sandbox: Any) -> None:
    port = int(guarded[0].rsplit(":", 1)[1])
    body = b'{"command": "sleep 986 & touch begun; wait"}'
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(
            b"POST /execute HTTP/1.1\r\nHost: localhost\r\nX-Ipybox-Token: "
            + f"{TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        begun = "until [ -e begun ]; do :; done"
        assert not sandbox.commands.run(begun, command_timeout=GUARD).timed_out
        assert "sleep 986" in docker("top", guarded[1])
    until(lambda: "sleep 986" not in docker("top", guarded[1]))


def test_what_is_no_command_is_refused(guarded: Guarded) -> None:
    bodies: list[Any] = [b"", b"{", [], {}, {"command": 1}, {"command": "true\0"}]
    for bad in bodies:
        assert execute(guarded[0], bad)[0] == 400, bad
    for seconds in (0, -1, "5", 1e300):
        status, answer = execute(guarded[0], {"command": "true", "timeout_seconds": seconds})
        assert status == 400 and "timeout_seconds" in answer["message"], seconds


@pytest.mark.gate
def test_a_token_is_needed_but_for_health(guarded: Guarded) -> None:
    url = guarded[0]
    assert json.loads(call("GET", f"{url}/")[1])["status"] == "ok"
    assert execute(url, {"command": "true"}, "wrong")[0] == 401
    for path in ("/list/", "/exists/a", "/download/a"):
        assert call("GET", url + path)[0] == 401
    assert call("POST", f"{url}/upload", b"")[0] == 401
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert call("POST", f"{url}/execute", b'{"command": "true"}', bearer)[0] == 200


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--approve-shell-cmds"], "--approve-shell-cmds is to ask about"),
        (["--approve-shell-cmds", "--agent-sandbox-open"], "--approve-shell-cmds is to ask about"),
        (["--http", "0.0.0.0:8080"], "--agent-sandbox runs code for everyone who reaches 0.0.0.0"),
    ],
)
def test_without_a_token_it_is_not_open_by_accident(options: list[str], why: str) -> None:
    words = ["docker", "run", "--rm", IMAGE, "serve", "--agent-sandbox", *options]
    run = subprocess.run(words, capture_output=True, text=True, timeout=GUARD, check=False)
    assert run.returncode != 0 and why in run.stderr


def test_code_in_a_cell_has_no_token_for_it(guarded: Guarded) -> None:
    code = (
        "import urllib.request as u, urllib.error as e, os\n"
        "try: print(u.urlopen('http://127.0.0.1:8888/execute', b'{\"command\":\"id\"}').status)\n"
        "except e.HTTPError as x: print(x.code)\n"
        "print([v for v in os.environ.values() if 'agents-' in v])"
    )
    status, answer = call(
        "POST",
        f"{guarded[2]}/v1/sessions/default/executions",
        json.dumps({"code": code}).encode(),
        {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    assert status == 200 and json.loads(answer)["text"].split("\n")[:2] == ["401", "[]"], answer


def test_every_answer_names_the_server(guarded: Guarded) -> None:
    """One that is free, one that is refused, one of a path that nobody has."""
    name = docker("exec", guarded[1], "hostname").strip()
    assert [instance_of(guarded[0] + path) for path in ("/", "/list/.", "/none")] == [name] * 3
    headers = {"X-Ipybox-Token": TOKEN, "Ipybox-Instance": "another"}
    assert call("GET", f"{guarded[0]}/list/.", None, headers)[0] == 421


# --- files ---


@pytest.mark.gate
def test_files_are_written_read_and_listed(sandbox: Any) -> None:
    files = sandbox.files
    files.write("dir a/b/c é.txt", "text")
    files.write("dir a/bytes", bytes(range(256)))
    assert files.read("dir a/b/c é.txt") == b"text"
    assert files.read("dir a/bytes") == bytes(range(256))
    listed = {entry.name: (entry.type, entry.size) for entry in files.list("dir a")}
    assert listed["bytes"] == ("file", 256) and listed["b"][0] == "directory"
    assert "dir a" in [entry.name for entry in files.list(".")]
    assert files.exists("dir a/b/c é.txt") and not files.exists("dir a/none")
    assert sandbox.commands.run("cat 'dir a/b/c é.txt'").stdout == "text"


def test_a_stream_is_uploaded_in_chunks(sandbox: Any) -> None:
    content = b"0123456789abcdef" * 400_000
    sandbox.files.write("large.bin", io.BytesIO(content))
    assert sandbox.files.read("large.bin") == content


def test_what_is_not_there_and_what_is_outside(sandbox: Any) -> None:
    files = sandbox.files
    sandbox.commands.run("ln -sf /etc/passwd out; mkdir -p folder")
    for path in ("none", "folder", "out"):
        with raises(SandboxRequestError):
            files.read(path)
    with raises(SandboxRequestError):
        files.list("none")
    for path in ("../../etc/passwd", "a/../../../etc/passwd"):
        with raises(SandboxRequestError):
            files.read(path, allow_unsafe_paths=True)
        with raises(SandboxRequestError):
            files.write(path, b"x", allow_unsafe_paths=True)


def test_a_dot_is_the_workspace_as_some_clients_send_it(guarded: Guarded) -> None:
    connection = http.client.HTTPConnection(guarded[0].removeprefix("http://"), timeout=GUARD)
    answers = {"/list/.": 200, "/list/%2E": 200, "/list/./x": 400, "/list/..": 400}
    for path, status in answers.items():
        connection.request("GET", path, headers={"X-Ipybox-Token": TOKEN})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status, path


@pytest.mark.gate
def test_paths_that_lead_out_are_403(guarded: Guarded) -> None:
    headers = {"X-Ipybox-Token": TOKEN}
    for what in ("download", "list", "exists"):
        status, answer = call("GET", f"{guarded[0]}/{what}/..%2F..%2Fetc%2Fpasswd", None, headers)
        assert status == 403 and b"Access denied" in answer


# --- sandboxd ---


def test_sandboxds_client_has_files(rest: int) -> None:
    config = SandboxdInClusterConnectionConfig(
        mode="in-cluster-pod-ip", rest_port=rest, grpc_port=own_port()
    )
    files = client(config).files
    files.write("d/e f/g.txt", "text")
    files.write("d/stream", io.BytesIO(b"x" * 100_000))
    assert files.read("d/e f/g.txt") == b"text"
    entries = {entry.name: entry for entry in files.list("d")}
    assert entries["e f"].type == "directory"
    assert (entries["stream"].size, entries["stream"].mode) == (100_000, "0644")
    assert abs(entries["stream"].modified.timestamp() - time.time()) < 600
    assert "d" in [entry.name for entry in files.list(".")]
    assert files.exists("d/stream") and not files.exists("d/none")
    with raises(SandboxRequestError):
        files.delete("d")
    files.delete("d", recursive=True)
    assert not files.exists("d")


def test_sandboxds_rest(rest: int) -> None:
    url = f"http://127.0.0.1:{rest}/v1"
    health = json.loads(call("GET", f"{url}/health")[1])
    assert health["status"] == "ok" and health["uptime_seconds"] >= 0
    assert json.loads(call("GET", f"{url}/metadata")[1]) == {"env": {}}
    assert call("PUT", f"{url}/files/notes/hello.txt?mode=0600", b"hello") == (204, b"")
    assert call("GET", f"{url}/files/notes%2Fhello.txt") == (200, b"hello")
    assert call("HEAD", f"{url}/files/notes%2Fhello.txt")[0] == 200
    assert call("HEAD", f"{url}/files/notes%2Fnone")[0] == 404
    listing = json.loads(call("GET", f"{url}/files/notes")[1])
    assert listing["path"] == "notes"
    assert [(e["name"], e["mode"]) for e in listing["entries"]] == [("hello.txt", "0600")]
    for method, path, body, status, code in [
        ("PUT", "notes", b"x", 409, "FAILED_PRECONDITION"),
        ("PUT", "x?mode=777", b"x", 400, "INVALID_ARGUMENT"),
        ("PUT", "..%2Fx", b"x", 403, "PERMISSION_DENIED"),
        ("GET", "none", None, 404, "NOT_FOUND"),
        ("DELETE", "none", None, 404, "NOT_FOUND"),
        ("DELETE", "notes", None, 409, "FAILED_PRECONDITION"),
        ("DELETE", "%2F", None, 403, "PERMISSION_DENIED"),
    ]:
        answer = call(method, f"{url}/files/{path}", body)
        assert answer[0] == status and json.loads(answer[1])["code"] == code, (method, path, answer)
    assert call("DELETE", f"{url}/files/notes/hello.txt")[0] == 204
    assert call("DELETE", f"{url}/files/notes")[0] == 204
