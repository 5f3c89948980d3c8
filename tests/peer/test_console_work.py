# SPDX-License-Identifier: Apache-2.0
"""The console as a workbench: what the kernel knows beside the code, variables, a terminal."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from box import IMAGE, docker, running, until
from page import EDITOR, Console

URL = "http://localhost:8080/"
TOKEN = "the-token"
EXECUTE = "the-other-token"
TERMINAL = "console/terminal.html"
ROOT = "document.querySelector('.editor').shadowRoot"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    tokens = ("-e", f"IPYBOX_TOKEN={TOKEN}", "-e", f"IPYBOX_EXECUTE_TOKEN={EXECUTE}")
    with running(*tokens, IMAGE, "serve", "--sandbox") as server:
        yield server


@pytest.fixture(scope="module")
def page(server: str) -> Iterator[Console]:
    with closing(Console(server)) as page:
        page.sign_in(URL, TOKEN)
        yield page


def api(page: Console, path: str, body: Any = None, token: str = TOKEN) -> Any:
    """[status, document] of a request of the page."""
    how: dict[str, Any] = {"method": "GET" if body is None else "POST"}
    how["headers"] = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    if body is not None:
        how["body"] = json.dumps(body)
    return page.run(
        f"fetch({path!r}, {json.dumps(how)})"
        ".then(async (r) => [r.status, r.status === 204 ? null : await r.json()])"
    )


SESSION = "v1/sessions/default"
VARIABLES = f"fetch('{SESSION}/variables', {{headers: {{Authorization: 'Bearer {TOKEN}'}}}})"


def settled(page: Console, code: str) -> None:
    """A cell that was run to its end."""
    status, made = api(page, f"{SESSION}/executions", {"code": code, "wait": True})
    assert (status, made["status"]) == (200, "ok"), made


# ---- what the kernel knows ----


def write(page: Console, text: str) -> None:
    page.wait(f"Boolean({EDITOR})")
    page.run(f"{EDITOR}.focus()")
    page.do("type", text=text)


def clear(page: Console) -> None:
    page.run(f"{EDITOR}.focus()")
    page.run("document.execCommand('selectAll')")
    page.run("document.execCommand('delete')")
    page.wait(f"Boolean({EDITOR}.querySelector('.cm-placeholder'))")


def test_the_kernel_proposes_names_while_one_types(page: Console) -> None:
    settled(page, "class Robot:\n    def dance_slowly(self): 'Turns around.'\nmy_robot = Robot()")
    write(page, "'ü𝄞'; my_robot.dan")
    page.wait(f"{ROOT}.querySelector('.cm-tooltip-autocomplete')?.innerText.includes('dance_slow')")
    # Keys that come with the list are what was typed before it: CodeMirror waits for 75 ms.
    page.run("new Promise((done) => setTimeout(done, 100))")
    page.do("press", key="Enter", ctrl=False)
    page.wait(f"{EDITOR}.textContent === \"'ü𝄞'; my_robot.dance_slowly\"")
    clear(page)


def test_the_kernel_tells_what_a_name_is(page: Console) -> None:
    write(page, "my_robot.dance_slowly")
    page.do("press", key="i", ctrl=True)
    page.wait(f"{ROOT}.querySelector('.inspection')?.innerText.includes('Turns around.')")
    page.do("press", key="Escape", ctrl=False)
    page.wait(f"{ROOT}.querySelector('.inspection') === null")
    box = page.run(f"{EDITOR}.querySelector('.cm-line').getBoundingClientRect().toJSON()")
    page.do("move", x=box["x"] + 20, y=box["y"] + 10)
    page.wait(f"{ROOT}.querySelector('.inspection')?.innerText.includes('Robot')")
    page.do("move", x=5, y=5)
    clear(page)


def test_names_in_modules_are_known_in_the_sandbox_and_no_file_is_made_for_that(
    page: Console,
) -> None:
    settled(page, "import json, os, pathlib")
    for code, name in (("os.pathc", "pathconf"), ("json.dum", "dumps"), ("pathlib.Pa", "Path")):
        status, found = api(page, f"{SESSION}/complete", {"code": code})
        assert status == 200
        assert name in [match["text"] for match in found["matches"]], found
    settled(page, "assert not pathlib.Path('~/.cache/jedi').expanduser().exists()")


def test_while_a_cell_runs_the_words_of_the_code_are_proposed(page: Console) -> None:
    page.cell("import time\nwhile True: time.sleep(0.1)")
    page.wait("Boolean(document.querySelector('.cell.running'))")
    status, problem = api(page, f"{SESSION}/complete", {"code": "my_"})
    assert status == 409
    assert "a cell runs" in problem["detail"]
    write(page, "long_name_here = 1; long_n")
    page.wait(f"{ROOT}.querySelector('.cm-tooltip-autocomplete')?.innerText.includes('long_name')")
    clear(page)
    page.press("Interrupt")
    page.wait("!document.querySelector('.cell.running')")


def test_a_question_that_the_kernel_cannot_end_is_interrupted(page: Console) -> None:
    settled(
        page,
        "class Slow:\n    def __repr__(self):\n        while True: pass\n"
        "    def __dir__(self):\n        while True: pass\nslow = Slow()",
    )
    assert api(page, f"{SESSION}/inspect", {"code": "slow"})[0] == 504
    assert api(page, f"{SESSION}/complete", {"code": "slow."})[0] in (200, 504)
    settled(page, "del slow")


# ---- variables ----

HOSTILE = """
class Meta(type):
    def __instancecheck__(cls, other): touched.append('instancecheck')
    def __getattribute__(cls, name): touched.append(name); return type.__getattribute__(cls, name)
class Trap(metaclass=Meta):
    def __getattribute__(self, name): touched.append(name); raise ValueError
    def __repr__(self): touched.append('repr'); return 'x' * 10**9
    def __len__(self): touched.append('len'); return 1
    def __sizeof__(self): touched.append('sizeof'); return 1
    def __eq__(self, other): touched.append('eq'); return True
    def __hash__(self): touched.append('hash'); return 1
touched = []
trap = Trap()
class Text(str):
    def __repr__(self): touched.append('str'); return ''
text = Text('x')
Long = type('L' * 10**6, (), {})
long = Long()
globals()['<img src=x onerror=hacked=1>'] = 1
globals()['\\u202eturned'] = 1
globals()['v' * 10**5] = 1
evil = '<img src=x onerror=hacked=2>'
globals()[7] = 7
touched.clear()
"""


def test_variables_are_listed_without_asking_them(page: Console) -> None:
    settled(page, HOSTILE)
    status, listed = api(page, f"{SESSION}/variables")
    assert status == 200
    found = {one["name"]: one for one in listed["variables"]}
    assert found["trap"] == {"name": "trap", "type": "Trap", "value": ""}
    assert found["text"]["value"] == ""
    assert len(found["long"]["type"]) <= 100
    assert all(len(name) <= 100 for name in found)
    assert "<img src=x onerror=hacked=1>" not in found  # no name in Python
    settled(page, "assert touched == [], touched")
    page.panel("Variables")
    page.wait_text("#variables", "<img src=x onerror=hacked=2>")
    assert page.run("window.hacked === undefined")
    assert page.run("document.querySelectorAll('#variables img').length") == 0


def test_variables_have_type_shape_and_size_also_while_a_cell_runs(page: Console) -> None:
    settled(page, "ints = list(range(1000)); answer = 42")
    page.cell("import time\nbegun = 'now'\nwhile True: time.sleep(0.1)")
    page.wait("Boolean(document.querySelector('.cell.running'))")

    def variables() -> dict[str, Any]:
        """When the cell has come so far."""
        status, listed = api(page, f"{SESSION}/variables")
        assert status == 200
        found = {one["name"]: one for one in listed["variables"]}
        return found if "begun" in found else {}

    found = until(variables)
    assert found["ints"]["type"] == "list"
    assert found["ints"]["value"] == "1000 items"
    assert 8000 <= found["ints"]["size"] < 10000
    assert found["answer"] == {"name": "answer", "type": "int", "value": "42", "size": 28}
    page.press("Interrupt")
    page.wait_text("#variables", "begun")
    page.wait_text("#variables", "1000 items")
    settled(page, "del begun; later = 1")
    page.wait_text("#variables", "later")  # the list follows the cells


# ---- the sandbox ----


def test_what_the_sandbox_refuses_is_shown_as_it_happens(page: Console) -> None:
    settled(page, "import contextlib")
    page.panel("Sandbox")
    page.wait_text(".meaning", "/app/workspace")
    for name in (".mcp.json", "/var/lib/ipybox/<img src=x onerror=hacked=9>"):
        settled(page, f"with contextlib.suppress(OSError): open({name!r}, 'w')")
        page.wait_text("#refused", name)
    newest = page.run("document.querySelector('#refused li').innerText")
    assert "onerror" in newest
    assert page.run("typeof hacked") == "undefined"


# ---- branches ----


def test_forks_stand_as_a_tree_and_their_variables_are_compared(page: Console) -> None:
    settled(page, "same = 1; changed = [1]; gone = 'x'")
    page.panel("Sessions")
    page.press("Fork")
    page.wait("Boolean(document.querySelector('#sessions .branches .here'))")
    name = page.run("document.querySelector('#sessions .branches .name').textContent")
    status, made = api(page, f"v1/sessions/{name}")
    assert (status, made["forked_from"]) == (200, "default")
    cell = {"code": "changed.append(2); del gone; new = 2.5", "wait": True}
    assert api(page, f"v1/sessions/{name}/executions", cell)[1]["status"] == "ok"
    page.panel("Variables")
    page.wait("Boolean(document.querySelector('#compare-with option[value=default]'))")
    page.run(
        "(() => { const one = document.querySelector('#compare-with'); one.value = 'default';"
        " one.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    page.wait("Boolean(document.querySelector('#differences'))")
    rows = page.run(
        "Object.fromEntries([...document.querySelectorAll('#differences tbody tr')]"
        ".map((row) => [...row.children].map((one) => one.innerText.trim()))"
        ".map(([name, ...sides]) => [name, sides]))"
    )
    assert rows["gone"][1] == "not there"
    assert rows["new"] == ["not there", "float 2.5"]
    assert "1 item" in rows["changed"][0]
    assert "2 items" in rows["changed"][1]
    assert "same" not in rows
    page.panel("Sessions")
    page.press(f"End the session {name}")
    page.press("End it")
    page.wait("document.querySelector('#sessions .branches') === null")


def test_a_kernel_that_makes_everything_up_costs_the_server_nothing(page: Console) -> None:
    settled(
        page,
        "import ipybox_kernel.kernel as k\nk.inventory = lambda *a: {'status': 'ok', 'variables':"
        " [{'name': 'n' * 10**3, 'type': 7, 'value': None, 'size': -1}] * 1000}",
    )
    status, listed = api(page, f"{SESSION}/variables")
    assert status == 200
    assert len(listed["variables"]) == 200
    assert listed["more"] is True
    assert listed["variables"][0] == {"name": "n" * 100, "type": "", "value": ""}
    settled(
        page,
        "def hang(*a):\n    while True: pass\nk.inventory = hang",
    )
    assert api(page, f"{SESSION}/variables")[0] == 504
    assert api(page, f"{SESSION}/executions", {"code": "6 * 7", "wait": True})[0] == 200
    assert api(page, f"{SESSION}/reset", {})[0] == 204
    page.wait(f"{VARIABLES}.then((r) => r.status === 200)")


# ---- the terminal ----

SHOWN = "document.querySelector('.xterm-rows')?.textContent"


def screen(page: Console, text: str) -> None:
    """The terminal shows it, whatever its lines break."""
    page.ask(SHOWN, TERMINAL, lambda shown: text in (shown or "").replace("\u00a0", " "))


def type_line(page: Console, text: str) -> None:
    page.run("document.querySelector('.terminal:not([hidden]) iframe').focus()")
    page.do("strike", text=text)
    page.do("press", key="Enter", ctrl=False)


@pytest.fixture(scope="module")
def terminal(page: Console) -> Console:
    tab = "[...document.querySelectorAll('.tab')].find((b) => b.textContent.trim() === 'Terminal')"
    page.run(f"{tab}.click()")
    page.wait("document.activeElement?.tagName === 'IFRAME'")
    screen(page, "$")
    return page


def test_a_terminal_runs_a_shell_in_the_session(terminal: Console) -> None:
    type_line(terminal, "echo he$((40+2))llo; tty; echo $TERM; pwd")
    screen(terminal, "he42llo")
    screen(terminal, "/dev/pts/")
    screen(terminal, "xterm-256color")
    screen(terminal, "/app/workspace")


def test_ctrl_c_ends_what_runs_there(terminal: Console) -> None:
    type_line(terminal, "echo beg$((1+1))n; sleep 1000; echo en$((1+1))d=$?")
    screen(terminal, "beg2n")
    terminal.do("press", key="c", ctrl=True)
    type_line(terminal, "echo stat$((1+1))s=$?")
    screen(terminal, "stat2s=130")


def test_the_shell_knows_its_size(terminal: Console) -> None:
    def columns() -> int:
        type_line(
            terminal, "clear; echo col=$(tput cols 2>/dev/null || stty size | cut -d' ' -f2)."
        )
        told = re.compile(r"col=(\d+)\.")
        shown = terminal.ask(SHOWN, TERMINAL, lambda shown: told.search(shown or ""))
        return int(told.findall(shown)[-1])

    before = columns()
    terminal.do("picture", width=700, height=900, scheme="light")
    until(lambda: columns() != before)
    assert columns() < before
    terminal.do("picture", width=1280, height=900, scheme="light")


def test_a_terminal_cannot_read_what_cells_cannot(terminal: Console, server: str) -> None:
    docker("exec", server, "sh", "-c", "echo secret-of-the-owner > /app/workspace/.env")
    code = "try: open('.env').read()\nexcept PermissionError: print('cell: refused')"
    terminal.cell(code)
    terminal.wait_text("#cells", "cell: refused")
    type_line(terminal, "clear; cat .env; echo stat$((1+1))s=$?")
    screen(terminal, "stat2s=1")
    shown = terminal.run("document.querySelector('.xterm-rows').textContent", TERMINAL)
    assert "secret-of-the-owner" not in shown
    type_line(terminal, "clear; (echo > /dev/tcp/127.0.0.1/8080) 2>&1 | head -c 90; id -u")
    code = "import os; print('cell uid', os.getuid())"
    terminal.cell(code)
    terminal.wait_text("#cells", "cell uid ")
    uid = terminal.run("document.querySelector('#cells').innerText").split("cell uid ")[-1]
    screen(terminal, uid.split("\n")[0].strip())


REACH = """(async () => {
  const tries = {
    page: () => parent.document.title,
    kept: () => String(localStorage.length),
    fetch: async () => { await fetch('/livez'); return 'sent'; },
    socket: () => new Promise((done, fail) => {
      const socket = new WebSocket('ws://localhost:8080/v1/sessions/default/terminal');
      socket.onopen = () => done('open');
      socket.onerror = () => fail(new Error('kept'));
    }),
    away: () => { top.location = 'about:blank'; return 'gone'; },
  };
  const found = {};
  for (const [name, act] of Object.entries(tries)) {
    try { found[name] = await act(); } catch (e) { found[name] = 'refused'; }
  }
  return found;
})()"""


def test_its_frame_reaches_nothing_and_hostile_bytes_do_nothing(terminal: Console) -> None:
    found = terminal.run(REACH, TERMINAL)
    assert set(found.values()) == {"refused"}, found
    hostile = (
        r"printf '\033]0;<img src=x onerror=hacked=1>\007\033]52;c;aGFja2Vk\007"
        r"\033]8;;javascript:hacked=1\007link\033]8;;\007<script>hacked=1</script>\n'"
    )
    type_line(terminal, f"clear; {hostile}; echo aft$((1+1))r")
    screen(terminal, "aft2r")
    screen(terminal, "<script>hacked=1</script>")
    assert terminal.run("window.hacked === undefined && document.title === 'ipybox'")
    assert terminal.run("window.hacked === undefined", TERMINAL)


def test_a_flood_does_not_hold_the_page(terminal: Console) -> None:
    type_line(terminal, "clear; yes | head -c 30000000; echo fl$((1+1))d")
    screen(terminal, "fl2d")
    assert terminal.run("1 + 1") == 2


PASTE = """(() => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', 'x'.repeat(99).concat('\\n').repeat(1000));
  const paste = new ClipboardEvent('paste', {clipboardData, bubbles: true, cancelable: true});
  document.querySelector('.xterm-helper-textarea').dispatchEvent(paste);
})()"""


def test_what_is_pasted_arrives_whole(terminal: Console) -> None:
    type_line(terminal, "clear; echo rea$((1+1))dy; head -c 100000 | md5sum")
    screen(terminal, "rea2dy")
    terminal.run(PASTE, TERMINAL)
    screen(terminal, hashlib.md5((b"x" * 99 + b"\n") * 1000).hexdigest())


OPEN = """new Promise((done) => {
  const token = btoa(%s).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const place = 'ws://localhost:8080/v1/sessions/default/terminal';
  const socket = new WebSocket(place, ['ipybox', `ipybox.bearer.${token}`]);
  socket.onerror = () => done('refused');
  socket.onclose = ({code}) => done(code);
  socket.onopen = () => { %s };
})"""


def test_a_terminal_is_the_administrators(page: Console) -> None:
    assert page.run(OPEN % (json.dumps(EXECUTE), "done('open')")) == "refused"
    assert page.run(OPEN % (json.dumps("wrong"), "done('open')")) == "refused"
    assert page.run(OPEN % (json.dumps(TOKEN), "socket.close(); done('open')")) == "open"
    assert page.run(OPEN % (json.dumps(TOKEN), "socket.send('{\"rows\": 0}')")) == 1008
    assert page.run(OPEN % (json.dumps(TOKEN), "socket.send('x')")) == 1008


def processes(server: str, name: str) -> int:
    listed = docker("top", server, "-eo", "pid,args")
    return sum(name in line for line in listed.splitlines())


def test_a_shell_ends_with_exit_and_with_its_page(terminal: Console, server: str) -> None:
    type_line(terminal, "exit 7")
    terminal.wait_text(".terminal [role=status]", "status 7")
    terminal.press("Start another shell")
    screen(terminal, "$")
    type_line(terminal, "sleep 54321")
    until(lambda: processes(server, "sleep 54321") > 0)
    terminal.press("Close the terminal")
    terminal.press("Close it")
    terminal.wait("document.querySelector('.terminal') === null")
    until(lambda: processes(server, "sleep 54321") == 0)
