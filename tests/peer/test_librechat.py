# SPDX-License-Identifier: Apache-2.0
"""LibreChat's own tools, unchanged, and requests that none of its clients would make."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from box import GUARD, IMAGE, INSIDE, Box, address_of, running, wait_until_ready

KEY = "librechat_0123456789abcdef"
FORM = "multipart/form-data; boundary=b"
MANY = 1 << 28  # bytes; an upload may have no more
EARLY_MS = 4500  # for a cell to print: the server's clock of the request


@contextmanager
def serving(workspace: Path, *more: str, keys: Path | None = None) -> Iterator[str]:
    words = ["-p", "127.0.0.1::8080", "-v", f"{workspace}:{INSIDE}", "-e", f"IPYBOX_TOKEN={KEY}"]
    words += ["-v", f"{keys}:/run/keys.pem:ro"] if keys else []
    with running(*words, IMAGE, "serve", "--librechat", *more) as container:
        url = f"http://{address_of(container, 8080)}"
        wait_until_ready(f"{url}/readyz", container)
        yield f"{url}/librechat/v1"


@pytest.fixture(scope="module")
def url(shared_box: Box) -> Iterator[str]:
    with serving(shared_box.workspace) as url:
        yield url


@pytest.fixture(scope="module")
def seen(url: str) -> Any:
    said = node("librechat.mjs", PEER_LIBRECHAT_URL=url, PEER_LIBRECHAT_KEY=KEY)
    return json.loads(said.splitlines()[-1])


def node(script: str, *words: str, **env: str) -> str:
    folder = Path(os.environ["PEER_LIBRECHAT_DIR"])
    command = ["node", str(folder / script), *words]
    run = subprocess.run(
        command, stdout=subprocess.PIPE, env=os.environ | env, timeout=GUARD, check=True, text=True
    )
    return run.stdout


def ask(url: str, body: Any = None, method: str = "", **headers: str) -> tuple[int, Any]:
    """Status, and the body as JSON where it is some."""
    raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    head = {"X-API-Key": KEY, "Content-Type": "application/json"} | headers
    request = urllib.request.Request(url, raw, head, method=method or ("POST" if raw else "GET"))
    try:
        with urllib.request.urlopen(request, timeout=GUARD) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def upload(url: str, name: str, content: bytes) -> tuple[int, Any]:
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    kind = b'--b\r\nContent-Disposition: form-data; name="kind"\r\n\r\nuser\r\n'
    body = kind + head.encode() + content + b"\r\n--b--\r\n"
    return ask(f"{url}/upload", body, **{"Content-Type": FORM})


def run(url: str, code: str, lang: str = "py", **more: Any) -> tuple[int, Any]:
    return ask(f"{url}/exec", {"lang": lang, "code": code} | more)


@pytest.mark.gate
def test_its_tool_runs_code_and_passes_files_on(seen: Any) -> None:
    code = seen["code"]
    assert code["made"]["text"].startswith("stdout:\n['an arg']\n")
    (made,) = code["made"]["artifact"]["files"]
    assert made["name"] == "a.csv"
    assert made["storage_session_id"] == code["made"]["artifact"]["session_id"]
    assert "stdout:\nx,1\nstderr:\naside" in code["read"]["text"]
    (read,) = code["read"]["artifact"]["files"]
    assert (read["id"], read["inherited"]) == (made["id"], True)
    assert "ZeroDivisionError" in code["error"]["text"]


@pytest.mark.gate
def test_its_tool_says_what_was_refused(seen: Any) -> None:
    code = seen["code"]
    assert "was rejected" in code["language"]["error"]
    assert "not authorized" in code["key"]["error"]
    assert "execution profile" in code["profile"]["error"]


def test_a_runtime_that_is_named_keeps_its_files_alone(seen: Any) -> None:
    state = seen["state"]
    assert state["first"]["runtime_status"] == "new"
    assert state["second"]["artifact"]["runtime_status"] == "reused"
    assert "kept False" in state["second"]["text"]


def test_its_tool_works_with_tokens_of_users(shared_box: Box, tmp_path: Path) -> None:
    node("librechat_jwt.mjs", "keys", str(tmp_path))
    keys = tmp_path / "public.pem"
    more = ["--librechat-jwt-keys", "/run/keys.pem"]
    with serving(shared_box.workspace, *more, keys=keys) as url:
        said = node("librechat_jwt.mjs", "run", str(tmp_path), PEER_LIBRECHAT_URL=url)
        assert run(url, "print(1)")[1]["stdout"] == "1\n"  # the key is good, too
    for algorithm, seen in json.loads(said.splitlines()[-1]).items():
        (made,) = seen["made"]["files"]
        assert "stdout:\nof one" in seen["own"]["text"], (algorithm, seen)
        assert seen["own"]["files"][0]["id"] == made["id"]
        assert "of one" not in json.dumps(seen["others"]), (algorithm, seen)
        assert "was rejected" in seen["others"]["error"]
        assert "not authorized" in seen["expired"]["error"]
        assert "not authorized" in seen["audience"]["error"]


@pytest.mark.gate
def test_files_go_round(url: str) -> None:
    content = bytes(range(256)) * 4096
    _, sent = upload(url, "in.bin", content)
    session, file = sent["storage_session_id"], sent["files"][0]["fileId"]
    ref = {"id": file, "storage_session_id": session, "name": "sub/in.bin"}
    code = (
        "d = open('/mnt/data/sub/in.bin', 'rb').read()\n"
        "open('out.bin', 'wb').write(d[::-1])\nprint(len(d))"
    )
    _, ran = run(url, code, files=[ref])
    assert ran["stdout"] == f"{len(content)}\n"
    files = {one["name"]: one for one in ran["files"]}
    assert files["sub/in.bin"]["inherited"]
    out = files["out.bin"]
    place = f"{out['storage_session_id']}/{out['id']}"
    assert ask(f"{url}/download/{place}")[1] == content[::-1]
    listed = ask(f"{url}/files/{out['storage_session_id']}?detail=full")[1]
    names = {one["metadata"]["original-filename"] for one in listed}
    assert names == {"out.bin", "sub/in.bin"}
    assert ask(f"{url}/sessions/{out['storage_session_id']}/objects/{out['id']}")[1]["size"] == len(
        content
    )
    assert ask(f"{url}/files/{place}", method="DELETE")[0] == 200
    assert ask(f"{url}/download/{place}")[0] == 404


def test_a_session_goes_on_with_its_files_and_tells_what_is_gone(url: str) -> None:
    _, first = run(url, "open('a', 'w').write('1'); open('b', 'w').write('2')")
    _, second = run(url, "rm b; echo 3 >> a", "bash", session_id=first["session_id"])
    assert [one["name"] for one in second["files"]] == ["a"]
    assert (second["deleted_files"], second["session_id"]) == (["b"], first["session_id"])


def test_a_session_with_too_many_files_still_runs_code(url: str) -> None:
    _, first = run(url, "for i in range(1200): open(f'f{i}', 'w').close()")
    assert (first["files"], "more than 1000 files" in first["stderr"]) == ([], True)
    session = first["session_id"]
    assert ask(f"{url}/files/{session}")[0] == 400
    _, second = run(url, "rm f*; echo 1 > left", "bash", session_id=session)
    assert ([one["name"] for one in second["files"]], second["stderr"]) == (["left"], "")


def test_sessions_have_nothing_of_each_other(url: str) -> None:
    _, first = run(url, "x = 1\nopen('/mnt/data/mine', 'w').write('1')")
    _, second = run(url, "import os\nprint(os.listdir('/mnt/data'), 'x' in globals())")
    assert second["stdout"] == "[] False\n"
    (file,) = first["files"]
    other = f"{second['session_id']}/{file['id']}"
    assert ask(f"{url}/download/{other}")[0] == 404
    assert ask(f"{url}/sessions/{second['session_id']}/objects/{file['id']}")[0] == 404


def test_a_link_out_of_the_session_is_no_file(url: str) -> None:
    code = "import os\nos.symlink('/etc/passwd', 'out'); os.symlink('../..', 'up'); open('x', 'w')"
    _, ran = run(url, code)
    assert [one["name"] for one in ran["files"]] == ["x"]


def test_code_ends_at_its_timeout(url: str) -> None:
    status, ran = run(url, "print('begun', flush=True)\nwhile True: pass", timeout=EARLY_MS)
    assert (status, ran["stdout"]) == (200, "begun\n")
    assert "interrupted" in ran["stderr"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "the body"),
        ([], "an object"),
        ({}, "lang: a string"),
        ({"lang": "py"}, "code: a string"),
        ({"lang": "r", "code": ""}, "lang: r is not served here; py and bash are"),
        ({"lang": "py", "code": "", "args": "x"}, "args: an array"),
        ({"lang": "py", "code": "", "args": [1]}, "args[0]: a string"),
        ({"lang": "py", "code": "", "timeout": -1}, "timeout: "),
        ({"lang": "py", "code": "", "timeout": "1"}, "timeout: "),
        ({"lang": "py", "code": "", "session_id": "nosuch"}, "there is no session nosuch"),
        ({"lang": "py", "code": "", "session_id": "../.."}, "there is no session"),
        ({"lang": "py", "code": "", "session_id": 1}, "session_id: "),
        ({"lang": "py", "code": "", "runtime_session_hint": 1}, "runtime_session_hint: "),
        ({"lang": "py", "code": "", "files": {}}, "files: an array"),
        ({"lang": "py", "code": "", "files": [1]}, "files[0]: id: a string"),
        (
            {
                "lang": "py",
                "code": "",
                "files": [{"id": "x", "name": "a", "storage_session_id": ".."}],
            },
            "files[0]: there is no session ..",
        ),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(url: str, body: Any, said: str) -> None:
    status, answer = ask(f"{url}/exec", body)
    assert (status, answer["error"]) == (400, "invalid_request")
    assert said in answer["message"]


def test_unknown_places_are_not_found(url: str) -> None:
    for path in ("/files/nosuch", "/download/a/b", "/sessions/a/objects/b", "/nothing", ""):
        status, answer = ask(f"{url}{path}")
        assert (status, answer["error"]) == (404, "not_found"), path
    assert ask(f"{url}/files/a/b", method="DELETE")[0] == 404
    assert ask(f"{url}/exec", method="PUT")[0] == 405


def test_bad_uploads_are_refused(url: str) -> None:
    for name in ("", "../up", "/abs", "a/../b", "a//b"):
        assert upload(url, name, b"x")[0] == 400, name
    form = {"Content-Type": FORM}
    assert ask(f"{url}/upload", b"--b\r\nno form", **form)[0] == 400
    assert ask(f"{url}/upload", b"--b--\r\n", **form)[1]["message"] == "file: a file is needed"
    assert ask(f"{url}/upload", b"{}")[0] == 400
    long = {"Content-Length": str(MANY + 1)}
    assert ask(f"{url}/upload", b"", method="POST", **form, **long)[0] == 413


@pytest.mark.gate
def test_only_the_key_is_let_in(url: str) -> None:
    order = {"lang": "py", "code": "print(1)"}
    for head in ({"X-API-Key": ""}, {"X-API-Key": "no"}, {"X-API-Key": "", "Authorization": "x"}):
        status, answer = ask(f"{url}/exec", order, **head)
        assert (status, answer["error"]) in ((401, "unauthorized"), (429, "rate_limited"))
    request = urllib.request.Request(f"{url}/health")
    with urllib.request.urlopen(request, timeout=GUARD) as answer:
        assert json.load(answer) == {"status": "ok"}
    bearer = urllib.request.Request(f"{url}/files/nosuch", None, {"Authorization": f"Bearer {KEY}"})
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(bearer, timeout=GUARD)


def begin(url: str, code: str, *names: str, **more: Any) -> tuple[int, Any]:
    tools = [{"name": name, "description": "", "parameters": {}} for name in names]
    return ask(f"{url}/exec/programmatic", {"code": code, "tools": tools} | more)


def go_on(url: str, token: str, results: Any) -> tuple[int, Any]:
    order = {"continuation_token": token, "tool_results": results}
    return ask(f"{url}/exec/programmatic", order)


@pytest.mark.gate
def test_its_tools_are_called_by_code_that_runs_once(seen: Any) -> None:
    tools = seen["tools"]
    assert tools["many"]["text"].startswith("stdout:\nonce\n1000")
    assert tools["ordered"]
    print(f"1000 round trips in {tools['ms']:.0f} ms")
    assert "{'next': 1}, {'next': 2}, {'next': 3}" in tools["together"]["text"]
    assert "caught broken on purpose" in tools["caught"]["text"]
    assert "broken on purpose" in tools["raised"]["error"]
    assert "stdout:\nplain" in tools["none"]["text"]
    assert "exceeded the time limit" in tools["slow"]["error"]


def test_results_come_as_they_were_written(url: str) -> None:
    code = "print([repr(await give(i=i)) for i in range(6)])"
    values = ["68.10", "12345678901234567890", "[]", '""', "null", '{"a": [1, {}]}']
    _, answer = begin(url, code, "give")
    for i, value in enumerate(values):
        (call,) = answer["tool_calls"]
        assert (call["name"], call["input"]) == ("give", {"i": i})
        text = json.dumps(
            {"continuation_token": answer["continuation_token"], "tool_results": ["HERE"]}
        )
        result = f'{{"call_id": "{call["id"]}", "result": {value}, "is_error": false}}'
        _, answer = ask(f"{url}/exec/programmatic", text.replace('"HERE"', result).encode())
    assert answer["status"] == "completed"
    said = [str(json.loads(value)) for value in values]
    assert answer["stdout"] == str([repr(json.loads(value)) for value in values]) + "\n", said


def test_a_token_is_good_for_one_request(url: str) -> None:
    _, first = begin(url, "print(await a(x=1), await a(x=2))", "a")
    token, call = first["continuation_token"], first["tool_calls"][0]["id"]
    _, second = go_on(url, token, [{"call_id": call, "result": 1, "is_error": False}])
    assert second["status"] == "tool_call_required"
    for wrong in (token, "", "nosuch", second["session_id"]):
        status, answer = go_on(url, wrong, [{"call_id": call, "result": 9, "is_error": False}])
        assert (status, answer["error"]) == (400, "invalid_request")
    call = second["tool_calls"][0]["id"]
    _, last = go_on(url, second["continuation_token"], [{"call_id": call, "result": 2}])
    assert (last["status"], last["stdout"]) == ("completed", "1 2\n")


def test_wrong_results_lose_nothing(url: str) -> None:
    code = "import asyncio\nprint(await asyncio.gather(a(x=1), a(x=2)))"
    _, first = begin(url, code, "a")
    token, calls = first["continuation_token"], [one["id"] for one in first["tool_calls"]]
    one, other = ({"call_id": call, "result": call} for call in calls)
    unknown = {"call_id": "x"}
    wrongs: list[Any] = [None, {}, [], [one], [one, one], [one, unknown], [one, 1], [one] * 3]
    for wrong in wrongs:
        assert go_on(url, token, wrong)[0] == 400
    assert go_on(url, token, [other, one])[1]["stdout"] == f"{calls}\n"


def test_code_of_other_sessions_reaches_no_client(url: str) -> None:
    _, first = begin(url, "print(await a(x=1))", "a")
    code = (
        "from ipybox_tools import ToolRunner\n"
        "ToolRunner('librechat').run_sync('a', {'x': 'stolen'})"
    )
    _, other = run(url, code)
    assert "the MCP server librechat is not registered" in other["stderr"]
    results = [{"call_id": first["tool_calls"][0]["id"], "result": "mine"}]
    assert go_on(url, first["continuation_token"], results)[1]["stdout"] == "mine\n"


@pytest.mark.gate
def test_code_that_waits_can_be_cancelled(url: str) -> None:
    order = {"code": "await a()", "tools": [{"name": "a"}]}
    head = {"X-LibreChat-Code-Request-ID": "request-1"}
    _, first = ask(f"{url}/exec/programmatic", order, **head)
    cancel = f"{url}/exec/programmatic/cancel"
    assert ask(cancel, {"request_id": "nosuch"})[0] == 404
    assert ask(cancel, {})[0] == 400
    assert ask(cancel, {"request_id": "request-1"}) == (200, {"status": "cancelled"})
    results = [{"call_id": first["tool_calls"][0]["id"], "result": 1}]
    assert go_on(url, first["continuation_token"], results)[0] == 400


@pytest.mark.parametrize(
    "order",
    [
        {"code": "1"},
        {"code": "1", "tools": {}},
        {"code": "1", "tools": [{}]},
        {"code": "1", "tools": [{"name": ""}]},
        {"tools": []},
        {"continuation_token": 1},
    ],
)
def test_a_wrong_programmatic_request_is_refused(url: str, order: Any) -> None:
    assert ask(f"{url}/exec/programmatic", order)[0] == 400
