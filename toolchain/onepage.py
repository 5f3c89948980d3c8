#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one HTML text of a page and its parts: onepage.py OUTPUT PAGE STYLE SCRIPT...

The style stands in place of @STYLE@, the scripts, one after the other, in place of @SCRIPT@. In
place of @HASH@ stands the scripts' SHA-256, as a Content-Security-Policy names it.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path


def main() -> int:
    target, page, style, *scripts = map(Path, sys.argv[1:])
    script = "\n" + "".join(path.read_text() for path in scripts)
    css = "\n" + style.read_text()
    for text in (script, css):
        if "</" in text or "<!--" in text:
            sys.exit(f"{target}: '</' and '<!--' would end the element that they stand in")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    html = page.read_text()
    for mark, text in (("@STYLE@", css), ("@SCRIPT@", script), ("@HASH@", digest)):
        if html.count(mark) != 1:
            sys.exit(f"{page}: {mark} must stand there once")
        html = html.replace(mark, text)
    target.write_text(html)
    return 0


if __name__ == "__main__":
    sys.exit(main())
