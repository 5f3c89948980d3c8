#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""discovery.py LISTS PACKAGES [PEER_PYTHON] - what it takes to find the right tool for each task.

LISTS has the tools of each server (lists.sh), PACKAGES the folder mcptools that was made of them.
Tokens are characters / 4 of all that is written and read until the right signature has been read:

ours  the call of mcptools.search(TASK) and its five lines; help() of the tool, where its line is
      cut; where it is not among the five, the lines of all tools of its server as well
peer  `ls` of the servers, `ls` of the right server's modules, `cat` of the right module

Prints a table in Markdown, and the tasks whose tool was not among the first five; -v: all tasks.
"""

from __future__ import annotations

import json
import pydoc
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
FIRST = 5
CALL = 'import mcptools; mcptools.search("{}")'


class Task(NamedTuple):
    server: str
    text: str
    tools: list[dict[str, Any]]  # each of which does it


def squash(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def tasks(lists: Path) -> list[Task]:
    found = []
    for group in tomllib.loads((HERE / "tasks.toml").read_text())["server"]:
        tools = json.loads((lists / f"{group['name']}.json").read_text())["tools"]
        for text, pattern in group["tasks"]:
            right = [one for one in tools if re.fullmatch(pattern, one["name"])]
            assert right, (text, pattern)
            found.append(Task(group["name"], text, right))
    return found


class Found(NamedTuple):
    rank: int  # from 1; 0: not among the first
    tokens: float
    searched: str


def ours(mcptools: Any, task: Task) -> Found:
    lines = mcptools.search(task.text, FIRST)
    read = CALL.format(task.text) + str(lines)
    right = {f"{task.server}.{squash(one['name'])}" for one in task.tools}
    names = [line.partition("(")[0].partition(".") for line in lines]
    ranks = [
        i for i, (server, _, name) in enumerate(names, 1) if f"{server}.{squash(name)}" in right
    ]
    line = lines[ranks[0] - 1] if ranks else ""
    if not ranks:
        package = getattr(mcptools, task.server)
        read += f"help(mcptools.{task.server})" + (package.__doc__ or "")
    if not ranks or "…" in line.partition(") -> ")[0]:
        name = line.partition("(")[0].partition(".")[2] or squash(task.tools[0]["name"])
        tool = getattr(getattr(mcptools, task.server), name)
        read += f"help(mcptools.{task.server}.{name})" + pydoc.plain(pydoc.render_doc(tool))
    return Found(ranks[0] if ranks else 0, len(read) / 4, " ".join(n for _, _, n in names))


def peers(all_tasks: list[Task], lists: Path, python: str) -> list[float]:
    """The peer knows where to look at once: its way is counted without a detour."""
    wanted = {f"{task.server}.{task.tools[0]['name']}": task.tools[0] for task in all_tasks}
    made = subprocess.run(
        [python, str(HERE / "peer_modules.py")],
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        check=True,
    )
    modules = json.loads(made.stdout)
    servers = sorted({task.server for task in all_tasks})
    names = {
        server: [re.sub(r"\W", "_", t["name"]).lower() for t in load(lists, server)]
        for server in servers
    }
    found = []
    for task in all_tasks:
        name, length = modules[f"{task.server}.{task.tools[0]['name']}"]
        path = f"mcptools/{task.server}"
        commands = f"!ls mcptools!ls {path}!cat {path}/{name}.py"
        listed = "\n".join([*servers, "__init__.py", *(f"{n}.py" for n in names[task.server])])
        found.append((len(commands) + len(listed) + length) / 4)
    return found


def load(lists: Path, server: str) -> list[dict[str, Any]]:
    found = json.loads((lists / f"{server}.json").read_text())["tools"]
    assert isinstance(found, list)
    return found


def table(lists: Path, all_tasks: list[Task], found: list[Found], peer: list[float]) -> None:
    heads = ["server", "tools", "tasks", "among the first 5", "first", "tokens: median", "mean"]
    print("| " + " | ".join([*heads, "peer: median |" if peer else "|"]))
    print("|---|" + "---:|" * (len(heads) - 1 + bool(peer)))
    servers = list(dict.fromkeys(task.server for task in all_tasks))
    counts = {server: len(load(lists, server)) for server in servers}
    for server in [*servers, "all"]:
        here = [i for i, task in enumerate(all_tasks) if server in (task.server, "all")]
        tokens = [found[i].tokens for i in here]
        row = [
            server,
            f"{counts.get(server, sum(counts.values())):,}",
            str(len(here)),
            str(sum(found[i].rank > 0 for i in here)),
            str(sum(found[i].rank == 1 for i in here)),
            f"{median(tokens):.0f}",
            f"{mean(tokens):.0f}",
        ]
        if peer:
            row.append(f"{median(peer[i] for i in here):,.0f}")
        print("| " + " | ".join(row) + " |")


def main() -> int:
    words = [word for word in sys.argv[1:] if word != "-v"]
    lists, packages = Path(words[0]), Path(words[1])
    sys.path[:0] = [str(packages.parent), str(HERE.parents[1] / "rootfs/opt/ipybox/python")]
    import mcptools

    all_tasks = tasks(lists)
    found = [ours(mcptools, task) for task in all_tasks]
    table(lists, all_tasks, found, peers(all_tasks, lists, words[2]) if words[2:] else [])
    for task, one in zip(all_tasks, found, strict=True):
        if "-v" in sys.argv or not one.rank:
            print(
                f"\n{task.server}: {task.text}: {one.rank or 'not found'}, {one.tokens:.0f} tokens"
            )
            print(f"    {one.searched}")
    well = sum(one.rank > 0 for one in found) >= 95 and median(f.tokens for f in found) <= 300
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
