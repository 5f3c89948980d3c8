#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""claims.py POOL COUNT - takes so many sandboxes of a pool, one after another; each runs a command.

Prints two medians in milliseconds: from the request for a claim until it is Ready, and until the
command's answer. Runs where the cluster's addresses are (DIR/k). The claims stay.
"""

from __future__ import annotations

import http.client
import json
import ssl
import statistics
import subprocess
import sys
import time
from typing import Any

GUARD = 180  # seconds, for whatever is waited for; it only ends what would hang
NAMESPACE = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/agents"
JSON = {"Content-Type": "application/json"}
COMMAND = {"command": "echo $((6 * 7))"}


class Cluster:
    def __init__(self) -> None:
        view = ["kubectl", "config", "view", "--raw", "--minify", "-o", "json"]
        config = json.loads(subprocess.check_output(view))
        self.host = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
        self.head = JSON | {"Authorization": "Bearer " + config["users"][0]["user"]["token"]}

    def request(self, method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
        context = ssl._create_unverified_context()  # its own certificate
        connection = http.client.HTTPSConnection(self.host, timeout=GUARD, context=context)
        connection.request(method, NAMESPACE + path, json.dumps(body), self.head)
        answer = connection.getresponse()
        assert answer.status < 300, (answer.status, answer.read())
        return answer


def command(address: str) -> None:
    connection = http.client.HTTPConnection(address, 8888, timeout=GUARD)
    connection.request("POST", "/execute", json.dumps(COMMAND), JSON)
    answer = json.loads(connection.getresponse().read())
    assert answer["stdout"] == "42\n", answer


def addresses(claim: dict[str, Any]) -> list[str]:
    """Those of its sandbox, once it is Ready."""
    status = claim.get("status", {})
    conditions = {each["type"]: each["status"] for each in status.get("conditions", [])}
    return status["sandbox"].get("podIPs", []) if conditions.get("Ready") == "True" else []


def claim(cluster: Cluster, pool: str, name: str) -> tuple[float, float]:
    """Seconds until it is Ready, and until a command's answer."""
    events = cluster.request("GET", f"/sandboxclaims?watch=1&fieldSelector=metadata.name%3D{name}")
    begin = time.monotonic()
    made = {
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1",
        "kind": "SandboxClaim",
        "metadata": {"name": name},
        "spec": {"warmPoolRef": {"name": pool}},
    }
    cluster.request("POST", "/sandboxclaims", made).read()
    found: list[str] = []
    while not found:
        found = addresses(json.loads(events.readline())["object"])
    ready = time.monotonic()
    command(found[0])
    return ready - begin, time.monotonic() - begin


def main(pool: str, count: int) -> None:
    cluster = Cluster()
    times = [claim(cluster, pool, f"timed-{n}") for n in range(count)]
    for each in zip(*times, strict=True):
        print(round(1000 * statistics.median(each)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
