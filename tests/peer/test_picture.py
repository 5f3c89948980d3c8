# SPDX-License-Identifier: Apache-2.0
"""The picture of README.md: the console while a call waits for its approval.

PEER_PICTURE=FILE keeps it: PEER_PICTURE="$PWD/docs/console.png" tests/peer/run console
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from box import GUARD, IMAGE, PNG, running
from page import Console

EXAMPLES = Path(__file__).parents[2] / "examples"
URL = "http://localhost:8080/"
TOKEN = "the-token"
WIDTH, HEIGHT = 1180, 760
BYTES = 150_000

# An agent's requests, from inside the container: lines of path and body.
AGENT = f"""
import sys
from urllib.request import Request, urlopen
headers = {{"Authorization": "Bearer {TOKEN}", "Content-Type": "application/json"}}
headers["Ipybox-Client"] = "claude-code"
for line in sys.stdin:
    path, body = line.rstrip().split(" ", 1)
    urlopen(Request("http://localhost:8080" + path, body.encode(), headers)).read()
"""

SALES = """sales = {"Rome": [120, 150, 90], "Oslo": [80, 95, 140], "Lima": [60, 110, 130]}
total = {shop: sum(months) for shop, months in sales.items()}
print(total)
best = max(total, key=total.get); best"""

CHARTS = """from IPython.display import SVG
def bars(numbers):
    rows = "".join(
        f'<text x="0" y="{24 + 34 * i}">{name}</text>'
        f'<rect x="60" y="{8 + 34 * i}" width="{n}" height="22" fill="#3b7dd8"/>'
        f'<text x="{70 + n}" y="{24 + 34 * i}">{n}</text>'
        for i, (name, n) in enumerate(numbers.items()))
    size = 'width="520" height="110" font-family="sans-serif"'
    return SVG(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{rows}</svg>')
"""

CHART = """from charts import bars
bars(total)"""

CALL = """from mcptools.notes import add
add.run(text=f"Ask {best} how they sold {total[best]}")"""

REGISTER = {"command": "python3", "args": ["/examples/approvals/notes.py"]}


@pytest.fixture
def server() -> Iterator[str]:
    options = ("-e", f"IPYBOX_TOKEN={TOKEN}", "-v", f"{EXAMPLES}:/examples:ro")
    with running(*options, IMAGE, "serve", "--approve-tool-calls") as server:
        yield server


def begin_agent(server: str) -> subprocess.Popen[str]:
    """It has written its cells; the last one waits."""
    cells = [("/v1/sessions/default/executions", {"code": code}) for code in (SALES, CHART, CALL)]
    put = ["docker", "exec", "-i", server, "sh", "-c", "cat > /app/workspace/charts.py"]
    subprocess.run(put, input=CHARTS, text=True, check=True)
    acts = [("/v1/mcp-servers", {"name": "notes", "params": REGISTER}), *cells]
    agent = subprocess.Popen(
        ["docker", "exec", "-i", server, "python3", "-c", AGENT], stdin=subprocess.PIPE, text=True
    )
    assert agent.stdin is not None
    for path, body in acts:
        agent.stdin.write(f"{path} {json.dumps(body)}\n")
    agent.stdin.close()
    return agent


def test_the_picture_shows_an_approval(server: str, tmp_path: Path) -> None:
    with closing(Console(server)) as page:
        page.sign_in(URL, TOKEN)
        agent = begin_agent(server)
        page.wait_text("#approvals", "Ask Rome how they sold 360")
        page.wait_text("#cells", "claude-code")
        page.wait_text("#sessions", "busy")
        page.wait("Boolean(document.querySelector('#cells iframe, #cells img, #cells svg'))")
        picture = base64.b64decode(page.do("picture", width=WIDTH, height=HEIGHT, scheme="light"))
        page.press("Allow once")
        assert agent.wait(GUARD) == 0
    assert picture[:8] == PNG[:8]
    assert len(picture) <= BYTES
    Path(os.environ.get("PEER_PICTURE", tmp_path / "picture.png")).write_bytes(picture)
