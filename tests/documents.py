#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The blocks of code in the documents, for the tests that run them.

`documents.py NAME` prints the block that is marked `<!-- tested: NAME -->`. A test takes its
commands from there, so that what runs is what the page says. tests/lint/blocks wants a mark of
every block.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
MARK = re.compile(r"^\s*<!-- (tested|excerpt)(?:: (.+?))? -->$")
FENCE = re.compile(r"^\s*```")
ITEM = re.compile(r"(- |\d+\. )")


@dataclass
class Block:
    """Of a page: its first line, counted from 1, and what the mark above it says."""

    page: Path
    line: int
    text: str
    kind: str = ""  # tested, excerpt; "": there is no mark
    words: str = ""

    @property
    def name(self) -> str:
        return self.words if self.kind == "tested" else ""


def pages(root: Path = TOP) -> list[Path]:
    """The pages whose blocks are marked. Decisions are not: they tell of their day."""
    docs = (page for page in root.glob("docs/**/*.md") if "decisions" not in page.parts)
    return sorted(page for page in [root / "README.md", *docs] if page.is_file())


def blocks(page: Path) -> list[Block]:
    lines = page.read_text().splitlines()
    found: list[Block] = []
    number, in_list = 0, False
    while number < len(lines):
        line, end = lines[number], number + 1
        if FENCE.match(line):
            while not FENCE.match(lines[end]):
                end += 1
            found.append(marked(page, lines, number, lines[number + 1 : end]))
            end += 1
        elif line.strip():
            in_list = bool(ITEM.match(line)) or (in_list and line.startswith(" "))
            if line.startswith("    ") and not in_list:
                while end < len(lines) and (lines[end].startswith("    ") or not lines[end]):
                    end += 1
                found.append(marked(page, lines, number, lines[number:end]))
        number = end
    return found


def marked(page: Path, lines: list[str], number: int, text: list[str]) -> Block:
    """The mark is on the line above, or above the empty line before."""
    block = Block(page, number + 1, textwrap.dedent("\n".join(text)).strip("\n") + "\n")
    above = [line for line in lines[max(0, number - 2) : number] if line.strip()]
    if above and (mark := MARK.match(above[-1])):
        block.kind, block.words = mark[1], mark[2] or ""
    return block


def named(name: str, root: Path = TOP) -> list[Block]:
    """In the order of the page."""
    found = [block for page in pages(root) for block in blocks(page) if block.name == name]
    if not found:
        raise SystemExit(f"no block of the documents is marked <!-- tested: {name} -->")
    return found


if __name__ == "__main__":
    print("\n".join(block.text for block in named(sys.argv[1])), end="")
