# SPDX-License-Identifier: Apache-2.0
"""The console in a real Chromium, which console/browser.py drives beside the server."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from box import IMAGE, PNG, docker, running, until
from page import EDITOR, HERE, Console

TOOL_SERVER = HERE.parent / "container" / "lib" / "tool_server.py"
URL = "http://localhost:8080/"
TOKEN = "the-token"


@pytest.fixture(scope="module")
def network() -> Iterator[str]:
    """A container whose network outlives a restart of the server."""
    network = docker("run", "-d", "--rm", "--entrypoint", "sleep", IMAGE, "infinity").strip()
    try:
        yield network
    finally:
        docker("rm", "-f", network)


@pytest.fixture(scope="module")
def server(network: str) -> Iterator[str]:
    options = ("-e", f"IPYBOX_TOKEN={TOKEN}", "--network", f"container:{network}")
    tools = ("-v", f"{TOOL_SERVER}:/tools/tool_server.py:ro")
    with running(*options, *tools, IMAGE, "serve", "--approve-shell-cmds") as server:
        yield server


@pytest.fixture(scope="module")
def page(network: str, server: str) -> Iterator[Console]:
    with closing(Console(network)) as page:
        page.sign_in(URL, TOKEN)
        yield page


@pytest.mark.gate
def test_a_cell_is_run_and_its_output_and_picture_are_shown(page: Console) -> None:
    page.cell("print('a' + 'b' * 3)")
    page.wait_text("#cells", "abbb")
    picture = base64.b64encode(PNG).decode()
    page.cell("from IPython.display import HTML, Image, Javascript; from base64 import b64decode")
    page.cell(f"Image(b64decode('{picture}'))")
    page.wait("document.querySelector('#cells img')?.naturalWidth === 1")
    source = page.run("document.querySelector('#cells img').src")
    assert source.startswith("data:image/png;base64,")
    page.cell("1 / 0")
    page.wait_text("#cells", "ZeroDivisionError: division by zero")


HOSTILE = (
    "<script>window.hacked = 1</script>"
    '<img src=x onerror="window.hacked = 2"><svg onload="window.hacked = 3">'
)


@pytest.mark.gate
def test_hostile_text_is_text(page: Console) -> None:
    before = page.run("document.querySelectorAll('#cells img').length")
    page.cell(f"hostile = {HOSTILE!r}; print(hostile)")
    page.wait_text("#cells", "<script>window.hacked = 1</script>")
    page.cell("display(Javascript('window.hacked = 4'))")
    png = 'x" onerror="window.hacked = 6'
    page.cell(f"display({{'image/png': {png!r}, 'text/plain': hostile}}, raw=True)")
    page.cell("open('<img src=x onerror=hacked=7>', 'w').close(); raise ValueError(hostile)")
    page.wait_text("#cells", "ValueError: <script>")
    assert page.run("window.hacked === undefined")
    made = "document.querySelectorAll('#cells script, #cells .text svg').length"
    assert page.run(made) == 0
    # one picture more: the broken PNG, whose data was cut to what base64 has
    assert page.run("document.querySelectorAll('#cells img').length") == before + 1
    page.panel("Files")
    page.wait_text("#files", "<img src=x onerror=hacked=7>")
    assert page.run("window.hacked === undefined")
    page.panel("Sessions")


# What a script of an output finds, each as [name, what came of it].
REACH = """(async () => {
  const tries = {
    script: () => String(window.ran),
    page: () => parent.document.title,
    token: () => String(sessionStorage.length),
    kept: () => String(localStorage.length),
    cookie: () => document.cookie,
    fetch: async () => { await fetch('/livez'); return 'sent'; },
    elsewhere: () => new Promise((done, fail) => {
      const image = new Image();
      image.onload = () => done('loaded');
      image.onerror = () => fail(new Error('kept'));
      image.src = 'http://localhost:8080/console/icon.svg';
    }),
    socket: () => new Promise((done, fail) => {
      const socket = new WebSocket('ws://localhost:8080/v1/sessions/default/events');
      socket.onopen = () => done('open');
      socket.onerror = () => fail(new Error('kept'));
    }),
    away: () => { top.location = 'about:blank'; return 'gone'; },
    popup: () => String(window.open('about:blank')),
    worker: () => new Promise((done, fail) => {
      const worker = new Worker('data:text/javascript,postMessage(1)');
      worker.onmessage = () => done('runs');
      worker.onerror = () => fail(new Error('kept'));
    }),
  };
  const found = {};
  for (const [name, act] of Object.entries(tries)) {
    try { found[name] = await act(); } catch (e) { found[name] = 'refused'; }
  }
  return found;
})()"""
ACTIVE = "<b id=mark>active</b><script>window.ran = 1; parent.hacked = 8</script>"


def test_an_active_output_runs_in_a_frame_that_reaches_nothing(page: Console) -> None:
    page.cell(f"display(HTML({ACTIVE!r}))")
    page.framed("document.querySelector('#mark')?.textContent ?? null")
    found = page.framed(REACH)
    assert found["script"] == "1"
    assert found["popup"] in ("null", "refused")
    others = {value for name, value in found.items() if name not in ("script", "popup")}
    assert others == {"refused"}, found
    assert page.run("window.hacked === undefined")
    assert page.run("document.querySelector('iframe').sandbox.value") == "allow-scripts"
    # The frame's file has no origin either when it is opened as a page.
    policy = page.run(
        "fetch('console/frame.html').then((r) => r.headers.get('content-security-policy'))"
    )
    assert policy.startswith("sandbox allow-scripts;")


@pytest.mark.parametrize(
    ("mime", "data", "shown"),
    [
        ("text/html", "<table><tr><td>cell of a table</td></tr></table>", "table"),
        (
            "image/svg+xml",
            '<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>',
            "circle",
        ),
        ("text/markdown", "# A title\n\n$x^2$", "h1, math"),
        ("text/latex", "$$\\frac{1}{2}$$", "math mfrac"),
        (
            "application/vnd.vegalite.v5+json",
            {
                "data": {"values": [{"a": "A", "b": 1}]},
                "mark": "bar",
                "encoding": {"x": {"field": "a"}, "y": {"field": "b", "type": "quantitative"}},
            },
            "canvas, svg",
        ),
        ("application/vnd.plotly.v1+json", {"data": [{"y": [1, 2]}], "layout": {}}, ".plotly svg"),
    ],
)
def test_rich_outputs_are_rendered(page: Console, mime: str, data: Any, shown: str) -> None:
    session = mime.replace("/", ".").replace("+", ".")
    make_session(page, session)  # with no other frame
    page.cell(f"display({{{mime!r}: {data!r}, 'text/plain': 'plain'}}, raw=True)")
    count = len(shown.split(", ")) if mime == "text/markdown" else 1
    page.framed(
        f"document.querySelectorAll({shown!r}).length >= {count}"
        f" && document.querySelector({shown!r}).getBoundingClientRect().height > 0 || null"
    )
    # and the frame is as high as what it shows
    page.wait("[...document.querySelectorAll('.frame')].at(-1).offsetHeight > 16")
    end_session(page, session)


def test_a_progress_bar_stays_one_line_and_displays_change_in_place(page: Console) -> None:
    page.cell("for i in range(3): print(f'\\r{i} of 2', end=' ')")
    page.wait(
        "[...document.querySelectorAll('.text pre')].some((e) => e.innerText.trim() === '2 of 2')"
    )
    page.cell(
        "from IPython.display import clear_output; print('first'); clear_output(); print('then')"
    )
    page.wait(
        "[...document.querySelectorAll('.outputs')].some((e) => e.innerText.trim() === 'then')"
    )
    page.cell("h = display('before', display_id=True); h.update('after')")
    page.wait("[...document.querySelectorAll('.outputs')].at(-1).innerText.trim() === \"'after'\"")


def test_cells_of_others_appear_with_their_code_and_who_ran_them(page: Console) -> None:
    run = """fetch('v1/sessions/default/executions', {method: 'POST',
      headers: {'Content-Type': 'application/json', 'Ipybox-Client': 'some-agent',
                Authorization: `Bearer ${sessionStorage.getItem('ipybox-token')}`},
      body: JSON.stringify({code: 'of_an_agent = 1', wait: true})}).then((r) => r.status)"""
    assert page.run(run) == 200
    page.wait_text("#cells", "of_an_agent = 1")
    last = "[...document.querySelectorAll('.cell')].at(-1)"
    page.wait(f"{last}.querySelector('.who')?.textContent === 'some-agent'")
    page.wait(f"{last}.classList.contains('ok')")


def test_what_is_typed_is_kept_and_history_comes_back(page: Console) -> None:
    page.cell("kept_in_history = 1")
    page.run(f"{EDITOR}.focus()")
    page.do("press", key="ArrowUp", ctrl=False)
    page.wait(f"{EDITOR}.textContent === 'kept_in_history = 1'")
    page.do("type", text=" + 2")
    page.do("open", url=URL)  # a reload
    page.wait(f"{EDITOR}?.textContent.endsWith('= 1 + 2')")
    page.run(f"{EDITOR}.focus()")
    page.do("press", key="Enter", ctrl=True)
    page.wait_text("#cells", "kept_in_history = 1 + 2")


def test_the_page_follows_its_end_unless_one_reads_above(page: Console) -> None:
    at_end = "(() => { const c = document.querySelector('#cells');"
    at_end += " return c.scrollHeight - c.scrollTop - c.clientHeight < 60; })()"
    page.cell("for i in range(20): print(i)")
    page.cell(f"Image(b64decode('{base64.b64encode(PNG).decode()}'), height=500)")
    page.cell("print('below a ' + 'picture')")
    page.wait_text("#cells", "below a picture")
    page.wait(at_end)
    page.run(
        "(() => { const c = document.querySelector('#cells');"
        " c.dispatchEvent(new WheelEvent('wheel', {deltaY: -1000})); c.scrollTop = 0; })()"
    )
    page.cell("print('while one ' + 'reads')")
    page.wait("Boolean(document.querySelector('.to-end button'))")
    assert not page.run(at_end)
    page.press("New output")
    page.wait_text("#cells", "while one reads")
    page.wait(at_end)


def test_the_policy_lets_no_html_and_no_inline_script_in(page: Console) -> None:
    attempt = "(() => {{ try {{ {}; return 'made'; }} catch (e) {{ return e.name; }} }})()"
    assert page.run(attempt.format("document.body.innerHTML = '<b>x</b>'")) == "TypeError"
    assert page.run(attempt.format("Function('return 1')()")) != "made"
    other = "fetch('http://127.0.0.1:8080/livez', {mode: 'no-cors'})"
    assert page.run(f"{other}.then(() => 'sent', () => 'kept')") == "kept"


@pytest.mark.parametrize("label", ["Deny", "Allow once"])
@pytest.mark.gate
def test_a_call_is_shown_with_what_it_would_run_and_is_decided(page: Console, label: str) -> None:
    word = label.split()[0]
    page.cell(f"!echo done-{word}-$((40 + 2))")
    page.wait_text("#approvals", f"echo done-{word}-$((40 + 2))")
    assert page.run("document.title") == "(1) ipybox"
    page.wait_text("#approvals", " left")  # the time that it waits
    page.press(label)
    page.wait("document.querySelectorAll('#approvals li').length === 0")
    assert page.run("document.title") == "ipybox"
    page.wait_text("#cells", f"done-{word}-42" if word == "Allow" else "rejected")


SERVER = {"name": "demo", "params": {"command": "python3", "args": ["/tools/tool_server.py"]}}
REGISTER = """fetch('/v1/mcp-servers', {method: 'POST',
  headers: {'Content-Type': 'application/json',
            Authorization: `Bearer ${sessionStorage.getItem('ipybox-token')}`},
  body: JSON.stringify(%s)}).then(({status}) => status)"""


def test_a_tool_is_allowed_for_good_in_one_session(page: Console) -> None:
    make_session(page, "always")
    page.cell("!echo first-$((40 + 2))")
    page.wait_text("#approvals", "echo first-$((40 + 2))")
    page.press("Always allow it here")
    page.wait_text("#cells", "first-42")
    page.cell("!echo second-$((40 + 2))")  # nobody is asked
    page.wait_text("#cells", "second-42")
    end_session(page, "always")
    page.cell("!echo third-$((40 + 2))")
    page.wait_text("#approvals", "echo third-$((40 + 2))")
    page.press("Deny")
    page.wait_text("#cells", "rejected")


def test_a_question_of_a_server_is_a_form(page: Console) -> None:
    assert page.run(REGISTER % json.dumps(SERVER)) == 201
    page.cell("from mcptools.demo import ask, steps; print('said', ask.run(ask.Params()))")
    page.wait_text("#approvals", "Who are you?")
    page.run("document.querySelector('#approvals input').focus()")
    assert page.run("document.activeElement.labels[0].innerText.trim()") == "name"
    page.do("type", text="Ada")
    page.press("Send the answer")
    page.wait("document.querySelectorAll('#approvals li').length === 0")
    page.wait_text("#cells", '"content": {"name": "Ada"}')
    page.cell("print('said', ask.run(ask.Params()))")
    page.press("Decline")
    page.wait_text("#cells", '"action": "decline"')


def test_the_progress_of_a_tool_is_one_line(page: Console) -> None:
    page.cell("print(steps.run(steps.Params(count=5000)))")
    page.wait_text("#cells", "demo.steps: 5000 of 5000 step 5000")
    assert page.run("document.querySelectorAll('#cells .progress').length") == 1


HIDING = {
    "type": "object",
    "properties": {
        "n": {"type": "string", "title": "ti\u202etle", "description": "de\u200bscribed"},
        "c": {"type": "string", "oneOf": [{"const": "a", "title": "o\u2066n\u2800e"}]},
    },
}


def test_what_hides_or_turns_a_text_is_shown_as_an_escape(page: Console) -> None:
    page.cell(f"print('said', ask.run(ask.Params(form={json.dumps(HIDING)!r})))")
    page.wait_text("#approvals", "ti\\u202etle")
    page.wait_text("#approvals", "de\\u200bscribed")
    options = "[...document.querySelectorAll('#approvals option')].map((o) => o.textContent)"
    assert page.run(options) == ["", "o\\u2066n\\u2800e"]
    page.press("Decline")
    page.wait("document.querySelectorAll('#approvals li').length === 0")
    page.cell("open('a\\u202egnp.exe', 'w').close(); print('is made')")
    page.wait_text("#cells", "is made")
    page.panel("Files")
    page.wait_text("#files", "a\\u202egnp.exe")


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


def test_a_page_follows_a_session_over_a_websocket(page: Console) -> None:
    assert page.run(SOCKET % json.dumps(TOKEN)) == ["ipybox", "kernel"]
    assert page.run(SOCKET % json.dumps("wrong")) == "refused"


def make_session(page: Console, name: str) -> None:
    page.panel("Sessions")
    page.run("document.querySelector('#new-id').focus()")
    page.do("type", text=name)
    page.do("press", key="Enter", ctrl=False)
    page.wait(f"location.hash === '#{name}'")


def end_session(page: Console, name: str) -> None:
    page.press(f"End the session {name}")
    page.wait("document.querySelector('dialog')?.open")  # it is asked first
    page.press("End it")
    page.wait("location.hash === '#default'")


@pytest.mark.gate
def test_sessions_are_made_used_and_ended(page: Console) -> None:
    page.cell("print('before ' + 'the second')")
    page.wait_text("#cells", "before the second")
    make_session(page, "second")
    page.cell("print('in ' + 'the second')")
    page.wait_text("#cells", "in the second")
    page.press("End the session second")
    page.press("Cancel")
    assert page.run("location.hash") == "#second"
    end_session(page, "second")
    page.wait_text("#cells", "before the second")


def listed(name: str) -> str:
    """Whether the list of files has it, with its size."""
    named = f"(e) => e.querySelector('.name').textContent === {name!r}"
    item = f"[...document.querySelectorAll('#files .entry')].find({named})"
    return f"{item}?.querySelector('.faint').textContent"


def test_files_are_uploaded_by_the_button_and_by_dropping(page: Console) -> None:
    page.panel("Files")
    page.do("choose", selector="#upload", files={"one.bin": 5, "ü b.bin": 0})
    page.wait_text("#status", "2 files are uploaded.")
    page.wait(f"{listed('one.bin')} === '5 B'")
    page.wait(f"{listed('ü b.bin')} === '0 B'")
    page.do("drop", selector="#drop", files={"dropped.bin": 70000})
    page.wait(f"{listed('dropped.bin')} === '70.0 KB'")
    page.cell("import os; print(sorted(f for f in os.listdir() if f.endswith('.bin')))")
    page.wait_text("#cells", "['dropped.bin', 'one.bin', 'ü b.bin']")
    page.wait("document.querySelector('#transfer') === null")


def test_what_is_there_is_replaced_on_request_alone(page: Console) -> None:
    page.do("choose", selector="#upload", files={"one.bin": 6})
    page.press("Cancel")
    page.wait_text("#status", "Nothing is uploaded.")
    page.wait(f"{listed('one.bin')} === '5 B'")
    page.wait("document.querySelector('#upload').value === ''")
    page.do("choose", selector="#upload", files={"one.bin": 7})
    page.press("Replace")
    page.wait(f"{listed('one.bin')} === '7 B'")


def test_files_are_previewed_renamed_and_deleted(page: Console) -> None:
    page.cell(
        "open('t.csv', 'w').write('name,n\\n\"a, b\",2\\n'); "
        "os.mkdir('full'); open('full/x', 'w').close()"
    )
    page.wait(f"{listed('t.csv')} === '16 B'")
    page.press("t.csv")
    page.wait("document.querySelectorAll('.preview td').length === 2")
    assert page.run("document.querySelector('.preview td').textContent") == "a, b"
    page.press("Rename t.csv")
    page.run(
        "(() => { const i = document.querySelector('#files input'); i.focus(); i.select(); })()"
    )
    page.do("type", text="u.csv")
    page.do("press", key="Enter", ctrl=False)
    page.wait(f"{listed('u.csv')} === '16 B'")
    page.press("Delete full")
    page.press("Delete")
    page.wait(f"{listed('full')} === undefined")
    page.cell("print('left:', os.path.exists('full'), os.path.exists('u.csv'))")
    page.wait_text("#cells", "left: False True")


def test_a_large_file_goes_up_and_comes_down_with_progress(page: Console) -> None:
    size = 150_000_000
    watch = """window.seen = []; new MutationObserver(() => {
      const bar = document.querySelector('#transfer progress');
      if (bar) window.seen.push(bar.value);
    }).observe(document.querySelector('#drop'),
               {childList: true, subtree: true, attributes: true})"""
    page.run(watch)
    page.do("choose", selector="#upload", files={"large.bin": size})
    page.wait(f"{listed('large.bin')} === '150 MB'")
    part = "window.seen.some((value) => value > 0 && value < 1)"
    assert page.run(part), page.run("window.seen")
    page.run("window.seen = []")
    page.press("Download large.bin")
    page.wait_text("#status", "large.bin is downloaded.")
    assert page.run(part), page.run("window.seen")
    expected = hashlib.sha256(b"x" * size).hexdigest()
    until(lambda: page.do("downloads") == {"large.bin": expected}, lambda: page.do("downloads"))


def test_a_session_is_saved_as_a_notebook(page: Console) -> None:
    make_session(page, "book")
    page.cell("print('a' + 'line')")
    page.wait_text("#cells", "aline")
    page.press("Save as a notebook")
    until(lambda: "book.ipynb" in page.do("downloads"))
    notebook = json.loads(page.do("read", name="book.ipynb"))
    assert notebook["nbformat"] == 4
    (cell,) = notebook["cells"]
    assert "".join(cell["source"]) == "print('a' + 'line')"
    assert "".join(cell["outputs"][0]["text"]) == "aline\n"
    end_session(page, "book")


def fill_page(page: Console) -> None:
    """900 cells, and one with much output."""
    fill = """(async () => {
      const headers = {'Content-Type': 'application/json', 'Ipybox-Client': 'filler',
                       Authorization: `Bearer ${sessionStorage.getItem('ipybox-token')}`};
      const send = (code, wait) => fetch('v1/sessions/many/executions',
        {method: 'POST', headers, body: JSON.stringify({code, wait})});
      for (let i = 0; i < 900; i++) await send(`n = ${i}`, false);
      return (await send("for i in range(500_000): print('x' * 50)", true)).status;
    })()"""
    assert page.run(fill) == 200
    page.wait("[...document.querySelectorAll('.cell')].at(-1)?.classList.contains('ok')")


def test_of_a_thousand_cells_a_window_is_in_the_page(page: Console) -> None:
    make_session(page, "many")
    fill_page(page)
    assert page.run("document.querySelectorAll('.cell').length") <= 120
    end_session(page, "many")


@pytest.mark.measure
def test_a_thousand_cells_and_much_output_do_not_hold_the_page(page: Console) -> None:
    make_session(page, "many")
    page.run("window.longest = 0; window.before = performance.now()")
    page.run("""window.watch = setInterval(() => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - window.before);
      window.before = now;
    }, 10)""")
    fill_page(page)
    longest = page.run("window.longest")
    print(f"the page is held for {longest:.0f} ms at most")
    assert longest < 2000
    page.run("clearInterval(window.watch)")
    end_session(page, "many")


def test_the_keyboard_is_enough_and_everything_has_a_name(page: Console) -> None:
    make_session(page, "keys")
    page.cell("1 + 1")
    page.panel("Files")
    names = page.run(
        "[...document.querySelectorAll('button, input, select, textarea, iframe, [role=log]')]"
        ".map((e) => (e.getAttribute('aria-label') ?? e.title ?? '')"
        " || (e.labels?.[0]?.textContent ?? e.textContent).trim())"
    )
    assert all(names), names
    page.run("document.activeElement.blur()")
    reached = set()
    for _ in range(120):
        page.do("press", key="Tab", ctrl=False)
        reached.add(
            page.run(
                "(document.activeElement.shadowRoot && 'the editor')"
                " || document.activeElement.ariaLabel || document.activeElement.textContent"
            )
        )
        if "the editor" in reached:  # where Tab indents, until Escape was pressed
            page.do("press", key="Escape", ctrl=False)
    wanted = {"Files", "Sessions", "Upload files", "Cells", "Run", "Sign out", "the editor"}
    assert wanted <= reached, reached
    page.panel("Sessions")
    end_session(page, "keys")


def test_the_page_comes_back_after_a_restart_of_the_server(page: Console, server: str) -> None:
    page.cell("print('before the ' + 'restart')")
    page.wait_text("#cells", "before the restart")
    docker("restart", server)
    page.wait_text("#cells", "The server was started anew")
    page.cell("print('after the ' + 'restart')")
    page.wait_text("#cells", "after the restart")
    page.wait("document.querySelector('.offline') === null")
    assert "does not answer" not in page.run("document.querySelector('#status').innerText")


@pytest.mark.gate
def test_a_forgotten_token_is_asked_for_again(page: Console) -> None:
    page.press("Sign out")
    page.wait("Boolean(document.querySelector('#sign-in'))")
    assert page.run("document.querySelector('main.work') === null")
    assert page.run("sessionStorage.length + localStorage.length + document.cookie.length") == 0
    page.wait("document.activeElement.id === 'token'")
    page.do("type", text="wrong")
    page.do("press", key="Enter", ctrl=False)
    page.wait_text("#sign-in", "does not know this token")
    assert page.do("errors") == []
    assert page.run("document.querySelector('main.work') === null")
