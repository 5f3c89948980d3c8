# SPDX-License-Identifier: Apache-2.0
"""What the lints share: the files to look at, findings, and the pinned tools of requirements.txt.

A lint prints `file:line: what is wrong: what to do` for each finding and exits with 1 when there
is one. `--root DIR` looks at another tree than the repository (tests/lint/selftest does that).
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
NOT_OURS = {".git", "build", "__pycache__", "node_modules", ".venv", "sources"}
VENDORED = {"third_party/acutest.h"}


@dataclass
class Lint:
    """One run of a lint over the tree `root`."""

    root: Path
    words: list[str]
    findings: list[str] = field(default_factory=list)

    def report(self, file: Path, line: int, text: str) -> None:
        self.findings.append(f"{file.relative_to(self.root)}:{line}: {text}")

    def finish(self, looked_at: int) -> int:
        """The exit status. A lint that had nothing to look at has found that."""
        if looked_at == 0:
            self.findings.append(f"{self.root}: there is nothing to look at")
        for finding in self.findings:
            print(finding)
        return 1 if self.findings else 0

    def files(self, *suffixes: str, under: tuple[str, ...] = ("",)) -> Iterator[Path]:
        """Our own files with one of the suffixes (all when none is given), in order."""
        for path in tracked(self.root):
            name = path.relative_to(self.root).as_posix()
            if name in VENDORED or not name.startswith(under):
                continue
            if not suffixes or path.suffix in suffixes:
                yield path


def start() -> Lint:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=TOP)
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    return Lint(args.root.resolve(), args.words)


def tracked(root: Path) -> list[Path]:
    """What git has or would add; without git every file that is not a build product."""
    git = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if (root / ".git").exists() and git.returncode == 0:
        found = [root / name for name in git.stdout.decode().split("\0") if name]
    else:
        found = [p for p in root.rglob("*") if not NOT_OURS & set(p.relative_to(root).parts)]
    return sorted(path for path in set(found) if path.is_file() and not path.is_symlink())


def shebang(path: Path) -> str:
    """The first line of a script, "" of any other file."""
    with path.open("rb") as file:
        line = file.readline(200)
    return line.decode(errors="replace").strip() if line.startswith(b"#!") else ""


def is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" not in file.read(8192)


_C_TOKEN = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.DOTALL | re.VERBOSE
)


def c_code(text: str, *, keep_strings: bool = False) -> str:
    """C without comments and what stands in quotes; every line keeps its number."""

    def blank(match: re.Match[str]) -> str:
        token = match.group()
        if token[0] in "\"'":
            return token if keep_strings else token[0] + token[0]
        return "\n" * token.count("\n") or " "

    return _C_TOKEN.sub(blank, text)


def tool(name: str) -> str:
    """The path of a program of tests/lint/requirements.txt, which is installed when it is not."""
    make = [str(TOP / "third_party" / "venv"), str(HERE / "requirements.txt")]
    done = subprocess.run(make, stdout=subprocess.PIPE, text=True, check=True)
    return f"{done.stdout.strip()}/bin/{name}"
