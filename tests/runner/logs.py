# SPDX-License-Identifier: Apache-2.0
"""The tests that a log of tests/run names, with what was said of those that failed.

Read here are TAP (bats, the attacks, the lints), Meson's lines and pytest's, as they stand in
build/test-logs/SECTION.log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOGS = Path(__file__).parent.parent.parent / "build" / "test-logs"
REASONS = 8  # lines for each failure

TAP = re.compile(r"(not )?ok (?:\d+ )?(?:- )?(.+)")
TAP_TIME = re.compile(r"(.*) in ([0-9.]+) ?(ms|s)$")
MESON = re.compile(
    r" *\d+/\d+ +(?:\w+ - )?(\S+) +(OK|FAIL|ERROR|TIMEOUT|SKIP|INTERRUPT) +([0-9.]+)s(.*)"
)
PYTEST = re.compile(r"(\S+\.py::.+?) (PASSED|FAILED|ERROR|SKIPPED)(?: .*)?$")  # a test's own line
PYTEST_SHORT = re.compile(r"(FAILED|ERROR) (\S+\.py::.+?)(?: - (.*))?$")  # of the summary
PYTEST_HEAD = re.compile(r"_{3,} (?:ERROR at \w+ of )?(\S.*?) _{3,}$")  # above a failure's text
PYTEST_PART = re.compile(r"--- peer: (\S+) (\S+) ")
PYTEST_END = re.compile(r"=+ .* =+$")
MESON_SECTIONS = ("unit", "musl")
SECTION = re.compile(r"(\w+): (no test was executed|ended with status \d+|did not end)")
TELLING = re.compile(r"the limit is|failed$|no '|" + MESON.pattern)


@dataclass
class Test:
    """One test of a log; `part` is the part of tests/peer/run that ran it."""

    section: str
    name: str
    well: bool
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)
    part: str = ""

    def reasons(self) -> list[str]:
        """The lines that tell most, and the last ones."""
        lines = [line for line in self.said if line.strip()]
        for at, line in enumerate(lines):
            if line.startswith("--- the conversation"):
                del lines[at:]
                break
        # What a failed Python check says stands below this word.
        for at, line in enumerate(lines):
            if line.strip() == "Failure:":
                return lines[at + 1 : at + 1 + REASONS]
        if any(line.startswith("E ") for line in lines):  # pytest's
            return [line for line in lines if line.startswith("E ")][:REASONS]
        telling = [line for line in lines if TELLING.search(line)][: REASONS // 2]
        rest = [line for line in lines if line not in telling]
        return telling + rest[max(0, len(rest) - (REASONS - len(telling))) :]


def tap_test(section: str, line: str) -> Test | None:
    """A line of TAP, with the time that bats and the attacks add."""
    found = TAP.match(line)
    if not found:
        return None
    name, seconds = found[2], 0.0
    if timed := TAP_TIME.match(name):
        name = timed[1]
        seconds = float(timed[2]) / (1000 if timed[3] == "ms" else 1)
    return Test(section, name, not found[1] and "# skip" not in name, seconds)


def test_of(section: str, line: str) -> Test | None:
    """The test whose end this line tells."""
    if found := MESON.match(line):
        return Test(section, found[1], found[2] == "OK", float(found[3]), [found[2] + found[4]])
    if found := PYTEST.match(line):
        return Test(section, found[1], found[2] == "PASSED")
    return tap_test(section, line)


class _Reader:
    """One log, line by line."""

    def __init__(self, section: str) -> None:
        self.section = section
        self.last: Test | None = None
        self.before: list[str] = []
        self.part = self.head = ""
        self.texts: dict[str, list[str]] = {}  # of pytest: what was said below each heading

    def _keep(self, test: Test) -> Test:
        self.last = test
        if self.section == "lint":
            test.said = self.before[-REASONS:]
        self.before = []
        return test

    def _pytest(self, line: str) -> Test | None:
        if found := PYTEST_PART.match(line):
            self.part, self.texts = found[1], {}
        elif found := PYTEST_HEAD.match(line):
            self.head = found[1]
            self.texts[self.head] = []
        elif found := PYTEST_SHORT.match(line):
            name = found[2].split("::", 1)[1].replace("::", ".")
            said = self.texts.get(name, [])
            return Test(self.section, found[2], False, said=said or [found[3] or ""])
        elif PYTEST_END.match(line):
            self.head = ""
        elif self.head:
            self.texts[self.head].append(line)
        return None

    def read(self, line: str) -> Test | None:
        """The test that the line is about."""
        test = self._pytest(line) or test_of(self.section, line)
        if test:
            test.part = self.part
            return self._keep(test)
        if found := SECTION.match(line):
            return Test(self.section, found[0], False, said=self.before[-REASONS:])
        meson = self.section in MESON_SECTIONS
        if self.last and not self.last.well and (meson or line.startswith(("#", " "))):
            self.last.said.append(line.lstrip("# "))
        else:
            self.before.append(line)
        return None


def tests_of(section: str, text: str) -> Iterator[Test]:
    """Every test that the log names."""
    reader = _Reader(section)
    for line in text.splitlines():
        if test := reader.read(line):
            yield test


def all_tests(folder: Path) -> list[Test]:
    """The tests of every section, each once: a failed one is named twice by Meson and pytest."""
    tests: dict[tuple[str, str, str], Test] = {}
    for log in sorted(folder.glob("*.log")):
        for test in tests_of(log.stem, log.read_text(errors="replace")):
            key = test.section, test.part, test.name
            if key not in tests or not test.well:
                tests[key] = test
    return list(tests.values())
