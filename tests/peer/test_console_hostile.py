# SPDX-License-Identifier: Apache-2.0
"""Outputs that attack who looks at them, in a real browser: a row each.

A row is run in a cell of its own. What it tries: to run a script in the console's page (which has
the token), and to send something to a listener on another port, by TCP or UDP. AWAY stands for the
listener's address with the row's name, HACK for a script that leaves a mark wherever it can reach.
"""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from box import IMAGE, running
from page import HERE, Console

URL = "http://localhost:8080/"
TOKEN = "the-token"
LISTENER = "http://127.0.0.1:9999"
MARKS = (
    "for (const w of [window, parent, top])"
    " { try { w.hacked = 1; w.document.title = `hacked`; w.localStorage.x = 1 } catch {} }"
)


TYPES = {
    "html": "text/html",
    "svg": "image/svg+xml",
    "vega": "application/vnd.vegalite.v5+json",
    "plotly": "application/vnd.plotly.v1+json",
}
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">',
    "</svg>",
)
CHART = {"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {}}
TRACE = {"y": [1], "text": ["<img src='AWAY' onerror=\"HACK\">"], "hovertemplate": "%{text}"}
PIXEL = b"<svg xmlns='http://www.w3.org/2000/svg' onload=\"top.hacked=1\"/>"
ROWS: dict[str, dict[str, str]] = tomllib.loads((HERE / "console/hostile.toml").read_text())
OUTPUTS = {name: row for name, row in ROWS.items() if "code" not in row}
CODES = {name: row["code"] for name, row in ROWS.items() if "code" in row}


def armed(name: str, row: dict[str, str]) -> dict[str, Any]:
    """The bundle of a row, with its address and its script."""
    [(kind, text)] = row.items()
    if kind == "script":
        kind, text = "html", f"<script>{text}</script>"
    data: Any = text
    if kind == "svg":
        data = text.join(SVG)
    elif kind == "vega":
        data = CHART | json.loads(text)
    elif kind == "plotly":
        data = {"data": [TRACE], "layout": json.loads(text)}
    bundle = json.loads(text) if kind == "bundle" else {TYPES[kind]: data}
    written = json.dumps(bundle).replace("AWAY", f"{LISTENER}/{name}")
    written = written.replace("PIXEL", base64.b64encode(PIXEL).decode())
    found: dict[str, Any] = json.loads(written.replace("HACK", json.dumps(MARKS)[1:-1]))
    return found


PASSIVE = ("text/plain", "image/png", "application/javascript", "application/json", "text/x-hack")


@pytest.fixture(scope="module")
def page() -> Iterator[Console]:
    with running("-e", f"IPYBOX_TOKEN={TOKEN}", IMAGE, "serve") as server:
        mounted = "-v", f"{HERE}/console/listener.py:/listener.py:ro"
        with closing(Console(server, *mounted)) as page:
            page.sign_in(URL, TOKEN)
            page.do("serve", script="/listener.py")
            yield page


def heard(page: Console) -> str:
    text: str = page.do("read", name="heard")
    return text


def unharmed(page: Console, name: str) -> None:
    found = page.run("[window.hacked ?? null, document.title, location.href, localStorage.length]")
    assert found[0] is None, (name, found)
    assert "hacked" not in found[1], (name, found)
    assert found[2].startswith(URL), (name, found)
    assert found[3] == 0, (name, found)


def show(page: Console, name: str, code: str) -> None:
    """A cell of another client, which has ended and is in the page."""
    how = {
        "method": "POST",
        "headers": {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"},
        "body": json.dumps({"code": f"# {name}.\n{code}", "wait": True}),
    }
    assert (
        page.run(
            f"fetch('v1/sessions/default/executions', {json.dumps(how)}).then((r) => r.status)"
        )
        == 200
    )
    page.wait(
        f"[...document.querySelectorAll('.cell')].at(-1)?.innerText.includes('# {name}.')"
        " && !document.querySelector('.cell.running')"
    )


def test_no_output_runs_a_script_in_the_page_or_sends_anything(page: Console) -> None:
    for name, row in OUTPUTS.items():
        bundle = armed(name, row)
        show(page, name, f"import json; display(json.loads({json.dumps(bundle)!r}), raw=True)")
        if next(iter(bundle)) not in PASSIVE:
            page.wait(
                "Boolean([...document.querySelectorAll('.cell')].at(-1).querySelector('iframe'))"
            )
        if name == "script":  # it runs, in the frame
            assert page.framed("window.hacked ?? null") == 1
        page.run("new Promise((done) => setTimeout(done, 150))")
        unharmed(page, name)
        page.run("document.querySelector('dialog[open] button')?.click()")  # a link was shown: no
    page.run("new Promise((done) => setTimeout(done, 1500))")  # what tries later
    unharmed(page, "all")
    assert heard(page).splitlines() == [], heard(page)


def test_no_name_error_or_stream_is_anything_but_text(page: Console) -> None:
    for name, code in CODES.items():
        show(page, name, code)
        unharmed(page, name)
    for panel in ("Variables", "Files", "Sessions"):
        page.panel(panel)
        page.wait("document.querySelectorAll('.panel [onerror], .panel [onload]').length === 0")
        unharmed(page, panel)
    page.cell("print('it still ' + 'works')")
    page.wait_text("#cells", "it still works")


def test_the_listener_hears_a_page_that_nothing_holds(page: Console) -> None:
    """Else the silence above says nothing."""
    page.do("open", url=f"{LISTENER}/control")
    page.wait("Boolean(document.body)")
    for name in ("rtc", "fetch", "preconnect"):
        text = armed(name, OUTPUTS[name])["text/html"]
        page.run(f"document.body.append(document.createRange().createContextualFragment({text!r}))")
    page.run("new Promise((done) => setTimeout(done, 1000))")
    found = heard(page).splitlines()
    assert {"/control", "/fetch", "a datagram"} <= set(found), found
    assert len([line for line in found if line == "a connection"]) >= 2, found
