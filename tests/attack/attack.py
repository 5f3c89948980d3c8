#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the attacks of attacks/ in containers of every mode, and tells each as a line of TAP.

tests/attack/run calls it. An attack is a module with
  its docstring    what is tried; the first line is its name in the output
  BREAKS           (document, sentence): what it would break; tests/lint/claims looks for it there
  attack(box)      returns the loot: '' when it was held
and, where it is so,
  OPEN             {modes: (document, sentence)}: modes where that document says that it is open.
                   Then it must be: a limitation that is none any more goes out of the document
  ONLY             patterns of the modes in which it means something; else all
  box_for(mode)    a container of its own, not started; else all attacks of a mode share one
A mode is "docker R+S"; patterns are those of the shell.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import ModuleType

from box import HERE, Box, CannotTry, Mode

KINDS = ["R", "R+S", "U", "U+S", "K", "K+S"]
PRINT = Lock()


@dataclass
class Outcome:
    attack: str
    mode: str
    verdict: str  # held, documented, broken, untried
    text: str = ""

    @property
    def well(self) -> bool:
        return self.verdict in ("held", "documented")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def matches(mode: Mode, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(mode.name, pattern) for pattern in patterns)


def title(attack: ModuleType) -> str:
    return (attack.__doc__ or attack.__name__).strip().splitlines()[0].rstrip(".")


def judge(attack: ModuleType, mode: Mode, loot: str) -> tuple[str, str]:
    said = [at for pattern, at in getattr(attack, "OPEN", {}).items() if matches(mode, [pattern])]
    if said:
        where = f'{said[0][0]}: "{said[0][1]}"'
        return (
            ("documented", where) if loot else ("broken", f"held, though it is said open: {where}")
        )
    return ("broken", loot) if loot else ("held", "")


def try_one(attack: ModuleType, mode: Mode, shared: Box | None) -> Outcome:
    start, own = time.monotonic(), None
    try:
        if hasattr(attack, "box_for"):
            own = attack.box_for(mode)
        box = own or shared
        if box is None:
            raise CannotTry("there is no container")
        verdict, text = judge(attack, mode, attack.attack(box))
    except CannotTry as error:
        verdict, text = "untried", str(error)
    except Exception as error:  # whatever it is: the attack has proved nothing
        verdict, text = "untried", f"{type(error).__name__}: {error}"
    finally:
        if own:
            own.close()
    outcome = Outcome(title(attack), mode.name, verdict, text)
    tell(outcome, time.monotonic() - start)
    return outcome


def tell(outcome: Outcome, seconds: float) -> None:
    said = {"documented": " (open, as is said)", "untried": " (could not be tried)"}
    with PRINT:
        word = "ok" if outcome.well else "not ok"
        mark = said.get(outcome.verdict, "")
        print(f"{word} - {outcome.mode}: {outcome.attack}{mark} in {seconds:.1f} s")
        if not outcome.well:
            for line in outcome.text.splitlines()[:12]:
                print(f"# {line[:400]}")
        sys.stdout.flush()


def attack_mode(mode: Mode, attacks: list[ModuleType]) -> list[Outcome]:
    mine = [one for one in attacks if matches(mode, getattr(one, "ONLY", ["*"]))]
    shared: Box | None = None
    outcomes = []
    try:
        if any(not hasattr(one, "box_for") for one in mine):
            shared = Box(mode, words=["--kernel-gateway-port", "8888"])
            try:
                shared.run()
            except CannotTry as error:
                outcomes.append(Outcome("the container starts", mode.name, "untried", str(error)))
                tell(outcomes[-1], 0)
                shared.close()
                shared = None
        outcomes += [try_one(one, mode, shared) for one in mine]
    finally:
        if shared:
            shared.close()
    return outcomes


def modes(engine: str, image: str) -> list[Mode]:
    """The modes that make sense below an engine; runsc has no Landlock, so --sandbox cannot be."""
    if engine == "docker":
        return [Mode(engine, ("docker",), kind, image, owner(kind, 1000, 0)) for kind in KINDS]
    words = tuple(os.environ[f"ATTACK_{engine.upper()}"].split())
    image = os.environ.get(f"ATTACK_{engine.upper()}_IMAGE", image)
    first, base = map(int, os.environ.get(f"ATTACK_{engine.upper()}_IDS", "1000 0").split())
    kinds = KINDS if engine in ("podman", "pod") else [kind for kind in KINDS if "+S" not in kind]
    return [Mode(engine, words, kind, image, owner(kind, first, base)) for kind in kinds]


def owner(kind: str, root: int, base: int) -> tuple[int, int]:
    """Who owns the workspace outside: `root` for R; for --user the number that 1234 is there."""
    number = root if kind[0] == "R" else base - 1 + 1234 if base else 1234
    return number, number


def summary(outcomes: list[Outcome], names: list[str]) -> int:
    count = {word: sum(o.verdict == word for o in outcomes) for word in
             ("held", "documented", "broken", "untried")}  # fmt: skip
    print(
        f"# {len(outcomes)} attacks tried in {len(names)} modes ({', '.join(names)}): "
        f"{count['held']} held, {count['documented']} open as the documents say, "
        f"{count['broken']} got through, {count['untried']} could not be tried"
    )
    return 0 if all(one.well for one in outcomes) else 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--image", default="ipybox")
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--mode", action="append", help="a pattern, such as 'docker R*' [all]")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*", help="parts of the names of attacks")
    words = parser.parse_args()
    paths = sorted((HERE / "attacks").glob("*.py"))
    chosen = [p for p in paths if not words.names or any(n in p.stem for n in words.names)]
    attacks = [load(path) for path in chosen]
    all_modes = [m for e in words.engine or ["docker"] for m in modes(e, words.image)]
    here = [mode for mode in all_modes if matches(mode, words.mode or ["*"])]
    with ThreadPoolExecutor(words.jobs) as pool:
        parts = list(pool.map(lambda mode: attack_mode(mode, attacks), here))
    return summary([one for part in parts for one in part], [mode.name for mode in here])


if __name__ == "__main__":
    sys.exit(main())
