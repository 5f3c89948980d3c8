# SPDX-License-Identifier: Apache-2.0
"""E2B_DEBUG: the SDK looks for the planes at their ports of localhost, and brings no key.

The SDK of this interpreter runs in a second container that shares the server's network: without a
token the server listens on localhost alone.
"""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Iterator

import pytest
from box import IMAGE, docker
from e2b_box import KEY

CLIENT = """
import json, os, time, urllib.request
while True:
    try:
        urllib.request.urlopen("http://localhost:8080/readyz").close()
        break
    except OSError:
        time.sleep(0.05)
from e2b_code_interpreter import Sandbox
sandbox = Sandbox.create(debug=True)
run = sandbox.run_code("print('out')\\nx = 6\\nx * 7", envs={"MORE": "m"})
context = sandbox.create_code_context()
print(json.dumps({
    "running": sandbox.is_running(), "text": run.text, "out": "".join(run.logs.stdout),
    "kept": sandbox.run_code("x").text,
    "bash": "".join(sandbox.run_code("echo hi", language="bash").logs.stdout),
    "error": sandbox.run_code("1 / 0").error.name,
    "apart": sandbox.run_code("x", context=context).error.name,
}))
"""


@pytest.fixture(scope="module", params=["open", "with a token"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, bool]]:
    """A container, and whether it asks for no token."""
    is_open = request.param == "open"
    token = [] if is_open else ["-e", f"IPYBOX_TOKEN={KEY}"]
    container = docker("run", "-d", *token, IMAGE, "serve", "--e2b").strip()
    try:
        yield container, is_open
    finally:
        docker("rm", "-f", container)


def client(container: str) -> str:
    packages = sysconfig.get_path("purelib")
    command = ["run", "--rm", "--network", f"container:{container}", "-v", f"{packages}:/sdk:ro"]
    command += ["-e", "PYTHONPATH=/sdk", "-e", "E2B_DEBUG=true", IMAGE]
    return docker(*command, "sh", "-c", 'python3 -c "$0" 2>&1; true', CLIENT)


def test_code(server: tuple[str, bool]) -> None:
    container, is_open = server
    told = client(container)
    if not is_open:
        assert "The sandbox was not found" in told or "401" in told, told
        return
    seen = json.loads(told.splitlines()[-1])
    assert seen == {
        "running": True,
        "text": "42",
        "out": "out\n",
        "kept": "6",
        "bash": "hi\n",
        "error": "ZeroDivisionError",
        "apart": "NameError",
    }
