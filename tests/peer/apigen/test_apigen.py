# SPDX-License-Identifier: Apache-2.0
"""Our API generator and its oracle: what the models of both accept, reject and dump."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import generate
import pytest
from box import GUARD
from compare import OURS_BROKEN, Comparison, Difference, Entry, compare_all, entries, judge
from corpus import GOLDEN, HERE, cases, read_golden, servers
from models import RUNTIME

# A class of $defs is called Params; patterns that no text fits.
UNFILLED = {
    "choices/all_pattern Params",
    "refs/name_of_root Params",
    "strings/pattern_multiline Params",
}
NAMES = [case.name for case in cases()]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


@pytest.fixture(scope="session")
def comparison(folder: Path) -> Comparison:
    return compare_all(folder)


@pytest.fixture(scope="session")
def verdict(comparison: Comparison) -> tuple[list[Difference], list[str]]:
    unlisted, stale, count = judge(comparison.differences, entries())
    print(f"\n{comparison.schemas} schemas, {comparison.instances} instances:", end=" ")
    print(f"both accept {comparison.accepted}, both reject {comparison.rejected}")
    for reason, n in count.most_common():
        print(f"{n:6} {reason}")
    return unlisted, stale


def test_the_corpus_is_large_and_has_a_golden_module_for_each_tool(comparison: Comparison) -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert comparison.schemas >= 300
    assert comparison.accepted > 5000
    assert comparison.rejected > 5000
    assert {f"{server}.txt" for server in servers()} == {path.name for path in GOLDEN.iterdir()}
    made = [f"{server}/{tool}" for server in servers() for tool in read_golden(server)]
    assert sorted(made) == sorted(NAMES)


def test_the_generated_corpus_is_what_its_seeds_give() -> None:
    assert generate.TARGET.read_text() == generate.document()


def test_golden_files_are_of_the_pinned_versions() -> None:
    """Those of the environment in which golden.py runs, and our pydantic is theirs."""
    pins = (HERE.parent / "requirements" / "mcpygen.txt").read_text()
    for server in servers():
        head = (GOLDEN / f"{server}.txt").read_text().split("\n", 1)[0]
        found = dict(re.findall(r"([\w-]+) (\d[\w.]*)", head))
        assert found["pydantic"] == version("pydantic")
        assert len(found) == 5
        for name, number in found.items():
            assert re.search(rf"^{name}=={re.escape(number)} ", pins, re.MULTILINE), (name, number)


def test_almost_every_schema_has_an_instance_that_the_oracle_accepts(
    comparison: Comparison,
) -> None:
    assert set(comparison.unfilled) <= UNFILLED


def difference(kind: str = "accepts", instance: str = "/a: null") -> Difference:
    return Difference("server/tool Params", kind, instance, None, "", "")


def test_what_no_entry_fits_is_unlisted_and_what_fits_no_difference_is_stale() -> None:
    entry = Entry("why", "accepts", ["server/* Params", "other/*"], ["/a: *", "/b"])
    found = [difference(), difference("rejects"), difference(instance="x"), difference(OURS_BROKEN)]
    unlisted, stale, count = judge(found, [entry])
    assert unlisted == found[1:]
    assert [text.split(":")[0] for text in stale] == [
        "accepts, instances '/b'",
        "accepts, schemas 'other/*'",
    ]
    assert count.total() == 1


@pytest.mark.parametrize("name", NAMES)
def test_both_models_agree(name: str, verdict: tuple[list[Difference], list[str]]) -> None:
    wrong = [it for it in verdict[0] if it.schema.rpartition(" ")[0] == name]
    lines = [
        f"{it}: {it.value!r:.200}: oracle {it.oracle:.200}, ours {it.ours:.200}" for it in wrong
    ]
    assert not wrong, "\n".join(lines[:20])


def test_no_entry_is_stale(verdict: tuple[list[Difference], list[str]]) -> None:
    assert not verdict[1], "\n".join(verdict[1])


# --- what is generated, as text ---


@pytest.fixture(scope="session")
def package(comparison: Comparison, folder: Path) -> Iterator[Path]:
    yield folder / "mcptools"


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD,
        env={"MYPYPATH": str(RUNTIME), "PATH": "/usr/bin:/bin"},
    )
    return f"{done.stdout}{done.stderr}"[-5000:] if done.returncode else ""


def test_every_file_compiles(package: Path) -> None:
    files = list(package.rglob("*.py"))
    assert len(files) == len(NAMES) + len(servers()) + 1  # that of mcptools itself
    for path in files:
        ast.parse(path.read_text(), path.name)


def test_mypy_strict(package: Path) -> None:
    assert not run(
        "mypy", "--strict", "--no-error-summary", "-p", "mcptools", folder=package.parent
    )


def test_ruff_check(package: Path) -> None:
    """The rules that ruff has without a configuration, but for what an enum of a schema may have:
    lists and objects (RUF012), and a value twice (PIE796)."""
    options = ("--ignore", "RUF012,PIE796", "--output-format", "concise", "mcptools")
    assert not run("ruff", "check", "--isolated", "--no-cache", *options, folder=package.parent)
