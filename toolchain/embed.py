#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of a file's bytes: embed.py NAME INPUT OUTPUT HEADER.

A JSON document is embedded in its compact form. The array ends in a NUL, which NAME_size does not
count. HEADER, as of an #include, declares both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PER_LINE = 20


def main() -> int:
    name, source, target, header = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    data = source.read_bytes()
    if source.suffix == ".json":
        data = json.dumps(json.loads(data), separators=(",", ":"), ensure_ascii=False).encode()
    lines = [
        ",".join(str(byte) for byte in data[at : at + PER_LINE]) + ","
        for at in range(0, len(data), PER_LINE)
    ]
    target.write_text(
        f'#include "{header}"\n'
        f"const size_t {name}_size = {len(data)};\n"
        f"const unsigned char {name}[] = {{\n" + "\n".join(lines) + "\n0};\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
