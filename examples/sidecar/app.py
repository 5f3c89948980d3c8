# SPDX-License-Identifier: Apache-2.0
"""The application beside the box: each user's code runs in a session of its own."""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any

URL = os.environ["IPYBOX_URL"]
TOKEN = os.environ["IPYBOX_EXECUTE_TOKEN"]


def post(path: str, body: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


for user in ("ada", "bob"):
    post("/v1/sessions", {"id": user})
    post(f"/v1/sessions/{user}/executions", {"code": f"name = {user!r}"})
for user in ("ada", "bob"):
    answer = post(f"/v1/sessions/{user}/executions", {"code": "print(name.upper())"})
    print(user, answer["status"], answer["text"])
answer = post(
    "/v1/sessions/ada/executions",
    {"code": "import urllib.request; urllib.request.urlopen('http://ipybox:8080', timeout=5)"},
)
print("the network:", answer["status"], answer["error"]["ename"])
