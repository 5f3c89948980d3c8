# SPDX-License-Identifier: Apache-2.0
"""What the console shows of what the server keeps: states to go back to, the audit log; how much
the page itself weighs, and how soon it is there."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import closing

import pytest
from box import IMAGE, running
from page import EDITOR, Console

URL = "http://localhost:8080/"
TOKEN = "the-token"
EXECUTE = "the-other-token"
SIZE_MAX = 1_200_000  # bytes of all that the page is, as they are sent
PAINT_MAX = 300  # milliseconds to the first text
CELL_MAX = 100  # milliseconds from the keys to the output
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
LOADED = "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
# The time from the keys that run a cell to its output, in milliseconds.
WATCH = """seen = new Promise((done) => {
  const cells = document.querySelector('#cells');
  let began;
  addEventListener('keydown', () => { began ??= performance.now(); }, {capture: true});
  new MutationObserver((_, observer) => {
    if (!cells.innerText.includes('%s')) return;
    observer.disconnect();
    done(performance.now() - began);
  }).observe(cells, {subtree: true, childList: true, characterData: true});
}); 0"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    tokens = ("-e", f"IPYBOX_TOKEN={TOKEN}", "-e", f"IPYBOX_EXECUTE_TOKEN={EXECUTE}")
    options = ("--checkpoints", "2", "--audit-log", "/var/log/ipybox/audit.jsonl")
    with running(*tokens, IMAGE, "serve", *options) as server:
        yield server


@pytest.fixture(scope="module")
def page(server: str) -> Iterator[Console]:
    with closing(Console(server)) as page:
        page.sign_in(URL, TOKEN)
        yield page


def ran(page: Console, code: str, shown: str) -> None:
    page.cell(code)
    page.wait_text("#cells", shown)


def test_a_session_goes_back_to_before_a_cell(page: Console) -> None:
    ran(page, "x = 1; print('one')", "one")
    ran(page, "x = 2; print('two')", "two")
    page.panel("Sessions")
    page.press("to before cell 2")
    page.wait_text("dialog", "not undone")
    page.press("Cancel")
    ran(page, "print('still', x)", "still 2")
    page.press("to before cell 2")
    page.press("Go back")
    page.wait_text("#cells", "went back to before cell 2: 2, 3 undone")
    ran(page, "print('now', x)", "now 1")


def test_the_audit_log_is_shown_and_searched(page: Console) -> None:
    page.panel("Audit log")
    page.wait_text("#audit", "cell end")
    page.wait_text("#audit", "session created")
    assert "print(" not in page.run("document.querySelector('#audit').innerText")
    ran(page, "1 / 0", "ZeroDivisionError")
    page.wait("document.querySelector('#audit .bad')?.innerText === 'error'")
    times = "[...document.querySelectorAll('#audit time')].map((one) => one.dateTime)"
    shown = page.run(times)
    assert shown == sorted(shown, reverse=True), "the newest comes first"
    page.run("document.querySelector('[aria-label=\"Find a record\"]').focus()")
    page.do("type", text="LOGIN")
    page.wait(
        "[...document.querySelectorAll('#audit .name')]"
        ".every((one) => ['login', 'login refused'].includes(one.innerText))"
    )
    assert page.run(times)


def test_the_audit_log_is_the_administrators(server: str) -> None:
    with closing(Console(server)) as other:
        other.sign_in(URL, EXECUTE)
        other.panel("Audit log")
        other.wait("document.body.innerText.includes('who has the administrator')")
        assert other.run("document.querySelector('#audit')") is None


def test_the_page_is_small(page: Console) -> None:
    page.do("open", url=URL)
    page.wait_text("#sessions", "default")  # signed in still
    size = page.run(f"{LOADED}.reduce((sum, one) => sum + one.encodedBodySize, 0)")
    print(f"{size} bytes")
    assert 100_000 < size < SIZE_MAX


@pytest.mark.measure
def test_the_page_is_soon_there(page: Console) -> None:
    paints = []
    for _ in range(5):
        page.do("open", url=URL)
        page.wait_text("#sessions", "default")
        page.wait(f"Boolean({PAINTED})")
        paints.append(page.run(PAINTED))
    print(f"first paint after {sorted(map(round, paints))} ms")
    assert statistics.median(paints) < PAINT_MAX


@pytest.mark.measure
def test_a_cell_is_there_as_soon_as_it_is_run(page: Console) -> None:
    took = []
    for n in range(20):
        page.run(f"{EDITOR}.focus()")
        page.do("type", text=f"print('a' 'b' * {n + 1}, {n} * 7)")
        page.run(WATCH % ("ab" * (n + 1) + f" {n * 7}"))
        page.do("press", key="Enter", ctrl=True)
        took.append(page.run("seen"))
    print(f"a cell from the keys to its output: {sorted(map(round, took))} ms")
    assert min(took) < CELL_MAX
