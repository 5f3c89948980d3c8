#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes VERSION.json here, named after the installed ipybox: the packages that it generates, by
their paths, but for the modules that no test calls.

python3 -m venv v && v/bin/pip install ipybox==0.7.1 'mcp<2'     # and with 0.9.2
sudo install -D tests/container/lib/tool_server.py /tools/tool_server.py
v/bin/python tests/golden/adopt/make.py
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
SERVER = ["/tools/tool_server.py"]
KEPT = ("__init__", "add", "echo", "environment")


async def main() -> None:
    os.environ["SECRET"] = "x"
    generate = import_module("ipybox").generate_mcp_sources  # theirs, not the one beside us
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        params = {"command": "python3", "args": SERVER, "env": {"GIVEN": "${SECRET}"}}
        await generate("demo", params, top / "mcptools")
        await generate("plain", {"command": "python3", "args": SERVER}, top / "mcptools")
        files = sorted(path for path in top.rglob("*.py") if path.stem in KEPT)
        texts = {str(path.relative_to(top)): path.read_text() for path in files}
    (HERE / f"{version('ipybox')}.json").write_text(json.dumps(texts, indent=1) + "\n")


asyncio.run(main())
