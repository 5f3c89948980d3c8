# SPDX-License-Identifier: Apache-2.0
"""E2B_DEBUG: the SDK looks for the planes at their ports of localhost, and brings no key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from box import IMAGE, INSIDE, Box, docker
from e2b_box import free_port, wait_until_ready
from e2b_code_interpreter import Sandbox


@pytest.fixture(scope="module")
def sandbox(shared_box: Box) -> Iterator[Any]:
    """The server shares the host's network: without a token it listens on localhost alone."""
    address = f"localhost:{free_port()}"
    mount = f"{shared_box.workspace}:{INSIDE}"
    command = ["run", "-d", "--network", "host", "-v", mount, IMAGE, "serve", "--e2b"]
    container = docker(*command, "--http", address).strip()
    os.environ["E2B_DEBUG"] = "true"
    try:
        wait_until_ready(f"http://{address}", container)
        yield Sandbox.create()
        docker("stop", container)
        state = docker("inspect", "-f", "{{.State.ExitCode}}", container).strip()
        assert state == "0", docker("logs", container)
    finally:
        del os.environ["E2B_DEBUG"]
        docker("rm", "-f", container)


def test_code(sandbox: Any) -> None:
    assert sandbox.is_running()
    run = sandbox.run_code("print('out')\nx = 6\nx * 7", envs={"MORE": "m"})
    assert (run.text, run.logs.stdout) == ("42", ["out\n"])
    assert sandbox.run_code("x").text == "6"
    assert sandbox.run_code("echo hi", language="bash").logs.stdout == ["hi\n"]
    assert sandbox.run_code("1 / 0").error.name == "ZeroDivisionError"
    context = sandbox.create_code_context()
    assert sandbox.run_code("x", context=context).error.name == "NameError"
