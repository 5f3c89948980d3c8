#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""assemble.py TOP PAGES - the pages of the site: docs/, and what lies beside it.

Links between pages stay links between pages; those to other files lead to the repository.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import sys
from pathlib import Path

SOURCE = "https://github.com/gradion-ai/ipybox/blob/main"
BESIDE = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
FOR_MAINTAINERS = ("decisions/", "claims.md", "testing.md", "changelog.md", "contributing.md")
HOW_TO = (
    "approvals.md",
    "deployments.md",
    "files.md",
    "kubernetes.md",
    "packages.md",
    "sandbox",
    "tools.md",
)
LINK = re.compile(r"(\]\(|src=\")(?![a-z]+:|[#/])([^)#\s\"]+)")
CODE = re.compile(r"^(```|    )")
TITLE = re.compile(r"^# (.*)$", re.M)


def place(name: str) -> str | None:
    """Where the site has a file of the repository; None: it has not."""
    if name in BESIDE:
        return BESIDE[name]
    if name in ("docs", "docs/decisions"):
        return "decisions/index.md" if name.endswith("decisions") else "index.md"
    is_page = name.startswith("docs/") and name.endswith((".md", ".png", ".svg"))
    return name.removeprefix("docs/") if is_page else None


def rank(there: str) -> str:
    """What the search weighs: what users do comes first, what maintainers wrote down last."""
    if there.startswith(FOR_MAINTAINERS):
        return "---\nsearch: {boost: 0.05}\n---\n"
    return "---\nsearch: {boost: 4}\n---\n" if there.startswith(HOW_TO) else ""


def rewrite(top: Path, name: str, text: str) -> str:
    page = place(name) or name

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2]))
        if not (top / target).exists():
            return found[0]
        there = place(target)
        if there is None:
            return f"{found[1]}{SOURCE}/{target}"
        return found[1] + posixpath.relpath(there, posixpath.dirname(page) or ".")

    fenced = False
    lines = []
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        lines.append(line if fenced or CODE.match(line) else LINK.sub(link, line))
    return "\n".join(lines) + "\n"


def index_of(folder: Path) -> str:
    """The list of decisions, by their titles."""
    lines = ["# Decisions", "", "What was decided, and why.", ""]
    for path in sorted(folder.glob("0*.md")):
        title = TITLE.search(path.read_text())
        lines.append(f"- [{title[1] if title else path.stem}]({path.name})")
    return "\n".join(lines) + "\n"


def main(top: Path, pages: Path) -> None:
    names = [*BESIDE]
    for folder, _, files in os.walk(top / "docs"):
        names += [Path(folder, file).relative_to(top).as_posix() for file in files]
    for name in sorted(names):
        there = place(name)
        if there is None:
            continue
        target = pages / there
        target.parent.mkdir(parents=True, exist_ok=True)
        if there.endswith(".md"):
            target.write_text(rank(there) + rewrite(top, name, (top / name).read_text()))
        else:
            shutil.copy(top / name, target)
    decisions = index_of(top / "docs" / "decisions")
    (pages / "decisions" / "index.md").write_text(rank("decisions/") + decisions)
    shutil.copy(top / "site" / "extra.css", pages)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
