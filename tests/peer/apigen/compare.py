#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py [-v] [SCHEMA] - where our models and the oracle's differ, beside differences.toml.

SCHEMA is server/tool with '*' for any text. -v prints every difference, not only the first.
APIGEN_TOOL is the path of apigen-tool; without it `ipybox apigen` of the image is taken.
"""

from __future__ import annotations

import re
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus import HERE, Case, cases, read_golden
from instances import instances
from models import generate, import_oracle, import_ours, shape, try_oracle, try_ours

KINDS = ("accepts", "rejects", "dump", "alias", "shape", "broken", "error")
OURS_BROKEN = "ours broken"  # in no table


@dataclass(frozen=True)
class Difference:
    schema: str  # "server/tool Params"
    kind: str  # one of KINDS, or OURS_BROKEN
    instance: str  # what is special about it
    value: Any = field(compare=False)
    oracle: str = field(compare=False)
    ours: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.schema} | {self.kind} | {self.instance}"


@dataclass
class Comparison:
    differences: list[Difference]
    schemas: int = 0
    instances: int = 0
    accepted: int = 0  # by both
    rejected: int = 0
    unfilled: list[str] = field(default_factory=list)  # the oracle accepts none of the instances


def compare_case(case: Case, module: Any, oracle: Any, total: Comparison) -> Iterator[Difference]:
    for name, schema in case.schemas.items():
        total.schemas += 1
        where = f"{case.name} {name}"
        if isinstance(module, str):
            yield Difference(where, OURS_BROKEN, module, None, "", module)
            continue
        if isinstance(oracle, str):
            yield Difference(where, "broken", oracle, None, oracle, "")
            continue
        if name not in vars(oracle):
            yield Difference(where, "broken", "no class", None, "", "")
            continue
        yield from compare_shapes(where, vars(oracle)[name], vars(module)[name])
        filled = False
        for label, value in instances(schema).items():
            theirs, plain = try_oracle(oracle, name, value)
            ours = try_ours(module, name, value)
            total.instances += 1
            filled = filled or theirs[0] == "accepted"
            total.accepted += theirs[0] == ours[0] == "accepted"
            total.rejected += theirs[0] == ours[0] == "rejected"
            kind = kind_of(theirs, ours, plain)
            if kind:
                oracle_text = plain if kind == "alias" else " ".join(theirs)
                yield Difference(where, kind, label, value, oracle_text, " ".join(ours))
        if not filled:
            total.unfilled.append(where)


def kind_of(theirs: tuple[str, str], ours: tuple[str, str], plain: str) -> str:
    """ "": none."""
    if theirs == ours:
        return "alias" if plain and plain != theirs[1] else ""
    if theirs[0] not in ("accepted", "rejected"):
        return "error"
    if theirs[0] == ours[0]:
        return "dump"
    return "accepts" if ours[0] == "accepted" else "rejects"


def compare_shapes(where: str, oracle: Any, ours: Any) -> Iterator[Difference]:
    theirs, mine = shape(oracle), shape(ours)
    for place in sorted(theirs.keys() | mine.keys()):
        if theirs.get(place) != mine.get(place):
            yield Difference(
                where, "shape", place, None, str(theirs.get(place)), str(mine.get(place))
            )


def compare_all(folder: Path, wanted: str = "*") -> Comparison:
    modules = generate(folder)
    total = Comparison([])
    golden: dict[str, dict[str, str]] = {}
    for case in cases():
        if not matches(wanted, case.name):
            continue
        code = golden.setdefault(case.server, read_golden(case.server))[case.tool["name"]]
        oracle = import_oracle(f"oracle_{case.server}_{case.index}", code)
        ours = import_ours(folder, case.server, modules[case.server][case.index])
        total.differences += compare_case(case, ours, oracle, total)
    return total


# --- the table ---


def matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


@dataclass
class Entry:
    """One of differences.toml: why, and where."""

    reason: str
    kind: str
    schemas: list[str]
    instances: list[str] = field(default_factory=lambda: ["*"])

    def takes(self, it: Difference) -> Iterator[str]:
        """The pairs of its patterns that a difference fits."""
        for schema in self.schemas:
            if it.kind == self.kind and matches(schema, it.schema):
                for instance in self.instances:
                    if matches(instance, it.instance):
                        yield f"schemas {schema!r}"
                        yield f"instances {instance!r}"

    def parts(self) -> set[str]:
        schemas = {f"schemas {text!r}" for text in self.schemas}
        return schemas | {f"instances {text!r}" for text in self.instances}


def entries() -> list[Entry]:
    table = tomllib.loads((HERE / "differences.toml").read_text())
    found = [Entry(**row) for row in table.get("difference", [])]
    for entry in found:
        assert entry.kind in KINDS, entry
        assert len(entry.reason) > 20, entry
    return found


def judge(
    differences: list[Difference], table: list[Entry]
) -> tuple[list[Difference], list[str], Counter[str]]:
    """Those that no entry has; what of the entries has none; how many each entry has, by reason."""
    used: list[set[str]] = [set() for _ in table]
    count: Counter[str] = Counter()
    unlisted = []
    for it in differences:
        listed = False
        for entry, parts in zip(table, used, strict=True):
            taken = set(entry.takes(it))
            parts.update(taken)
            if taken and not listed:
                count[f"{entry.kind}: {entry.reason}"] += 1
            listed = listed or bool(taken)
        if not listed:
            unlisted.append(it)
    stale = [
        f"{entry.kind}, {part}: {entry.reason}"
        for entry, parts in zip(table, used, strict=True)
        for part in sorted(entry.parts() - parts)
    ]
    return unlisted, stale, count


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "-v"]
    verbose = "-v" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        total = compare_all(Path(folder), words[0] if words else "*")
    unlisted, stale, count = judge(total.differences, entries())
    for it in unlisted if verbose else unlisted[:40]:
        print(
            f"{it}\n    {it.value!r:.300}\n    oracle {it.oracle:.300}\n    ours   {it.ours:.300}"
        )
    print(f"{total.schemas} schemas, {total.instances} instances:", end=" ")
    print(f"both accept {total.accepted}, both reject {total.rejected}")
    print("differences:", dict(Counter(it.kind for it in total.differences)))
    for reason, n in count.most_common():
        print(f"  {n:6} {reason}")
    print(f"not listed: {len(unlisted)}", dict(Counter(it.kind for it in unlisted)))
    for text in stale if not words else []:
        print(f"does not apply any more: {text}")
    return 1 if unlisted or stale else 0


if __name__ == "__main__":
    sys.exit(main())
