# SPDX-License-Identifier: Apache-2.0
"""A session as a notebook: nbformat knows it, and papermill runs it again in another session."""

from __future__ import annotations

import ast
import base64
import json
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from box import GUARD, IMAGE, PNG, docker, own_port, until
from papermill.exceptions import PapermillExecutionError

TOKEN = "the-token"
PIXEL = base64.b64encode(PNG).decode()
CELLS = [
    "x = 6 * 7",
    "print('printed', x)\nimport sys; print('complained', file=sys.stderr)",
    "x",
    f"from IPython.display import Image, HTML\nimport base64\nImage(base64.b64decode('{PIXEL}'))",
    "handle = display(HTML('<b>first</b>'), display_id=True)\nhandle.update(HTML('<i>last</i>'))",
    "1 / 0",
    "!echo by a shell",
    "%%bash\necho by bash",
    "lines = !printf 'a\\nb\\n'\nlines.l",
    "await __import__('asyncio').sleep(0, 'awaited')",
]


class Box:
    def __init__(self) -> None:
        self.port, self.gateway = own_port(), own_port()
        # jupyter-server sends the gateway's token with its requests, but not with its WebSockets:
        # so the gateway listens on a loopback address, where it needs none.
        command = ["run", "-d", "--rm", "--network", "host", "-e", f"IPYBOX_TOKEN={TOKEN}", IMAGE]
        command += ["serve", "--http", f"127.0.0.1:{self.port}"]
        command += ["--kernel-gateway-host", "127.0.0.1"]
        self.container = docker(*command, "--kernel-gateway-port", str(self.gateway)).strip()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> bytes:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=GUARD) as answer:
            content: bytes = answer.read()
        return content

    def wait(self) -> None:
        def answers() -> bool:
            try:
                return bool(self.ask("/startupz"))
            except OSError:
                return False

        until(answers, lambda: "the server does not come up")


@pytest.fixture(scope="module")
def box() -> Iterator[Box]:
    box = Box()
    try:
        box.wait()
        for code in CELLS:
            box.ask("/v1/sessions/default/executions", {"code": code})
        yield box
    finally:
        docker("rm", "-f", box.container)


def outcome(cell: Any) -> list[Any]:
    """What a cell shows, without what differs from run to run."""
    shown = []
    for output in cell.outputs:
        if output.output_type == "error":
            shown.append((output.ename, output.evalue))
        elif output.output_type == "stream":
            shown.append((output.name, output.text))
        else:
            shown.append((output.output_type, dict(output.data)))
    return shown


def test_nbformat_knows_it_and_it_has_all_that_was_shown(box: Box) -> None:
    notebook = nbformat.reads(box.ask("/v1/sessions/default/notebook").decode(), as_version=4)
    nbformat.validate(notebook)
    assert [cell.source for cell in notebook.cells] == CELLS
    shown = [outcome(cell) for cell in notebook.cells]
    assert shown[1] == [("stdout", "printed 42\n"), ("stderr", "complained\n")]
    assert shown[2] == [("execute_result", {"text/plain": "42"})]
    assert shown[3][0][1]["image/png"].strip() == PIXEL
    assert shown[4][0][1]["text/html"] == "<i>last</i>"
    assert shown[5] == [("ZeroDivisionError", "division by zero")]
    times = [cell.metadata.execution["iopub.execute_input"] for cell in notebook.cells]
    assert times == sorted(times)


def test_papermill_runs_it_again_in_another_session_with_the_same_outcome(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = tmp_path / "before.ipynb", tmp_path / "after.ipynb"
    before.write_bytes(box.ask("/v1/sessions/default/notebook"))
    monkeypatch.setenv("JUPYTER_GATEWAY_URL", f"http://127.0.0.1:{box.gateway}")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")  # or jupyter_core warns
    with pytest.raises(PapermillExecutionError, match="ZeroDivisionError"):  # once all has run
        papermill.execute_notebook(
            before,
            after,
            kernel_manager_class="jupyter_server.gateway.managers.GatewayKernelManager",
            progress_bar=False,
        )
    old, new = (nbformat.read(path, as_version=4) for path in (before, after))
    new.cells = [cell for cell in new.cells if cell.cell_type == "code"]  # without papermill's mark
    assert [cell.source for cell in new.cells] == CELLS
    assert [outcome(cell) for cell in new.cells] == [outcome(cell) for cell in old.cells]


def test_the_script_is_python(box: Box) -> None:
    script = box.ask("/v1/sessions/default/notebook?format=py").decode()
    compile(script, "session.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert "get_ipython().system('echo by a shell')" in script
    assert "lines = get_ipython().getoutput(" in script


def test_the_command_line_writes_the_same(box: Box) -> None:
    run = ["docker", "exec", "-w", "/tmp", box.container, "ipybox", "export"]
    printed = subprocess.run(run, stdout=subprocess.PIPE, check=True, timeout=GUARD).stdout
    assert printed == box.ask("/v1/sessions/default/notebook")
    subprocess.run([*run, "session.py"], check=True, timeout=GUARD)
    written = docker("exec", box.container, "cat", "/tmp/session.py")
    assert written == box.ask("/v1/sessions/default/notebook?format=py").decode()
    again = subprocess.run([*run, "session.py"], check=False, stderr=subprocess.PIPE, timeout=GUARD)
    assert again.returncode == 1 and b"File exists" in again.stderr
    bad = subprocess.run(
        [*run, "--format", "pdf"], check=False, stderr=subprocess.PIPE, timeout=GUARD
    )
    assert bad.returncode == 2
