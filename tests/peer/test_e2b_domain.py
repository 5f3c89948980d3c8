# SPDX-License-Identifier: Apache-2.0
"""E2B's SDK for Python by E2B_DOMAIN alone: each sandbox and port is a name, behind TLS."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from box import GUARD, Box
from e2b_box import KEY, serving
from e2b_tls import tls_proxy

CLIENT = """
from e2b_code_interpreter import Sandbox
sandbox = Sandbox.create(timeout=600)
print(sandbox.get_host(49983) == f"49983-{sandbox.sandbox_id}.box.example", sandbox.is_running())
sandbox.run_code("x = 6 * 7")
print(Sandbox.connect(sandbox.sandbox_id).run_code("x").text)
sandbox.files.write("a.txt", "text")
print(sandbox.files.read("a.txt"), sandbox.commands.run("cat a.txt").stdout)
print(sandbox.kill(), sandbox.is_running())
"""


def test_by_the_domain(shared_box: Box, tmp_path: Path) -> None:
    with serving(shared_box.workspace) as url:
        port = urlsplit(url).port
        assert port
        with tls_proxy(tmp_path, port) as variables:
            command = [sys.executable, "-c", CLIENT]
            env = os.environ | variables | {"E2B_API_KEY": KEY}
            run = subprocess.run(
                command, stdout=subprocess.PIPE, env=env, timeout=GUARD, check=True, text=True
            )
    assert run.stdout.splitlines() == ["True True", "42", "text text", "True False"]
