# SPDX-License-Identifier: Apache-2.0
"""Frameworks that start the image by its name, or use its kernel gateway by its address.

Each test is a row of docs/works-with.md.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import time
import types
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
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
    running,
    tool_path,
    until,
)

TOKEN = "a-token-of-the-tests"
STARTS = int(os.environ.get("PEER_STARTS", "5"))  # of the image, by who does not wait for it
RUNS = 20  # of Open WebUI, each with a kernel of its own


def started(box: Box, *options: str) -> AbstractContextManager[str]:
    """A container without standard input, as frameworks start them; its id."""
    return running("-v", f"{box.workspace}:{INSIDE}", *options, IMAGE)


@pytest.fixture(scope="module")
def gateway(shared_box: Box) -> Iterator[str]:
    """The URL of a kernel gateway that is reached with TOKEN. Nobody waits for it."""
    with started(shared_box, "-p", "127.0.0.1::8888", "-e", f"TOKEN={TOKEN}") as container:
        yield f"http://{address_of(container, 8888)}"


def get(url: str, header: str = "") -> tuple[int, str]:
    request = urllib.request.Request(url, headers=dict([header.split(": ")] if header else []))
    try:
        with urllib.request.urlopen(request, timeout=GUARD) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.gate
def test_forms_of_the_token(gateway: str) -> None:
    for header in "Authorization: token", "Authorization: Bearer":
        assert get(f"{gateway}/api/status", f"{header} {TOKEN}")[0] == 200
        assert get(f"{gateway}/api/status", f"{header} x")[0] == 401
    status, text = get(f"{gateway}/api/status?token={TOKEN}")
    assert status == 200
    assert set(json.loads(text)) == {"started", "last_activity", "kernels", "connections"}
    assert get(f"{gateway}/api/status")[0] == 401


@pytest.fixture(scope="module")
def open_webui() -> Any:
    """Open WebUI's own client: one file of its wheel, without the application around it."""
    settings: Any = types.ModuleType("open_webui.env")
    settings.AIOHTTP_CLIENT_ALLOW_REDIRECTS = False
    codec: Any = types.ModuleType("open_webui.utils.json_codec")
    codec.JSONCodec = json  # which it is without orjson
    packages = [types.ModuleType(name) for name in ("open_webui", "open_webui.utils")]
    sys.modules |= {module.__name__: module for module in (settings, codec, *packages)}
    path = Path(os.environ["PEER_OPEN_WEBUI"])
    spec = importlib.util.spec_from_file_location("open_webui.utils.code_interpreter", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def time_open_webui(client: Any, url: str, token: str, runs: int) -> float:
    """Of runs with a kernel each, from POST to DELETE: the median in milliseconds."""
    taken = []
    for number in range(runs):
        since = time.perf_counter()
        code = f"print({number} * 7)\n{number} + 1"
        seen = await client.execute_code_jupyter(url, code, token)
        taken.append(1000 * (time.perf_counter() - since))
        assert seen == {"stdout": f"{number * 7}", "stderr": "", "result": f"{number + 1}"}
    return statistics.median(taken)


def test_open_webui(gateway: str, open_webui: Any) -> None:
    async def runs() -> None:
        await time_open_webui(open_webui, gateway, TOKEN, 3)
        seen = await open_webui.execute_code_jupyter(gateway, "1 / 0", TOKEN)
        assert "ZeroDivisionError" in seen["stderr"]
        png = "import IPython.display as d\nd.display(d.Image(data=b'\\x89PNG', format='png'))"
        seen = await open_webui.execute_code_jupyter(gateway, png, TOKEN)
        assert seen["result"].startswith("data:image/png;base64,iVBO")
        seen = await open_webui.execute_code_jupyter(gateway, "x", "wrong")
        assert "401" in seen["stderr"]

    before = get(f"{gateway}/api/kernels?token={TOKEN}")[1]
    asyncio.run(runs())
    after = get(f"{gateway}/api/kernels?token={TOKEN}")[1]
    assert [k["id"] for k in json.loads(after)] == [k["id"] for k in json.loads(before)]


@pytest.mark.measure
def test_open_webui_waits_longer_for_a_jupyter_server(
    gateway: str, open_webui: Any, tmp_path: Path
) -> None:
    async def both() -> tuple[float, float]:
        with jupyter_server(tmp_path) as url:
            theirs = await time_open_webui(open_webui, url, "own", 5)
            return await time_open_webui(open_webui, gateway, TOKEN, RUNS), theirs

    ours, theirs = asyncio.run(both())
    print(
        f"\nOpen WebUI, POST to DELETE: {ours:.0f} ms, half of {RUNS} runs;"
        f" of Jupyter Server {theirs:.0f} ms"
    )
    assert ours < theirs


@pytest.mark.gate
def test_jupyter_kernel_client(gateway: str) -> None:
    from jupyter_kernel_client import JupyterKernelClient

    with JupyterKernelClient(server_url=gateway, token=TOKEN) as kernel:
        assert kernel.execute("x = 6; print(x * 7)")["outputs"][0]["text"] == "42\n"
        assert kernel.execute("1 / 0")["status"] == "error"
        kernel.restart()
        assert kernel.execute("print('x' in globals())")["outputs"][0]["text"] == "False\n"


def test_jupyter_mcp_server(gateway: str) -> None:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    program = str(Path(sys.executable).with_name("jupyter-mcp-server"))
    place = ["--code-sandbox-url", gateway, "--code-sandbox-token", TOKEN]
    place += ["--document-url", gateway, "--document-token", TOKEN]
    command = StdioServerParameters(
        command=program, args=["start", "--transport", "stdio", "--jupyterlab", "false", *place]
    )

    async def run() -> None:
        with Path(os.devnull).open("w") as nowhere:
            async with Client(stdio_client(command, errlog=nowhere)) as client:
                # One write: this client puts a line break between two messages of a stream, and
                # print writes twice, which become two messages where the machine is busy.
                code = "_ = __import__('sys').stdout.write(f'{6 * 7}\\n')"
                seen = await client.call_tool("execute_code", {"code": code})
                assert seen.content[0].text == "42\n"
                listed = await client.call_tool("list_kernels", {})
                assert "python3" in listed.content[0].text

    asyncio.run(asyncio.wait_for(run(), GUARD))


@contextmanager
def jupyter_server(folder: Path, *words: str) -> Iterator[str]:
    """The URL of a server of the environment's own, whose token is "own"."""
    port, program = own_port(), str(Path(sys.executable).with_name("jupyter-server"))
    fixed = [f"--port={port}", "--no-browser", "--allow-root", "--IdentityProvider.token=own"]
    fixed += ["--ServerApp.jpserver_extensions={}", f"--ServerApp.root_dir={folder}"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [program, *fixed, *words],
            stdout=log,
            stderr=log,
            env=os.environ | {"HOME": str(folder), "JUPYTER_CONFIG_DIR": str(folder)},
        )
        try:
            url = f"http://127.0.0.1:{port}"
            until(
                lambda: server.poll() is not None or answers(f"{url}/api/status?token=own"),
                (folder / "log").read_text,
            )
            assert server.poll() is None, (folder / "log").read_text()
            yield url
        finally:
            server.terminate()
            server.wait(GUARD)


def test_jupyter_server_with_gateway_url(gateway: str, tmp_path: Path) -> None:
    from jupyter_kernel_client import JupyterKernelClient

    words = f"--gateway-url={gateway}", f"--GatewayClient.auth_token={TOKEN}"
    with (
        jupyter_server(tmp_path, *words) as url,
        JupyterKernelClient(server_url=url, token="own") as kernel,
    ):
        seen = kernel.execute("import os; print(os.getcwd())")
        assert seen["outputs"][0]["text"] == f"{INSIDE}\n"


def answers(url: str) -> bool:
    try:
        return get(url)[0] == 200
    except OSError:
        return False


@pytest.mark.gate
def test_jupyterlab_services(gateway: str) -> None:
    run = subprocess.run(
        ["node", str(tool_path("jupyterlab.mjs")), gateway, TOKEN],
        stdout=subprocess.PIPE,
        timeout=GUARD,
        check=True,
    )
    assert json.loads(run.stdout.splitlines()[-1]) == {
        "specs": ["python3"],
        "info": "python",
        "printed": "42\n",
        "kept": "6\n",
        "asked": "said\n",
        "interrupted": "begun\nKeyboardInterrupt",
        "restarted": "False\n",
        "left": 0,
    }


@pytest.mark.gate
def test_nbclient_and_papermill(box: Box) -> None:
    """Their WebSocket sends no token: they share the gateway's network, where it needs none."""
    port = own_port()
    notebook = box.workspace / "in.ipynb"
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "id": "a", "metadata": {"tags": ["parameters"]}, "source": "x = 1"},
        {"cell_type": "code", "id": "b", "metadata": {}, "source": "print(x * 7)"},
    ]
    for cell in cells:
        cell |= {"execution_count": None, "outputs": []}
    spec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    form = {"metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    notebook.write_text(json.dumps({"cells": cells, **form}))
    options = ["--network", "host", "-e", f"KG_PORT={port}", "-e", f"IPYBOX_HTTP={own_port()}"]
    with started(box, *options):
        run_in_gateway(port, NBCLIENT, str(notebook))
        out = box.workspace / "out.ipynb"
        run_in_gateway(port, PAPERMILL, str(notebook), str(out))
        text = json.loads(out.read_text())
        assert [c["outputs"][0]["text"] for c in text["cells"] if c["outputs"]] == [["42\n"]]


NBCLIENT = """
import sys, nbformat
from nbclient import NotebookClient
manager = "jupyter_server.gateway.managers.GatewayKernelManager"
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, kernel_manager_class=manager).execute()
assert notebook.cells[1].outputs[0].text == "7\\n", notebook.cells[1]
"""
PAPERMILL = """
import sys, papermill
from jupyter_server.gateway.managers import GatewayKernelManager
papermill.execute_notebook(
    *sys.argv[1:], {"x": 6}, progress_bar=False, kernel_manager_class=GatewayKernelManager
)
"""


def run_in_gateway(port: int, script: str, *words: str) -> None:
    """In a process of its own: where the gateway is, is a setting of the process."""
    url = f"http://127.0.0.1:{port}"
    subprocess.run(
        [sys.executable, "-c", script, *words],
        env=os.environ | {"JUPYTER_GATEWAY_URL": url},
        timeout=GUARD,
        check=True,
    )


def test_smolagents() -> None:
    from smolagents import tool
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.remote_executors import DockerExecutor

    def double(number: int) -> int:
        """Doubles a number.

        Args:
            number: What to double.
        """
        return 2 * number

    executor = DockerExecutor(
        [], AgentLogger(LogLevel.ERROR), image_name=IMAGE, build_new_image=False, port=own_port()
    )
    try:
        executor.send_tools({"double": tool(double)})
        executor.send_variables({"given": [1, 2]})
        assert executor("x = double(len(given)) + 38\nprint('seen')\nx").output == "42"
        assert executor("x + 1").output == "43"
        with pytest.raises(Exception, match="ZeroDivisionError"):
            executor("1 / 0")
    finally:
        executor.cleanup()


def test_autogen(box: Box) -> None:
    from autogen_core import CancellationToken
    from autogen_core.code_executor import CodeBlock
    from autogen_ext.code_executors.docker_jupyter import (
        DockerJupyterCodeExecutor,
        DockerJupyterServer,
    )

    async def run(number: int) -> None:
        async with (
            DockerJupyterServer(custom_image_name=IMAGE, bind_dir=box.workspace) as server,
            DockerJupyterCodeExecutor(server) as executor,
        ):
            code = f"open('made-{number}', 'w').write('x'); print(6 * 7)"
            block = CodeBlock(code=code, language="python")
            seen = await executor.execute_code_blocks([block], CancellationToken())
            # It puts a line's end between pieces of output: a print may come as two.
            assert (seen.exit_code, seen.output.strip()) == (0, "42")
            block = CodeBlock(code="1 / 0", language="python")
            seen = await executor.execute_code_blocks([block], CancellationToken())
            assert seen.exit_code != 0
            assert "ZeroDivisionError" in seen.output

    for number in range(STARTS):
        asyncio.run(run(number))
        assert (box.workspace / f"made-{number}").read_text() == "x"


def test_google_adk() -> None:
    from google.adk.code_executors.code_execution_utils import CodeExecutionInput
    from google.adk.code_executors.container_code_executor import ContainerCodeExecutor

    with ContainerCodeExecutor(image=IMAGE) as executor:
        for _ in range(2):
            context: Any = None  # which it does not look at
            seen = executor.execute_code(context, CodeExecutionInput(code="print(6 * 7)"))
            assert (seen.stdout.strip(), seen.exit_code) == ("42", 0)
        container = executor._container.id
        assert docker("inspect", "-f", "{{.State.Status}}", container).strip() == "running"
        assert re.search("nothing is served", docker("logs", container))
