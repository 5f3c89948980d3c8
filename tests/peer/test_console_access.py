# SPDX-License-Identifier: Apache-2.0
"""axe-core finds nothing in any view of the console: each in light and in dark, wide and narrow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from box import IMAGE, running
from page import EDITOR, Console

URL = "http://localhost:8080/"
TOKEN = "the-token"
AXE = Path(os.environ["PEER_NODE_DIR"]) / "node_modules/axe-core/axe.min.js"
PANELS = (
    *("Sessions", "Variables", "Files", "Packages"),
    *("MCP servers", "Sandbox", "Audit log", "Server"),
)
SIZES = ((1280, 900), (390, 844))
SCHEMES = ("light", "dark")
# Two frames, in which what changes begins to change, and the end of that.
SETTLED = """(async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const all = document.getAnimations();
  const ending = all.filter((one) => one.effect.getComputedTiming().endTime < Infinity);
  await Promise.all(ending.map((one) => one.finished.catch(() => null)));
})()"""
# Frames of outputs are what code has written: what is in them is not the console's.
FIND = """axe.run(document, {iframes: false, resultTypes: ['violations']}).then((found) =>
  found.violations.map(({id, impact, nodes}) =>
    [id, impact, nodes.slice(0, 5).map((node) => node.html.slice(0, 200))]))"""


@pytest.fixture(scope="module")
def page() -> Iterator[Console]:
    options = ["--sandbox", "--approve-shell-cmds", "--checkpoints", "2"]
    options += ["--audit-log", "/var/log/ipybox/audit.jsonl"]
    with (
        running("-e", f"IPYBOX_TOKEN={TOKEN}", IMAGE, "serve", *options) as server,
        closing(Console(server)) as page,
    ):
        yield page


def check(page: Console, view: str) -> None:
    """No violation of the view as it stands, in every size and scheme."""
    if not page.run("typeof axe === 'object'"):
        page.run(f"{AXE.read_text()}; 0")
    found: list[Any] = []
    for width, height in SIZES:
        for scheme in SCHEMES:
            page.do("picture", width=width, height=height, scheme=scheme)
            page.run(SETTLED)  # colours change gradually
            found += [[view, width, scheme, *one] for one in page.run(FIND)]
    page.do("picture", width=SIZES[0][0], height=SIZES[0][1], scheme="light")
    assert found == [], json.dumps(found, indent=1)


def test_the_sign_in(page: Console) -> None:
    page.do("open", url=URL)
    page.wait("document.activeElement?.id === 'token'")
    check(page, "sign-in")
    page.do("type", text="wrong")
    page.do("press", key="Enter", ctrl=False)
    page.wait_text("#sign-in", "does not know this token")
    check(page, "a refused sign-in")


def test_cells_with_every_kind_of_output(page: Console) -> None:
    page.sign_in(URL, TOKEN)
    page.cell("import os; print('a text', '\\x1b[31mred\\x1b[42mon green'); x = 1; x")
    page.cell("display({'text/html': '<table><tr><td>1</td></tr></table>'}, raw=True)")
    page.cell("import sys; print('a complaint', file=sys.stderr); 1 / 0")
    page.wait_text("#cells", "ZeroDivisionError")
    page.cell("for i in range(3000): print(i)")
    page.wait("document.querySelector('.cell.running') === null")
    check(page, "cells")
    page.cell("import time; time.sleep(1000)")
    page.wait("Boolean(document.querySelector('.cell.running'))")
    check(page, "a running cell")
    page.press("Interrupt")
    page.wait("!document.querySelector('.cell.running')")


def test_the_editor_with_proposals(page: Console) -> None:
    page.run(f"{EDITOR}.focus()")
    page.do("type", text="os.pat")
    root = "document.querySelector('.editor').shadowRoot"
    page.wait(f"Boolean({root}.querySelector('.cm-tooltip-autocomplete'))")
    check(page, "proposals")
    page.do("press", key="Escape", ctrl=False)
    page.run(f"{EDITOR}.focus(); document.execCommand('selectAll')")
    page.run("document.execCommand('delete')")


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel(page: Console, panel: str) -> None:
    page.panel(panel)
    page.run("new Promise((done) => setTimeout(done, 300))")  # what it asks for has come
    check(page, panel)


def test_an_approval_and_a_question(page: Console) -> None:
    page.cell("!echo once")
    page.wait_text("#approvals", "echo once")
    check(page, "an approval")
    page.press("Deny")
    page.wait("document.querySelectorAll('#approvals li').length === 0")


def test_a_terminal(page: Console) -> None:
    page.press("Terminal")
    page.wait("Boolean(document.querySelector('iframe[src*=terminal]'))")
    check(page, "a terminal")
