# SPDX-License-Identifier: Apache-2.0
"""The corpus: tools as a server lists them, and what the oracle made of each (golden/)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
GOLDEN = HERE / "golden"

MARK = "#### "  # begins the line that begins a tool's part of a golden file
FAILED = "!!! "  # begins what the oracle said instead of making code


@dataclass(frozen=True)
class Case:
    server: str  # the file of the corpus
    index: int  # among its tools
    tool: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.server}/{self.tool['name']}"

    @property
    def schemas(self) -> dict[str, Any]:
        """By the name of the class that it becomes."""
        found = {"Params": self.tool["inputSchema"]}
        if "outputSchema" in self.tool:
            found["Result"] = self.tool["outputSchema"]
        return found


def servers() -> list[str]:
    return sorted(path.stem for path in CORPUS.glob("*.json"))


def tools(server: str) -> list[dict[str, Any]]:
    found = json.loads((CORPUS / f"{server}.json").read_text())["tools"]
    assert isinstance(found, list)
    return found


def cases() -> Iterator[Case]:
    for server in servers():
        for index, tool in enumerate(tools(server)):
            yield Case(server, index, tool)


def read_golden(server: str) -> dict[str, str]:
    """Tool to module text."""
    path = GOLDEN / f"{server}.txt"
    parts = path.read_text().split(f"\n{MARK}")[1:] if path.exists() else []
    return {json.loads(part.split("\n", 1)[0]): part.split("\n", 1)[1] for part in parts}


def write_golden(server: str, head: str, modules: dict[str, str]) -> None:
    GOLDEN.mkdir(exist_ok=True)
    parts = [head.rstrip("\n") + "\n"]
    for name, text in modules.items():
        parts.append(f"\n{MARK}{json.dumps(name)}\n{text.strip(chr(10))}\n")
    (GOLDEN / f"{server}.txt").write_text("".join(parts))
