# SPDX-License-Identifier: Apache-2.0
"""MCP Apps in a real Chromium: our pages in the protocol's own host (ext-apps 2.0.4, AppBridge),
under the strictest policy that the protocol has. The Inspector lists and reads them, too."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from box import IMAGE, PNG, Box, docker, until
from page import HERE, Page
from test_inspector import ERAS, inspect, result_of

TOKEN = "the-token"
TOOL_SERVER = HERE.parent / "container" / "lib" / "tool_server.py"
SANDBOX = "127.0.0.1:9002"
PICTURES = Path(os.environ["PEER_APPS_DIR"]) / "pictures"
FRAME = "document.querySelector('iframe')"


class Host(Page):
    """The host's page, and the app in its frame."""

    def app(self, script: str) -> Any:
        """A script's value; `app` is the window of the app."""
        return self.run(f"((app) => {script})({FRAME}?.contentWindow)", SANDBOX)

    def wait_app(self, script: str) -> Any:
        return self.wait(f"((app) => {script})({FRAME}?.contentWindow)", SANDBOX)

    def wait_shown(self, text: str) -> None:
        self.wait_app(f"app?.document.body.innerText.includes({json.dumps(text)})")

    def host(self, script: str) -> Any:
        return self.run(f"(async () => JSON.parse(JSON.stringify((await {script}) ?? null)))()")

    def execute(self, code: str, context: str = "{}") -> Any:
        return self.host(f"window.host.run({json.dumps(code)}, {context})")

    def begin(self, code: str) -> None:
        self.host(f"window.host.begin(window.host.run({json.dumps(code)}, {{}}))")

    def photograph(self, name: str) -> None:
        """For a human, in light and dark, wide and narrow."""
        PICTURES.mkdir(exist_ok=True)
        for scheme in "light", "dark":
            for width in 900, 390:
                self.do("picture", width=width, height=1000, scheme=scheme)
                self.wait_app("app.document.documentElement.scrollHeight <= app.innerHeight + 1")
                data = self.do("picture", width=width, height=1000, scheme=scheme)
                (PICTURES / f"{name}-{scheme}-{width}.png").write_bytes(base64.b64decode(data))


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


@pytest.fixture(scope="module", params=["legacy", "2026-07-28"])
def connected(server: str, request: pytest.FixtureRequest) -> Iterator[Host]:
    folder = os.environ["PEER_APPS_DIR"]
    host = Host(server, "-v", f"{folder}:/apps:ro", "-v", f"{HERE}/apps/serve.py:/serve.py:ro")
    try:
        host.do("serve", script="/serve.py")
        host.do("open", url="http://localhost:9001/host.html")
        host.wait("Boolean(window.host)")
        told = host.host(f"window.host.connect({TOKEN!r}, {request.param!r})")
        assert told["extensions"]["io.modelcontextprotocol/ui"] == {
            "mimeTypes": ["text/html;profile=mcp-app"]
        }
        yield host
    finally:
        host.close()


DECIDE = """(async () => {
  const headers = {Authorization: 'Bearer %s', 'Content-Type': 'application/json'};
  const {approvals} = await (await fetch('/v1/approvals', {headers})).json();
  const body = JSON.stringify({decision: '%s'});
  const decide = ({id}) => fetch(`/v1/approvals/${id}`, {method: 'POST', headers, body});
  return Promise.all(approvals.map((one) => decide(one).then(({status}) => status)));
})()"""


def decide(host: Host, decision: str) -> list[int]:
    """All that waits, as a human in the console."""
    statuses: list[int] = host.run(DECIDE % (TOKEN, decision))
    return statuses


@pytest.fixture
def host(connected: Host) -> Iterator[Host]:
    """A test that fails leaves no call to the next one."""
    yield connected

    def is_over() -> bool:
        if connected.run("window.host.busy"):
            decide(connected, "reject")
            return False
        return True

    until(is_over)


STAND_INS = f"""
from base64 import b64decode
from IPython.display import display, HTML, Image, SVG
class Frame:
    def __repr__(self): return 'a frame'
    def _repr_html_(self):
        rows = ''.join(f'<tr><th>{{i}}</th><td>{{i / 10}}</td><td>{{i * i}}</td></tr>'
                       for i in range(5))
        head = '<thead><tr><th></th><th>x</th><th>square</th></tr></thead>'
        return '<table>' + head + rows + '</table>'
bars = ''.join(f'<rect x="{{30 * i}}" y="{{90 - 8 * i}}" width="20" height="{{8 * i + 9}}"/>'
               for i in range(9))
print('drawn')
display(Image(b64decode('{base64.b64encode(PNG).decode()}')))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="280" height="100">' + bars + '</svg>'))
names, total, ratio = ['a', 'b'], 42, 0.5
table = Frame()
table
""".strip()


def test_a_plot_a_table_and_variables_are_shown(host: Host) -> None:
    result = host.execute(STAND_INS)
    assert result["content"][0]["text"].startswith("drawn")
    host.wait_shown("Variables (5)")
    assert host.app("app.document.querySelector('#status').textContent") == "Done"
    sizes = "[...app.document.querySelectorAll('#output img')].map((i) => i.naturalWidth)"
    host.wait_app(f"{sizes}.join() === '1,280'")
    rows = "[...app.document.querySelectorAll('#output tr')].map((r) => r.innerText.trim())"
    assert host.app(rows)[:3] == ["x\tsquare", "0\t0.0\t0", "1\t0.1\t1"]
    named = "[...app.document.querySelectorAll('#variables tr')].map((r) => r.innerText)"
    assert "names\tlist\t2 items" in host.app(named)
    assert "total\tint\t42" in host.app(named)
    assert "table\tFrame\t" in host.app(named)
    assert host.app("app.document.querySelector('#code pre').textContent") == STAND_INS
    host.photograph("cell")


def test_the_page_tells_its_height(host: Host) -> None:
    host.execute("print('\\n'.join('line' for _ in range(12)))")
    host.wait_shown("line")
    height = f"{FRAME}.clientHeight - window.host.seen.sizes.at(-1)"
    host.wait(f"Math.abs({height}) < 2")
    host.wait_app("app.document.documentElement.scrollHeight <= app.innerHeight + 1")


def test_a_failed_cell_says_what_and_where(host: Host) -> None:
    host.execute("left = 1\nprint('before')\n1 / 0")
    host.wait_shown("ZeroDivisionError: division by zero")
    assert host.app("app.document.querySelector('#status').textContent") == "Error"
    host.wait_shown("before")
    assert "\x1b" not in host.app("app.document.querySelector('#output').textContent")
    host.photograph("error")


SVG_SCRIPT = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="top.hacked = 5" width="9" height="9"/>'
)
HOSTILE = (
    "<script>top.hacked = 1; window.hacked = 1</script>"
    '<img src=x onerror="top.hacked = 2"><svg onload="top.hacked = 3"></svg>'
)
ATTACKS = f"""
from IPython.display import display, HTML, Javascript, SVG
hostile = {HOSTILE!r}
print(hostile)
display(HTML(hostile), Javascript('top.hacked = 4'))
display(HTML(hostile.split('</script>')[1] + '<a href="http://127.0.0.1:9001/">out</a>'))
display({{'image/svg+xml': {SVG_SCRIPT!r}, 'text/plain': hostile}}, raw=True)
display({{'image/png': 'x" onerror="top.hacked = 6', 'text/plain': hostile}}, raw=True)
display(HTML('<table><tr><td onclick="top.hacked = 7"><b>cell</b>' + hostile + '</table>'))
display(HTML('<meta http-equiv="refresh" content="0; url=http://127.0.0.1:9001/leak">gone'))
c = type('<img src=x onerror=top.hacked=8>', (), {{}})()
raise ValueError(hostile)
""".strip()


def test_what_a_hostile_cell_displays_is_text_or_in_a_frame_without_rights(host: Host) -> None:
    host.execute(ATTACKS)
    host.wait_shown("ValueError: <script>")
    host.wait_shown("<img src=x onerror=top.hacked=8>")
    for window in "app", "app.parent":
        assert host.app(f"typeof {window}.hacked") == "undefined"
    assert host.run("typeof window.hacked") == "undefined"
    host.wait_shown("cell")
    assert "top.hacked" not in host.app("app.document.querySelector('#output td').textContent")
    made = "app.document.querySelectorAll('#output script, #output svg, #output b').length"
    assert host.app(made) == 0
    frames = "[...app.document.querySelectorAll('#output iframe')]"
    assert host.app(f"{frames}.map((f) => f.getAttribute('sandbox'))") == ["", ""]
    assert host.app(f"{frames}.every((f) => f.contentDocument === null)")
    host.wait_shown("needs script, which is not run here")
    host.wait_shown("It is script, which is not run here.")
    requests = host.run("fetch('/requests').then((r) => r.json())")
    known = {"/host.html", "/host.js", "/mcp", "/sandbox.html", "/requests", "/favicon.ico"}
    assert set(requests) <= known
    host.photograph("hostile")


def test_no_script_but_the_pages_own_runs_in_it(host: Host) -> None:
    host.execute("1")
    host.wait_shown("Done")
    add = (
        "(() => { const s = app.document.createElement('script');"
        " s.textContent = 'window.added = 1'; app.document.body.append(s);"
        " return typeof app.added; })()"
    )
    assert host.app(add) == "undefined"
    fetched = "app.fetch('http://localhost:9001/').then(() => 'sent', () => 'kept')"
    assert host.app(fetched) == "kept"


def test_a_large_output_is_named_and_the_rest_is_shown(host: Host) -> None:
    host.execute(
        "from IPython.display import display\n"
        "display({'text/plain': 'x' * 800_000}, raw=True)\nprint('small')"
    )
    host.wait_shown("is too large for this page")
    host.wait_shown("small")


def test_a_host_sets_the_theme(host: Host) -> None:
    style = "{styles: {variables: {'--color-background-primary': 'rgb(1, 2, 3)'}}, theme: 'dark'}"
    host.execute("print('themed')", style)
    host.wait_shown("themed")
    color = "app.getComputedStyle(app.document.body).backgroundColor"
    assert host.app(color) == "rgb(1, 2, 3)"
    assert host.app("app.document.documentElement.style.colorScheme") == "dark"
    host.host("window.host.bridge().setHostContext({theme: 'light'})")
    host.wait_app("app.document.documentElement.style.colorScheme === 'light'")


def test_the_page_of_a_running_cell_shows_what_waits_and_cannot_answer_it(host: Host) -> None:
    host.begin("!echo done-$((40 + 2))")
    host.wait_shown("ipybox.shell waits for approval")
    host.wait_shown("echo done-$((40 + 2))")
    host.wait_shown("ipybox approve")
    assert host.app("app.document.querySelectorAll('button, input, a, form').length") == 0
    host.photograph("waiting")
    assert decide(host, "reject") == [204]
    host.wait_shown("rejected")
    host.wait_app("app.document.querySelector('#approvals').hidden")


def test_the_page_of_approvals_follows_what_waits(host: Host) -> None:
    host.host("window.host.show('ui://ipybox/approvals')")
    host.wait_shown("Nothing waits for a human.")
    host.host("window.host.begin(window.host.call('!echo once-more'))")
    host.wait_shown("Waiting for a human: 1")
    host.wait_shown("echo once-more")
    host.photograph("approvals")
    assert decide(host, "accept") == [204]
    host.wait_shown("Nothing waits for a human.")
    assert "once-more" in json.dumps(host.host("window.host.last"))


def test_a_host_that_reads_nothing_for_pages_is_told_so(host: Host) -> None:
    host.host("window.host.show('ui://ipybox/approvals', undefined, {}, {})")
    host.wait_shown("does not let a page read")
    assert host.do("errors") == []


@pytest.mark.parametrize("era", ERAS)
def test_the_inspector_lists_and_reads_the_pages(box: Box, tmp_path: Path, era: str) -> None:
    options = ["--protocol-era", era, "--method"]

    def ask(*more: str) -> dict[str, Any]:
        return result_of(inspect(tmp_path, box.command(), "--advertise-apps", *options, *more))

    pages = [r for r in ask("resources/list")["resources"] if r["uri"].startswith("ui://")]
    assert [r["uri"] for r in pages] == ["ui://ipybox/cell", "ui://ipybox/approvals"]
    for page in pages:
        (content,) = ask("resources/read", "--uri", page["uri"])["contents"]
        assert content["mimeType"] == "text/html;profile=mcp-app"
        assert content["text"].startswith("<!doctype html>")
        assert content["_meta"]["ui"]["csp"]["connectDomains"] == []
    (tool,) = (t for t in ask("tools/list")["tools"] if "_meta" in t)
    assert tool["name"] == "execute_ipython_cell"
    assert tool["_meta"]["ui"] == {"resourceUri": "ui://ipybox/cell"}
    probe = ask("tools/call", "--tool-name", tool["name"], "--app-info")["appInfo"]
    assert (probe["hasApp"], probe["resourceMimeType"]) == (True, "text/html;profile=mcp-app")


@pytest.mark.parametrize("era", ERAS)
def test_who_does_not_say_that_it_shows_pages_hears_of_none(
    box: Box, tmp_path: Path, era: str
) -> None:
    options = ["--protocol-era", era, "--method"]
    tools = result_of(inspect(tmp_path, box.command(), *options, "tools/list"))
    resources = result_of(inspect(tmp_path, box.command(), *options, "resources/list"))
    assert "ui://" not in json.dumps([tools, resources])
    call = ["tools/call", "--tool-name", "execute_ipython_cell", "--tool-args-json"]
    result = result_of(inspect(tmp_path, box.command(), *options, *call, '{"code": "1"}'))
    assert "ipybox/cell" not in result.get("_meta", {})
