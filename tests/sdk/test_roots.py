# SPDX-License-Identifier: Apache-2.0
"""The wheel in minimal systems, as an ordinary user: the images that tests/sdk/run makes."""

from __future__ import annotations

import os
import subprocess

import pytest
from conftest import PLACE

TRIAL = """
import asyncio, os, sys
from ipybox import CodeExecutor
async def main():
    async with CodeExecutor(sandbox=True) as executor:
        assert (await executor.execute("6 * 7")).text == "42"
        level = (await executor.client.livez())["sandbox"]["level"]
        await executor.install_package("cowsay==6.1")
        assert (await executor.execute("import cowsay; print(cowsay.__version__)")).text == "6.1"
    print("python", ".".join(map(str, sys.version_info[:2])), "uid", os.getuid(), "level", level)
asyncio.run(main())
"""


@pytest.mark.parametrize(("release", "python"), [("bookworm", "3.11"), ("trixie", "3.13")])
def test_a_minimal_debian(release: str, python: str) -> None:
    ca = os.environ.get("IPYBOX_CA")
    words = ["docker", "run", "-i", "--rm", "-v", f"{PLACE}/dist:/dist:ro"]
    if ca:
        words += ["-v", f"{ca}:/ca.pem:ro", "-e", "PIP_CERT=/ca.pem", "-e", "IPYBOX_CA=/ca.pem"]
    script = (
        "python3 -m venv venv && venv/bin/pip install -q /dist/ipybox-*linux*.whl"
        " && mkdir work && cd work && ../venv/bin/ipybox --version && ../venv/bin/python -"
    )
    words += [f"ipybox-root:{release}", "sh", "-c", script]
    said = subprocess.run(words, input=TRIAL, capture_output=True, text=True, timeout=280)
    assert said.returncode == 0, said.stderr
    assert f"python {python} uid 1000 level full" in said.stdout
