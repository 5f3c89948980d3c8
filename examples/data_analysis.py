# SPDX-License-Identifier: Apache-2.0
"""A table is uploaded, pandas groups it, matplotlib draws it, the picture comes back.

    ./docker-build.sh --target science -t ipybox:science
    python examples/data_analysis.py

The image `science` has numpy, pandas, matplotlib and others. Python alone is needed beside Docker.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

IMAGE = os.environ.get("IPYBOX_SCIENCE_IMAGE", "ipybox:science")
TOKEN = secrets.token_hex(16)
CSV = """month,shop,sales
2026-01,Rome,120
2026-01,Oslo,80
2026-02,Rome,150
2026-02,Oslo,95
2026-03,Rome,90
2026-03,Oslo,140
"""
LOAD = "import pandas as pd; table = pd.read_csv('sales.csv'); print(table.describe())"
GROUP = "sums = table.pivot(index='month', columns='shop', values='sales'); sums"
PLOT = """
import matplotlib.pyplot as plt
sums.plot.bar(rot=0, title="Sales")
plt.show()
"""


def docker(*words: str) -> str:
    run = subprocess.run(["docker", *words], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.strip()


def send(url: str, data: bytes, method: str, kind: str) -> bytes:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as reply:
        body: bytes = reply.read()
        return body


def cell(url: str, code: str) -> dict[str, Any]:
    """Runs it; the session keeps its variables for the next one."""
    body = json.dumps({"code": code}).encode()
    place = f"{url}/v1/sessions/default/executions"
    answer: dict[str, Any] = json.loads(send(place, body, "POST", "application/json"))
    print(f">>> {code.strip()}\n{answer['text']}\n")
    return answer


def main() -> None:
    box = docker(
        "run", "-d", "-p", "127.0.0.1::8080", "-e", f"IPYBOX_TOKEN={TOKEN}", IMAGE, "serve"
    )
    try:
        url = f"http://{docker('port', box, '8080').splitlines()[0]}"
        docker("exec", box, "sh", "-c", "until ipybox health >/dev/null 2>&1; do sleep 0.1; done")
        send(f"{url}/v1/files/sales.csv", CSV.encode(), "PUT", "application/octet-stream")
        cell(url, LOAD)
        cell(url, GROUP)
        outputs = cell(url, PLOT)["outputs"]
        [picture] = [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]
        Path("sales.png").write_bytes(base64.b64decode(picture))
        print("The picture is sales.png.")
    finally:
        docker("rm", "-f", box)


if __name__ == "__main__":
    main()
