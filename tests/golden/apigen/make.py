#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py APIGEN_TOOL - writes package.inc: tools.json, and the package that is made of it.

tests/unit/apigen/test_apigen.c includes it. Read the difference before you commit it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def literal(text: str) -> str:
    escapes = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n"}
    lines = []
    for line in re.findall("[^\n]*\n|[^\n]+$", text):
        parts = (escapes.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in line.encode())
        lines.append('"' + "".join(parts) + '"')
    return "\n    ".join(lines)


def main() -> None:
    tools = (HERE / "tools.json").read_text()
    run = subprocess.run(
        [sys.argv[1], "github"], input=tools, capture_output=True, text=True, check=True
    )
    files = json.loads(run.stdout)["files"]
    rows = [f'{{"{name}",\n    {literal(text)}}},\n' for name, text in files.items()]
    text = "/* make.py wrote this: see there. */\n"
    text += f"static const char golden_tools[] =\n    {literal(tools)};\n\n"
    text += "static const struct golden_file golden_files[] = {\n" + "".join(rows) + "};\n"
    (HERE / "package.inc").write_text(text)


main()
