# SPDX-License-Identifier: Apache-2.0
"""The console in a real Chromium, which console/browser.py drives beside the server."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator

import pytest
from box import IMAGE, PNG, docker
from page import HERE, SECONDS, Page

TOOL_SERVER = HERE.parent / "container" / "lib" / "tool_server.py"
URL = "http://localhost:8080/"
TOKEN = "the-token"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    server = docker(
        *("run", "-d", "--rm", "-e", f"IPYBOX_TOKEN={TOKEN}"),
        *("-v", f"{TOOL_SERVER}:/tools/tool_server.py:ro", IMAGE, "serve"),
        "--approve-shell-cmds",
    ).strip()
    try:
        yield server
    finally:
        docker("rm", "-f", server)


@pytest.fixture(scope="module")
def page(server: str) -> Iterator[Page]:
    page = Page(server)
    try:
        page.do("open", url=URL)
        page.wait("document.querySelector('#sign-in')?.hidden === false")
        assert page.run("document.activeElement.id") == "token"
        page.do("type", text=TOKEN)
        page.do("press", key="Enter", ctrl=False)
        page.wait_text("#sessions", "default")
        yield page
    finally:
        page.close()


def test_a_cell_is_run_and_its_output_and_picture_are_shown(page: Page) -> None:
    page.cell("print('a' + 'b' * 3)")
    page.wait_text("#output", "abbb")
    picture = base64.b64encode(PNG).decode()
    page.cell("from IPython.display import HTML, Image, Javascript; from base64 import b64decode")
    page.cell(f"Image(b64decode('{picture}'))")
    page.wait("document.querySelector('#output img')?.naturalWidth === 1")
    source = page.run("document.querySelector('#output img').src")
    assert source.startswith("data:image/png;base64,")
    page.cell("1 / 0")
    page.wait_text("#output", "ZeroDivisionError: division by zero")


HOSTILE = (
    "<script>window.hacked = 1</script>"
    '<img src=x onerror="window.hacked = 2"><svg onload="window.hacked = 3">'
)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked = 5"/>'


def test_hostile_output_is_text(page: Page) -> None:
    before = page.run("document.querySelectorAll('#output img').length")
    page.cell(f"hostile = {HOSTILE!r}; print(hostile)")
    page.wait_text("#output", "<script>window.hacked = 1</script>")
    page.cell("display(HTML(hostile), Javascript('window.hacked = 4'))")
    page.cell(f"display({{'image/svg+xml': {SVG!r}, 'text/plain': hostile}}, raw=True)")
    png = 'x" onerror="window.hacked = 6'
    page.cell(f"display({{'image/png': {png!r}, 'text/plain': hostile}}, raw=True)")
    page.cell("open('<img src=x onerror=hacked=7>', 'w').close(); raise ValueError(hostile)")
    page.wait_text("#output", "ValueError: <script>")
    assert page.run("window.hacked === undefined")
    made = "document.querySelectorAll('#output script, #output svg, #output iframe').length"
    assert page.run(made) == 0
    # one picture more: the broken PNG, whose data was cut to what base64 has
    assert page.run("document.querySelectorAll('#output img').length") == before + 1
    page.press("default (idle)")
    page.wait_text("#files", "<img src=x onerror=hacked=7>")
    assert page.run("window.hacked === undefined")


def test_the_policy_lets_no_html_and_no_inline_script_in(page: Page) -> None:
    attempt = "(() => {{ try {{ {}; return 'made'; }} catch (e) {{ return e.name; }} }})()"
    assert page.run(attempt.format("document.body.innerHTML = '<b>x</b>'")) == "TypeError"
    assert page.run(attempt.format("Function('return 1')()")) != "made"
    other = "fetch('http://127.0.0.1:8080/livez', {mode: 'no-cors'})"
    assert page.run(f"{other}.then(() => 'sent', () => 'kept')") == "kept"


@pytest.mark.parametrize("label", ["Reject", "Accept"])
def test_a_call_is_shown_with_what_it_would_run_and_is_decided(page: Page, label: str) -> None:
    page.cell(f"!echo done-{label}-$((40 + 2))")
    page.wait_text("#approvals", f"echo done-{label}-$((40 + 2))")
    page.press(f"{label} ipybox.shell")
    page.wait("document.querySelectorAll('#approvals li').length === 0")
    page.wait_text("#output", f"done-{label}-42" if label == "Accept" else "rejected")


SERVER = {"name": "demo", "params": {"command": "python3", "args": ["/tools/tool_server.py"]}}
REGISTER = """fetch('/v1/mcp-servers', {method: 'POST',
  headers: {'Content-Type': 'application/json',
            Authorization: `Bearer ${sessionStorage.getItem('ipybox-token')}`},
  body: JSON.stringify(%s)}).then(({status}) => status)"""


def test_a_question_of_a_server_is_a_form(page: Page) -> None:
    assert page.run(REGISTER % json.dumps(SERVER)) == 201
    page.cell("from mcptools.demo import ask, steps; print('said', ask.run(ask.Params()))")
    page.wait_text("#approvals", "Who are you?")
    page.run("document.querySelector('#approvals input').focus()")
    assert page.run("document.activeElement.labels[0].textContent") == "name"
    page.do("type", text="Ada")
    page.press("Send the answer to demo")
    page.wait("document.querySelectorAll('#approvals li').length === 0")
    page.wait_text("#output", '"content": {"name": "Ada"}')
    page.cell("print('said', ask.run(ask.Params()))")
    page.press("Decline to answer demo")
    page.wait_text("#output", '"action": "decline"')


def test_the_progress_of_a_tool_is_one_line(page: Page) -> None:
    page.cell("print(steps.run(steps.Params(count=5000)))")
    page.wait_text("#output", "demo.steps: 5000 of 5000 step 5000")
    assert page.run("document.querySelectorAll('#output .progress').length") == 1


HIDING = {
    "type": "object",
    "properties": {
        "n": {"type": "string", "title": "ti\u202etle", "description": "de\u200bscribed"},
        "c": {"type": "string", "oneOf": [{"const": "a", "title": "o\u2066n\u2800e"}]},
    },
}


def test_what_hides_or_turns_a_text_is_shown_as_an_escape(page: Page) -> None:
    page.cell(f"print('said', ask.run(ask.Params(form={json.dumps(HIDING)!r})))")
    page.wait_text("#approvals", "ti\\u202etle")
    page.wait_text("#approvals", "de\\u200bscribed")
    options = "[...document.querySelectorAll('#approvals option')].map((o) => o.textContent)"
    assert page.run(options) == ["", "o\\u2066n\\u2800e"]
    page.press("Decline to answer demo")
    page.wait("document.querySelectorAll('#approvals li').length === 0")
    page.cell("open('a\\u202egnp.exe', 'w').close(); print('is made')")
    page.wait_text("#output", "is made")
    page.do("choose", selector="#upload", files={"other.txt": 1})
    page.wait_text("#files", "a\\u202egnp.exe 0 bytes")


SOCKET = """new Promise((done) => {
  const token = btoa(%s).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const place = 'ws://localhost:8080/v1/sessions/default/events';
  const socket = new WebSocket(place, ['ipybox', `ipybox.bearer.${token}`]);
  socket.onerror = () => done('refused');
  socket.onmessage = ({data}) => {
    done([socket.protocol, JSON.parse(data).event]);
    socket.close();
  };
})"""


def test_a_page_follows_a_session_over_a_websocket(page: Page) -> None:
    assert page.run(SOCKET % json.dumps(TOKEN)) == ["ipybox", "kernel"]
    assert page.run(SOCKET % json.dumps("wrong")) == "refused"


def test_sessions_are_made_used_and_ended(page: Page) -> None:
    page.run("document.querySelector('#new-id').focus()")
    page.do("type", text="second")
    page.do("press", key="Enter", ctrl=False)
    page.wait_text("#output-title", "Output of second")
    page.cell("print('in ' + 'the second')")
    page.wait_text("#output", "in the second")
    page.press("End the session")
    page.wait_text("#output-title", "Output of default")
    page.wait_text("#output", "abbb")  # from the beginning again


def test_files_are_uploaded_by_the_button_and_by_dropping(page: Page) -> None:
    page.do("choose", selector="#upload", files={"one.bin": 5, "ü b.bin": 0})
    page.wait_text("#status", "ü b.bin is uploaded.")
    page.wait_text("#files", "one.bin 5 bytes")
    page.wait_text("#files", "ü b.bin 0 bytes")
    page.do("drop", selector="#drop", files={"dropped.bin": 70000})
    page.wait_text("#files", "dropped.bin 70000 bytes")
    page.cell("import os; print(sorted(f for f in os.listdir() if f.endswith('.bin')))")
    page.wait_text("#output", "['dropped.bin', 'one.bin', 'ü b.bin']")
    assert page.run("document.querySelector('#transfer').hidden")


def test_what_is_there_is_replaced_on_request_alone(page: Page) -> None:
    page.do("choose", selector="#upload", files={"one.bin": 6})
    page.wait_text("#status", "one.bin is there already")
    page.wait_text("#files", "one.bin 5 bytes")
    page.run("document.querySelector('#replace').focus()")
    page.do("press", key=" ", ctrl=False)
    page.wait("document.querySelector('#replace').checked")
    page.wait("document.querySelector('#upload').value === ''")
    page.do("choose", selector="#upload", files={"one.bin": 7})
    page.wait_text("#files", "one.bin 7 bytes")
    page.run("document.querySelector('#replace').click()")


def test_a_large_file_goes_up_and_comes_down_with_progress(page: Page) -> None:
    size = 150_000_000
    watch = (
        "window.seen = []; new MutationObserver(() => window.seen.push(document.querySelector("
        "'#progress').value)).observe(document.querySelector('#transfer-text'), {childList: true})"
    )
    page.run(watch)
    page.do("choose", selector="#upload", files={"large.bin": size})
    page.wait_text("#files", f"large.bin {size} bytes")
    part = "window.seen.some((value) => value > 0 && value < 1)"
    assert page.run(part), page.run("window.seen")
    page.run("window.seen = []")
    page.press("Download large.bin")
    page.wait_text("#status", "large.bin is downloaded.")
    assert page.run(part), page.run("window.seen")
    expected = hashlib.sha256(b"x" * size).hexdigest()
    end = time.monotonic() + SECONDS
    while (saved := page.do("downloads")) != {"large.bin": expected}:
        assert time.monotonic() < end, saved
        time.sleep(0.1)


def test_a_session_is_saved_as_a_notebook(page: Page) -> None:
    page.run("document.querySelector('#new-id').focus()")
    page.do("type", text="book")
    page.do("press", key="Enter", ctrl=False)
    page.wait_text("#output-title", "Output of book")
    page.cell("print('a' + 'line')")
    page.wait_text("#output", "aline")
    page.press("Save as a notebook")
    end = time.monotonic() + SECONDS
    while "book.ipynb" not in page.do("downloads"):
        assert time.monotonic() < end
        time.sleep(0.1)
    notebook = json.loads(page.do("read", name="book.ipynb"))
    assert notebook["nbformat"] == 4
    (cell,) = notebook["cells"]
    assert "".join(cell["source"]) == "print('a' + 'line')"
    assert "".join(cell["outputs"][0]["text"]) == "aline\n"
    page.press("End the session")
    page.wait_text("#output-title", "Output of default")


def test_the_keyboard_is_enough_and_everything_has_a_name(page: Page) -> None:
    names = page.run(
        "[...document.querySelectorAll('button, input, textarea')].map((e) =>"
        " (e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent).trim())"
    )
    assert all(names), names
    page.run("document.activeElement.blur()")
    reached = set()
    for _ in range(80):
        page.do("press", key="Tab", ctrl=False)
        reached.add(page.run("document.activeElement.id || document.activeElement.textContent"))
    assert {
        "code",
        "output",
        "new-id",
        "interrupt",
        "sign-out",
        "Run",
        "upload",
        "replace",
    } <= reached, reached


def test_a_forgotten_token_is_asked_for_again(page: Page) -> None:
    page.press("Forget the token")
    page.wait("document.querySelector('#sign-in').hidden === false")
    assert page.run("document.querySelector('#main').hidden")
    assert page.run("sessionStorage.length + localStorage.length + document.cookie.length") == 0
    page.do("type", text="wrong")
    page.do("press", key="Enter", ctrl=False)
    page.wait_text("#status", "IPYBOX_TOKEN")
    assert page.do("errors") == []
    assert page.run("document.querySelector('#main').hidden")
