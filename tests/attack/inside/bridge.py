# SPDX-License-Identifier: Apache-2.0
"""Carries HTTP requests into a container that has no network: a line of JSON each, both ways.

The honest side speaks to the server through this. It runs as `docker exec`, by absolute path,
isolated, and without a site, so that nothing planted in the container is a part of it.
"""

import http.client
import json
import sys
import threading
from typing import Any

LOCK = threading.Lock()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    try:
        connection = http.client.HTTPConnection(
            "127.0.0.1", request["port"], timeout=request["timeout"]
        )
        connection.request(
            request["method"], request["path"], request["body"].encode(), request["headers"]
        )
        reply = connection.getresponse()
        return {"status": reply.status, "text": reply.read().decode(errors="replace")}
    except (OSError, http.client.HTTPException) as error:
        return {"status": 0, "text": repr(error)}


def serve(line: str) -> None:
    request = json.loads(line)
    text = json.dumps({"id": request["id"], **answer(request)})
    with LOCK:
        print(text, flush=True)


for line in sys.stdin:
    threading.Thread(target=serve, args=(line,), daemon=True).start()
