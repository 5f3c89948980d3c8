# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of a running server: it is true, and a stock generator can use it."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from box import GUARD, IMAGE, address_of, docker, until

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
TOKEN, APPROVER = "the-token", "the-approver"
SEED, EXAMPLES, CASES = 20261121, 10, 800
ENDLESS = "followSession|watchFolder.*|openTerminal"  # a stream that ends with its client
OK, CREATED, UNAUTHORIZED, FORBIDDEN, TOO_MANY = 200, 201, 401, 403, 429


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    env = ["-e", f"IPYBOX_TOKEN={TOKEN}", "-e", f"IPYBOX_APPROVER_TOKEN={APPROVER}"]
    env += ["-e", "PIP_NO_INDEX=1"]  # the packages that are asked for are made up
    command = ["run", "-d", "--rm", "-p", "127.0.0.1::8080", *env, IMAGE, "serve"]
    container = docker(*command).strip()
    try:
        url = f"http://{address_of(container, 8080)}"
        wait_until_ready(url)
        yield url
    finally:
        docker("rm", "-f", container)


def wait_until_ready(url: str) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(retries=10)) as client:

        def answers() -> bool:
            try:
                return bool(client.get(f"{url}/startupz").status_code == OK)
            except httpx.TransportError:
                return False  # the engine's port forwarding is there before the server

        until(answers, lambda: "the server does not come up")


@pytest.fixture(scope="module")
def document(url: str) -> dict[str, Any]:
    document: dict[str, Any] = httpx.get(f"{url}/openapi.json", timeout=GUARD).json()
    return document


@pytest.fixture
def user(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=GUARD
    ) as client:
        yield client


# --- the generated client: first, while the server is as it came up ---


def generate(url: str, folder: Path) -> None:
    """A package `made`, by openapi-python-client from the server's own document."""
    command: list[str | Path] = [BIN / "openapi-python-client", "generate"]
    command += ["--url", f"{url}/openapi.json", "--config", HERE / "openapi" / "client.yaml"]
    command += ["--meta", "none", "--fail-on-warning", "--output-path", folder / "made"]
    made = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=GUARD,
        check=False,
    )
    assert made.returncode == 0, made.stdout


class Made:
    """The generated package: Made()("models").NewSession."""

    def __call__(self, name: str) -> Any:
        return importlib.import_module(f"made.{name}")


@pytest.fixture(scope="module")
def made(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("client")
    generate(url, folder)
    sys.path.insert(0, str(folder))
    yield Made()
    sys.path.remove(str(folder))


@pytest.fixture
def client(made: Made, url: str) -> Any:
    return made("client").AuthenticatedClient(
        base_url=url, token=TOKEN, timeout=httpx.Timeout(GUARD)
    )


def test_a_generated_client_has_every_operation(made: Made, document: dict[str, Any]) -> None:
    for _method, _path, operation in operations(document):
        name = re.sub("([A-Z])", r"_\1", operation["operationId"]).lower()
        [tag] = operation["tags"]
        assert made(f"api.{tag.replace('-', '_')}.{name}").sync_detailed


def test_a_generated_client_runs_cells_in_a_session_of_its_own(made: Made, client: Any) -> None:
    models = made("models")
    session = made("api.sessions.create_session").sync(
        client=client, body=models.NewSession(id="made", timeout_ms=60_000)
    )
    assert (session.id, session.timeout_ms, session.cwd) == ("made", 60_000, "/app/workspace")
    execute = made("api.executions.execute")
    first = execute.sync("made", client=client, body=models.NewExecution(code="x = 6\nprint(x)"))
    assert (first.status, first.text, first.stdout) == ("ok", "6", "6\n")
    second = execute.sync("made", client=client, body=models.NewExecution(code="x * 7"))
    assert second.text == "42"
    assert second.outputs[0].type_ == "result"
    assert second.outputs[0].data.to_dict() == {"text/plain": "42"}
    wrong = execute.sync("made", client=client, body=models.NewExecution(code="1 / 0"))
    assert (wrong.status, wrong.error.ename) == ("error", "ZeroDivisionError")
    listed = made("api.executions.list_executions").sync("made", client=client)
    assert [head.id for head in listed.executions] == [first.id, second.id, wrong.id]
    sessions = made("api.sessions.list_sessions").sync(client=client).sessions
    assert {"default", "made"} <= {each.id for each in sessions}
    ended = made("api.sessions.delete_session").sync_detailed("made", client=client)
    assert ended.status_code == 204
    gone = execute.sync("made", client=client, body=models.NewExecution(code="1"))
    assert (gone.status, gone.title) == (404, "Not Found")


def test_a_generated_client_reads_and_writes_files(made: Made, client: Any) -> None:
    content = bytes(range(256))
    written = made("api.files.write_file_by_query").sync(
        client=client,
        body=made("types").File(payload=io.BytesIO(content)),
        path="in/data.bin",
        parents=True,
    )
    assert (written.type_, written.size) == ("file", 256)
    code = "open('in/out.bin', 'wb').write(open('in/data.bin', 'rb').read()[::-1])"
    body = made("models").NewExecution(code=code)
    assert made("api.executions.execute").sync("default", client=client, body=body).text == "256"
    read = made("api.files.read_file_by_query").sync(client=client, path="in/out.bin")
    assert read.payload.read() == content[::-1]
    page = made("api.files.read_file_by_query").sync_detailed(client=client, path="in")
    names = [entry["name"] for entry in json.loads(page.content)["entries"]]
    assert names == ["data.bin", "out.bin"]
    missing = made("api.files.read_file_by_query").sync(client=client, path="nowhere")
    assert missing.status == 404


def test_a_generated_client_lists_and_decides_approvals(made: Made, client: Any) -> None:
    assert made("api.approvals.list_approvals").sync(client=client).approvals == []
    body = made("models").ToolAcceptance("accept")
    unknown = made("api.approvals.decide_approval").sync("1234", client=client, body=body)
    assert unknown.status == 404


# --- who may ---


def with_known(path: str, operation: dict[str, Any]) -> str:
    """Parameters that have a list of values get the first of them."""
    for parameter in operation.get("parameters", []):
        if known := parameter.get("schema", {}).get("enum"):
            path = path.replace(f"{{{parameter['name']}}}", known[0])
    return path


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield method, re.sub(r"\{\w+\}", "x", with_known(path, operation)), operation


def check_refusal(answer: httpx.Response, operation: dict[str, Any]) -> int:
    status: int = answer.status_code
    assert str(status) in operation["responses"], answer
    assert answer.headers["content-type"] == "application/problem+json"
    if status == UNAUTHORIZED:
        assert answer.headers["www-authenticate"].startswith("Bearer ")
    else:
        assert status == TOO_MANY, answer
        assert int(answer.headers["retry-after"]) > 0
    return status


def test_every_operation_asks_for_a_token_as_documented(url: str, document: dict[str, Any]) -> None:
    found: set[int] = set()
    for method, path, operation in operations(document):
        if operation["security"]:
            wrong = {"Authorization": "Bearer wrong"} if len(found) % 2 else {}
            answer = httpx.request(method, url + path, headers=wrong, timeout=GUARD)
            found.add(check_refusal(answer, operation))
        else:
            assert httpx.request(method, url + path).status_code == OK
    assert found == {UNAUTHORIZED, TOO_MANY}


def test_an_approver_may_do_nothing_but_approve(url: str, document: dict[str, Any]) -> None:
    with httpx.Client(
        base_url=url, headers={"Authorization": f"Bearer {APPROVER}"}, timeout=GUARD
    ) as client:
        for method, path, operation in operations(document):
            if not operation["security"] or "approvals" in operation["tags"]:
                continue
            answer = client.request(method, path)
            assert answer.status_code == FORBIDDEN, (method, path, answer)
        assert client.get("/v1/approvals").status_code == OK


# --- streams that do not end by themselves ---


def test_streams_are_what_the_document_says(user: httpx.Client) -> None:
    assert user.post("/v1/sessions", json={"id": "watched"}).status_code == CREATED
    assert user.post("/v1/sessions/watched/executions", json={"code": "1"}).status_code == OK
    for path in ("/v1/sessions/watched/events", "/v1/watch"):
        with user.stream("GET", path) as answer:
            assert answer.status_code == OK
            assert answer.headers["content-type"] == "text/event-stream"
            assert any(line.startswith("event: ") for line in answer.iter_lines())
    assert user.get("/v1/sessions/watched/events", params={"after": "x"}).status_code == 400
    assert user.delete("/v1/sessions/watched").status_code == 204


# --- everything at once: last, for it leaves files and sessions behind ---


def test_schemathesis_finds_no_failure(url: str, tmp_path: Path) -> None:
    command: list[str | Path] = [
        BIN / "st",
        "--config-file",
        HERE / "openapi" / "schemathesis.toml",
    ]
    command += ["run", f"{url}/openapi.json", "--header", f"Authorization: Bearer {TOKEN}"]
    command += ["--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure"]
    command += ["--seed", str(SEED), "--max-examples", str(EXAMPLES), "--max-redirects", "0"]
    command += [
        "--exclude-operation-id-regex",
        ENDLESS,
        "--request-timeout",
        str(GUARD),
        "--no-color",
    ]
    hooks = {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(HERE)}
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, **hooks, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    counted = re.search(r"(\d+) generated, (\d+) passed", run.stdout)
    assert counted, run.stdout
    assert int(counted[1]) == int(counted[2]) > CASES, run.stdout
    phases = re.findall(r"✅ (Coverage|Fuzzing|Stateful)", run.stdout)
    assert phases == ["Coverage", "Fuzzing", "Stateful"], run.stdout
