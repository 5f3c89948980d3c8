# SPDX-License-Identifier: Apache-2.0
"""A policy that allows, asks and denies; you are the one who is asked. Python alone is needed.

    python examples/approvals/approvals.py

The code in the cell calls three tools of notes.py. policy.json allows `list`, asks about `add` and
denies `delete`. Answer y or n here, or in the console, whose address is printed.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import threading
import urllib.request
from pathlib import Path
from typing import Any

IMAGE = os.environ.get("IPYBOX_IMAGE", "ipybox")
HERE = Path(__file__).resolve().parent
TOKEN = secrets.token_hex(16)

CODE = """
from mcptools.notes import add, delete, list

print(list.run())
for call in (lambda: add.run(text="buy milk"), lambda: delete.run(text="water the plants")):
    try:
        print(call())
    except Exception as e:
        print(f"refused: {e}")
"""


def docker(*words: str) -> str:
    run = subprocess.run(["docker", *words], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip()


def request(url: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
    """An open answer of the HTTP API."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", **headers}
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(url, data, headers))


def ask_the_human(url: str, stream: Any) -> None:
    """Of each call that waits, until the server ends."""
    event = ""
    for line in stream:
        name, _, value = line.decode().strip().partition(": ")
        event = value if name == "event" else event
        if name == "data" and event == "asked":
            asked = json.loads(value)
            words = f"{asked['server']}.{asked['tool']}({json.dumps(asked['arguments'])})"
            yes = input(f"The code wants to call {words}. May it? [y/n] ").strip() == "y"
            request(f"{url}/{asked['id']}", {"decision": "accept" if yes else "reject"}).close()


def main() -> None:
    box = docker(
        *("run", "-d", "-p", "127.0.0.1::8080", "-e", f"IPYBOX_TOKEN={TOKEN}"),
        *("-v", f"{HERE}:/notes:ro", IMAGE, "serve", "--tool-policy", "/notes/policy.json"),
    )
    try:
        url = f"http://{docker('port', box, '8080').splitlines()[0]}"
        docker("exec", box, "sh", "-c", "until ipybox health >/dev/null 2>&1; do sleep 0.1; done")
        print(f"The console: {url}/ with the token {TOKEN}")
        server = {"command": "python3", "args": ["/notes/notes.py"]}
        request(f"{url}/v1/mcp-servers", {"name": "notes", "params": server}).close()
        stream = request(f"{url}/v1/approvals", Accept="text/event-stream")
        threading.Thread(
            target=ask_the_human, args=(f"{url}/v1/approvals", stream), daemon=True
        ).start()
        answer = json.load(request(f"{url}/v1/sessions/default/executions", {"code": CODE}))
        print(answer["text"])
    finally:
        docker("rm", "-f", box)


if __name__ == "__main__":
    main()
