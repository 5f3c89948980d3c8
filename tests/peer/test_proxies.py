# SPDX-License-Identifier: Apache-2.0
"""The examples of deploy/proxy with the real nginx and Caddy: the console through them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from box import IMAGE, docker
from page import EDITOR, FRAME, HERE, Console

TOKEN = "the-token"
EXAMPLES = HERE.parent.parent / "deploy" / "proxy"
FLAGS = "--ignore-certificate-errors '--host-resolver-rules=MAP box.example 127.0.0.1'"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@contextmanager
def serving(proxy: str, *options: str) -> Iterator[Console]:
    """A server, a proxy before it, and a browser, in one network."""
    network = docker("run", "-d", "--rm", "--entrypoint", "sleep", IMAGE, "infinity").strip()
    beside = ("--network", f"container:{network}")
    started = [network]
    try:
        tokens = ("-e", f"IPYBOX_TOKEN={TOKEN}", "-e", f"KG_AUTH_TOKEN={TOKEN}")
        started.append(docker("run", "-d", *beside, *tokens, IMAGE, "serve-all", *options).strip())
        run = ("run", "-d", *beside, "-v", f"{EXAMPLES}:/proxy:ro", os.environ["PEER_PROXIES"])
        started.append(docker(*run, proxy).strip())
        page = Console(network, "-e", f"BROWSER_FLAGS={FLAGS}")
        try:
            yield page
        finally:
            page.close()
    finally:
        docker("rm", "-f", "-v", *reversed(started))


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def page(request: pytest.FixtureRequest) -> Iterator[Console]:
    with serving(request.param) as page:
        yield page


@pytest.mark.parametrize("path", ["/", "/ipybox/"])
def test_the_console_works_at_the_root_and_below_a_path(page: Console, path: str) -> None:
    page.do("open", url="about:blank")
    page.do("open", url=f"https://box.example{path}")
    page.wait("document.readyState === 'complete'")
    page.run("sessionStorage.clear()")
    page.sign_in(f"https://box.example{path}", TOKEN)
    protocol = "performance.getEntriesByType('navigation')[0].nextHopProtocol"
    assert page.run(protocol) == "h2"
    page.cell("print('through ' + 'the proxy')")  # its output comes as an event
    page.wait_text("#cells", "through the proxy")
    page.cell("from IPython.display import HTML; HTML('<b>bold</b>')")
    page.wait("document.querySelector('b')?.textContent === 'bold'", FRAME)
    page.panel("Files")
    page.do("choose", selector="#upload", files={f"up{len(path)}.bin": 3_000_000})
    page.wait_text("#files", "3.0 MB")


@pytest.mark.parametrize("path", ["/", "/ipybox/"])
def test_mcp_and_the_gateway_go_through(page: Console, path: str) -> None:
    page.do("open", url=f"https://box.example{path}")
    hello = f"""fetch('mcp', {{method: 'POST', body: JSON.stringify({json.dumps(HELLO)}),
      headers: {{'Content-Type': 'application/json', Authorization: 'Bearer {TOKEN}',
                 Accept: 'application/json, text/event-stream'}}}}).then((r) => r.text())"""
    assert '"serverInfo"' in page.run(hello)
    gateway = f"""fetch('/gateway/api/kernels', {{method: 'POST', body: '{{}}',
      headers: {{Authorization: 'token {TOKEN}'}}}}).then(async (r) => {{
        const kernel = await r.json();
        return new Promise((done, fail) => {{
          const address = `wss://box.example/gateway/api/kernels/${{kernel.id}}/channels`;
          const socket = new WebSocket(`${{address}}?token={TOKEN}`);
          socket.onopen = () => done('open');
          socket.onerror = () => fail(new Error('refused'));
        }});
      }})"""
    assert page.run(gateway) == "open"


def test_a_proxy_that_changes_host_is_told_of_the_option() -> None:
    with serving("nginx") as page:
        page.sign_in("http://box.example:81/", TOKEN)  # no white page
        page.run(f"{EDITOR}.focus()")
        page.do("type", text="1 + 1")
        page.do("press", key="Enter", ctrl=True)
        page.wait_text("#status", "--public-url")
        page.wait(f"{EDITOR}.textContent === '1 + 1'")  # what was typed is not lost


def test_the_option_allows_the_address_of_such_a_proxy() -> None:
    with serving("nginx", "--public-url", "http://box.example:81/") as page:
        page.sign_in("http://box.example:81/", TOKEN)
        page.cell("print('allo' + 'wed')")
        page.wait_text("#cells", "allowed")
