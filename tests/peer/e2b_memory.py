# SPDX-License-Identifier: Apache-2.0
"""100 sandboxes of E2B's SDK at once, and the memory of each, for bench/wires.sh.

Takes root, for the PSS of the container's processes.
"""

from __future__ import annotations

import time
from pathlib import Path

from box import IMAGE, address_of, docker, running, wait_until_ready
from e2b_box import KEY, environment
from e2b_code_interpreter import Sandbox

SANDBOXES = 100
SETTLE_SECONDS = 2  # kernels that are forked ahead are there again


def pss_mib(container: str) -> float:
    """Of all processes of the container, MiB; what they share counts once."""
    kib = 0
    for pid in docker("top", container, "-eo", "pid").split()[1:]:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                kib += int(line.split()[1])
    return kib / 1024


def measure(container: str) -> None:
    first = Sandbox.create(timeout=600)
    first.run_code("1")
    time.sleep(SETTLE_SECONDS)
    before = pss_mib(container)
    since = time.perf_counter()
    boxes = [Sandbox.create(timeout=600) for _ in range(SANDBOXES - 1)]
    for number, box in enumerate(boxes):
        box.run_code(f"x = {number}")
    taken = time.perf_counter() - since
    answers = [box.run_code("x").text for box in boxes]
    assert answers == [str(number) for number in range(len(boxes))]
    time.sleep(SETTLE_SECONDS)
    each = (pss_mib(container) - before) / len(boxes)
    print(f"{SANDBOXES} sandboxes: {each:.1f} MiB each (PSS), {len(boxes)} made in {taken:.1f} s")


def main() -> None:
    words = ["-p", "127.0.0.1::8080", "-e", f"IPYBOX_TOKEN={KEY}", IMAGE, "serve", "--e2b"]
    with running(*words, "--max-sessions", str(SANDBOXES + 1)) as container:
        url = f"http://{address_of(container, 8080)}"
        wait_until_ready(f"{url}/readyz", container)
        with environment(url):
            measure(container)


main()
